# The C types of scan.py.
cimport cython

@cython.locals(
    text="const unsigned char *", end=Py_ssize_t, done=Py_ssize_t, i=Py_ssize_t, count=Py_ssize_t, size=Py_ssize_t,
    digit=int, argv=list,
)
cpdef Py_ssize_t scan(
    bytes data, Py_ssize_t pos, Py_ssize_t base, Py_ssize_t max_args, list commands, list ends
) except -1
