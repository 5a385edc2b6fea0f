# What prefetch.py needs to know of CPython's dictionaries: the slots that a hash leads to, and the entries behind them.
# Nothing is compared or written; a wrong guess costs time alone. In a CPython whose dictionaries nobody looked at yet,
# `mask` says that there is nothing to ask for.
from pyrepl.rdb.compiled.raw cimport Ref

cdef extern from *:
    """
    #if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030F0000 && defined(__GNUC__) && !defined(Py_GIL_DISABLED)
    #ifndef Py_BUILD_CORE
    #define Py_BUILD_CORE 1
    #endif
    #include "internal/pycore_dict.h"

    #define pyrepl_keys(table) (((PyDictObject *)(table))->ma_keys)
    #define pyrepl_width(keys) ((keys)->dk_log2_index_bytes - (keys)->dk_log2_size)
    #define pyrepl_mask(table) (pyrepl_keys(table)->dk_kind == DICT_KEYS_GENERAL \
        ? ((size_t)1 << pyrepl_keys(table)->dk_log2_size) - 1 : (size_t)0)
    #define pyrepl_slot(table, at) ((void *)(pyrepl_keys(table)->dk_indices + ((at) << pyrepl_width(pyrepl_keys(table)))))
    #define pyrepl_entry(table, index) (DK_ENTRIES(pyrepl_keys(table)) + (index))
    #define pyrepl_entry_hash(entry) ((entry)->me_hash)
    #define pyrepl_entry_key(entry) ((entry)->me_key)
    #define pyrepl_entry_value(entry) ((entry)->me_value)

    static inline Py_ssize_t pyrepl_index(PyObject *table, size_t at)
    {
        void *slot = pyrepl_slot(table, at);
        switch (pyrepl_width(pyrepl_keys(table))) {
        case 0: return *(int8_t *)slot;
        case 1: return *(int16_t *)slot;
        case 2: return *(int32_t *)slot;
        default: return (Py_ssize_t)*(int64_t *)slot;
        }
    }

    /* The empty instruction keeps GCC from thinking that a function of prefetches alone does nothing, and dropping it. */
    #define pyrepl_ask(place) do { __builtin_prefetch(place); __asm__ volatile(""); } while (0)
    #else
    typedef struct { Py_hash_t me_hash; PyObject *me_key; PyObject *me_value; } PyDictKeyEntry;
    #define pyrepl_mask(table) ((size_t)0)
    #define pyrepl_slot(table, at) (NULL)
    #define pyrepl_index(table, at) ((Py_ssize_t)-1)
    #define pyrepl_entry(table, index) ((PyDictKeyEntry *)NULL)
    #define pyrepl_entry_hash(entry) ((Py_hash_t)0)
    #define pyrepl_entry_key(entry) ((PyObject *)NULL)
    #define pyrepl_entry_value(entry) ((PyObject *)NULL)
    #define pyrepl_ask(place) ((void)(place))
    #endif
    """
    ctypedef struct Entry "PyDictKeyEntry":
        pass
    size_t mask_of "pyrepl_mask"(Ref*)
    void* slot_at "pyrepl_slot"(Ref*, size_t)
    Py_ssize_t index_at "pyrepl_index"(Ref*, size_t)
    Entry* entry_at "pyrepl_entry"(Ref*, Py_ssize_t)
    Py_ssize_t hash_in "pyrepl_entry_hash"(Entry*)
    Ref* key_in "pyrepl_entry_key"(Entry*)
    Ref* value_in "pyrepl_entry_value"(Entry*)
    void ask "pyrepl_ask"(void*)

cdef extern from *:
    """
    #ifndef Py_GIL_DISABLED
    #define pyrepl_member_slot(set, hash) ((void *)(((PySetObject *)(set))->table + ((hash) & ((PySetObject *)(set))->mask)))
    #else
    #define pyrepl_member_slot(set, hash) (NULL)
    #endif
    """
    void* member_slot "pyrepl_member_slot"(Ref*, Py_ssize_t)

cdef extern from "Python.h":
    Py_ssize_t hash_of "PyObject_Hash"(Ref*) except -1

ctypedef struct Place:
    # How far the search for one hash has come in one table: CPython's probing sequence (Objects/dictobject.c).
    Py_ssize_t hash
    size_t slot
    size_t perturb
    Py_ssize_t index

ctypedef struct Search:
    Py_ssize_t count
    Place places[32]
