cdef Py_ssize_t compress_into(unsigned char* data, Py_ssize_t size, unsigned char* out, Py_ssize_t room) noexcept
cdef bint decompress_into(unsigned char* data, Py_ssize_t end, unsigned char* out, Py_ssize_t size) noexcept
