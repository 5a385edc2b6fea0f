# The C types of scan.py.
cimport cython

cdef list _names

@cython.locals(
    text="const unsigned char *", end=Py_ssize_t, done=Py_ssize_t, i=Py_ssize_t, count=Py_ssize_t, size=Py_ssize_t,
    digit=int, argv=list, is_first=bint, slot=Py_ssize_t, name=bytes,
    most=Py_ssize_t, most_name=Py_ssize_t,
)
cpdef Py_ssize_t scan(
    bytes data, Py_ssize_t pos, Py_ssize_t base, Py_ssize_t max_args, list commands, list ends
) except -1

@cython.locals(
    text="const unsigned char *", end=Py_ssize_t, done=Py_ssize_t, i=Py_ssize_t, left=Py_ssize_t, first=Py_ssize_t,
    number=Py_ssize_t, most=Py_ssize_t, most_beginning=Py_ssize_t,
)
cpdef Py_ssize_t whole_bytes(bytes data) except -1

@cython.locals(other="const unsigned char *", i=Py_ssize_t)
cdef inline bint _is_at(const unsigned char *text, Py_ssize_t pos, bytes name, Py_ssize_t size)
