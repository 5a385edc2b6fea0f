cimport cython

@cython.final
cdef class Sink:
    # Bytes that grow: [0, size) of `room` are used.
    cdef unsigned char* data
    cdef Py_ssize_t size
    cdef Py_ssize_t room
    cdef int reserve(self, Py_ssize_t more) except -1
    cdef int _grow(self, Py_ssize_t more) except -1

cdef bint parse_integer(unsigned char* text, Py_ssize_t size, long long* number) noexcept
cdef int put_length(Sink sink, Py_ssize_t length) except -1
cdef void put_big_endian(unsigned char* out, unsigned long long number, int width) noexcept
cdef void put_little_endian(unsigned char* out, long long number, int width) noexcept
cdef int put_text(Sink sink, unsigned char* text, Py_ssize_t size, bint compress) except -1
cdef int put_integer_entry(Sink sink, long long number) except -1
cdef int put_entry(Sink sink, unsigned char* text, Py_ssize_t size) except -1
cdef int put_back_length(Sink sink, Py_ssize_t size) noexcept
cdef int put_score_entry(Sink sink, double score) except -1
