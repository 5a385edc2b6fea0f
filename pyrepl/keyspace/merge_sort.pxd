# The C types of merge_sort.py.
cimport cython

@cython.locals(size=Py_ssize_t, items=list, merged=list, start=Py_ssize_t, width=Py_ssize_t)
cpdef list in_order(list entries, bint descending)

@cython.locals(
    numbers="double[16]", places="Py_ssize_t[16]", number=double, at=Py_ssize_t, count=Py_ssize_t, place=Py_ssize_t,
)
cdef _add_run(list entries, Py_ssize_t start, Py_ssize_t end, bint descending, list out)

@cython.locals(left=Py_ssize_t, right=Py_ssize_t)
cdef _merge(list items, Py_ssize_t start, Py_ssize_t middle, Py_ssize_t end, bint descending, list out)

cdef double _number(tuple entry) except? -1.0

cdef bint _comes_later(double number, double other, bint descending) noexcept
