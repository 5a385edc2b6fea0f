# What prefetch.py needs beside the layout of dictionaries, which `places` knows.
from pyrepl.rdb.compiled.raw cimport Ref

cdef extern from "Python.h":
    ctypedef struct SetObject "PySetObject":
        Py_ssize_t mask
        void* table
    Py_ssize_t hash_of "PyObject_Hash"(Ref*) except -1
