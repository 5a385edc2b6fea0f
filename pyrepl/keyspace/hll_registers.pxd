# The C types of hll_registers.py.
cimport cython

cdef unsigned long long _MULTIPLIER
cdef unsigned long long _SEED
cdef unsigned long long _ALL
cdef unsigned long long _STOP
cdef list _BYTES
cdef tuple _UNRAISED
cdef tuple _UNSOUND

@cython.locals(
    text="const unsigned char *", size=Py_ssize_t, at=Py_ssize_t, byte=Py_ssize_t, number="unsigned long long",
    word="unsigned long long", index=int, count=int,
)
cpdef int place_of(bytes element) except -1

@cython.locals(text="const unsigned char *", size=Py_ssize_t)
cpdef bint has_sound_header(bytes value) except -1

@cython.locals(count=Py_ssize_t, at=Py_ssize_t, place=int, raised=bytes)
cpdef tuple add(bytes value, list words, Py_ssize_t start, Py_ssize_t most_bytes)

@cython.locals(
    text="const unsigned char *", out="unsigned char *", made=bytes, count=Py_ssize_t, at=Py_ssize_t, place=int,
    is_copied=bint,
)
cdef tuple _add_dense(bytes value, list words, Py_ssize_t start, Py_ssize_t changed)

@cython.locals(bit=int, at=int, low=int)
cdef int _register(const unsigned char *text, int index) noexcept

@cython.locals(bit=int, at=int)
cdef void _put_register(unsigned char *out, int index, int count) noexcept

@cython.locals(
    text="const unsigned char *", size=Py_ssize_t, at=Py_ssize_t, before=Py_ssize_t, first=Py_ssize_t, span=int,
    step=int, code=int, is_value=bint, left=int, right=int, more=Py_ssize_t, one=bytes, low=bytes,
    high=bytes, made=bytes,
)
cpdef bytes raise_sparse(bytes value, int index, int count, Py_ssize_t most_bytes)

@cython.locals(text="const unsigned char *", index=int, raised=bytes)
cpdef bytes raise_all(bytes value, bytearray maxima, Py_ssize_t most_bytes)

cdef bytes _zeros(int span)

@cython.locals(text="const unsigned char *", end=Py_ssize_t, at=Py_ssize_t, steps=int, code=int)
cdef bytes _joined(bytes value, Py_ssize_t start)

@cython.locals(end=Py_ssize_t, code=int, room=bytearray)
cdef bytes _with_runs_joined(bytes value, Py_ssize_t at, int steps)

@cython.locals(dense=bytes, room=bytearray)
cdef bytes _raise_as_dense(bytes value, int index, int count)

@cython.locals(maxima=bytearray)
cpdef bytes to_dense(bytes value)

@cython.locals(
    room=bytearray, out="unsigned char *", text="const unsigned char *", at=int, index=int, low="unsigned int",
)
cpdef bytes packed(bytes header, bytearray maxima)

@cython.locals(
    out="unsigned char *", text="const unsigned char *", size=Py_ssize_t, at=Py_ssize_t, index=int, count=int,
    code=int, span=int,
)
cpdef bint merge(bytearray maxima, bytes value) except -1

@cython.locals(out="int[::1]", text="const unsigned char *", size=Py_ssize_t, index=Py_ssize_t)
cpdef list histogram(bytearray maxima)
