# Memory for tables of keys, as CPython takes and gives it back, and pages that are told to the system.

cdef extern from "Python.h":
    void* take_object "PyObject_Malloc"(size_t)
    void free_object "PyObject_Free"(void*)
    void* take_memory "PyMem_Malloc"(size_t)
    void free_memory "PyMem_Free"(void*)

cdef extern from "sys/mman.h" nogil:
    int madvise(void*, size_t, int)
    int MADV_DONTNEED
