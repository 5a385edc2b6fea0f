# What descriptor_io.py needs of C beside what Cython brings.
from pyrepl.rdb.compiled.raw cimport Ref

cdef extern from "Python.h":
    # Only of a bytes object that nobody else has; NULL is put where it was when memory is out.
    int resize "_PyBytes_Resize"(Ref**, Py_ssize_t) except -1
