# Memory for tables of keys, as CPython takes and gives it back, and pages that are told to the system.

cdef extern from *:
    """
    #if PY_VERSION_HEX >= 0x030D0000
    #define pyrepl_take_keys PyMem_Malloc
    #define pyrepl_free_keys PyMem_Free
    #else
    #define pyrepl_take_keys PyObject_Malloc
    #define pyrepl_free_keys PyObject_Free
    #endif
    """
    void* take_keys "pyrepl_take_keys"(size_t)
    void free_keys "pyrepl_free_keys"(void*)

cdef extern from "sys/mman.h" nogil:
    int madvise(void*, size_t, int)
    int MADV_DONTNEED
