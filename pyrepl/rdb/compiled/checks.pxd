cimport cython

@cython.final
cdef class Checks:
    cdef unsigned short _slots[2048]
    # Where the elements of the listpack being looked at begin, and how many bytes each has without its back length.
    cdef unsigned int _starts[1024]
    cdef unsigned int _sizes[1024]
    cdef bint is_sound(self, int kind, unsigned char* data, Py_ssize_t size) noexcept
    cdef int _elements(self, unsigned char* data, Py_ssize_t size, bint noted) noexcept
    cdef bint _are_distinct(self, unsigned char* data, int count, int step) noexcept
    cdef bint _is_ascending(self, unsigned char* data, int count) noexcept

cdef long long signed_of(unsigned char* data, Py_ssize_t width) noexcept
cdef int put_decimal(long long number, unsigned char* out) noexcept
cdef long long number_of(unsigned char* entry, Py_ssize_t width) noexcept
cdef int text_head(unsigned char* entry) noexcept
cdef bint score_of(unsigned char* entry, Py_ssize_t width, double* score) noexcept
cdef bint is_before(unsigned char* one, Py_ssize_t width, unsigned char* two, Py_ssize_t other) noexcept
