# The C types of scan.py.
cimport cython

cdef unsigned char[::1] _plain
cdef double[::1] _tens

@cython.final
cdef class Words:
    cdef int[::1] _slots
    cdef int[::1] _starts
    cdef bytes _text
    @cython.locals(
        text="const unsigned char *", known="const unsigned char *", place=int, start=int, i=Py_ssize_t,
    )
    cdef int find(self, const unsigned char *data, Py_ssize_t pos, Py_ssize_t size, int slot) noexcept

@cython.final
cdef class Rows:
    cdef int[::1] _columns
    cdef long long[:, ::1] _numbers
    cdef double[:, ::1] _fractions
    cdef unsigned char[:, ::1] _valid
    cdef public Py_ssize_t room
    cdef public Py_ssize_t count

@cython.final
cdef class Scanner:
    cdef Words _fields
    cdef Words _events
    cdef int[::1] _kinds
    cdef int _required
    cdef int _samples
    cdef long long[::1] _cells
    cdef double[::1] _reals
    cdef long long[::1] _seen
    cdef int[::1] _touched
    cdef long long _line
    @cython.locals(
        text="const unsigned char *", end=Py_ssize_t, begin=Py_ssize_t, first=Py_ssize_t, i=Py_ssize_t, touched=int,
        required=int, event=int, hashed="unsigned int", field=int, kind=int, byte=int, whole="long long",
        digits=Py_ssize_t, decimals=Py_ssize_t, real=double,
    )
    cpdef Py_ssize_t scan(self, bytes data, Py_ssize_t pos, long long latest_us, Rows events, Rows samples) except -1
    @cython.locals(row=Py_ssize_t, i=int, field=int, column=int)
    cdef void _store(self, Rows rows, int touched) noexcept

@cython.locals(text="const unsigned char *", at=Py_ssize_t, i=Py_ssize_t, first=Py_ssize_t, size=Py_ssize_t)
cpdef Py_ssize_t gather(
    bytes data, long long[::1] places, int[::1] ends, Py_ssize_t count, unsigned char[::1] out
) except -1
