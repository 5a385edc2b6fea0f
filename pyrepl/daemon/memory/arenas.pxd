# Where Python takes memory for small objects from, and what makes such memory.

cdef extern from "Python.h":
    ctypedef struct ArenaAllocator "PyObjectArenaAllocator":
        void* ctx
        void* (*alloc)(void*, size_t) noexcept
        void (*free)(void*, void*, size_t) noexcept
    void get_allocator "PyObject_GetArenaAllocator"(ArenaAllocator*)
    void set_allocator "PyObject_SetArenaAllocator"(ArenaAllocator*)

cdef extern from "sys/mman.h" nogil:
    void* mmap(void*, size_t, int, int, int, long)
    int munmap(void*, size_t)
    int madvise(void*, size_t, int)
    void* MAP_FAILED
    int PROT_READ
    int PROT_WRITE
    int MAP_PRIVATE
    int MAP_ANONYMOUS
    int MADV_HUGEPAGE

cdef extern from "pthread.h" nogil:
    ctypedef unsigned long pthread_t
    int pthread_create(pthread_t*, void*, void* (*)(void*) noexcept nogil, void*)
    int pthread_detach(pthread_t)

cdef extern from "signal.h" nogil:
    ctypedef struct Signals "sigset_t":
        pass
    int sigfillset(Signals*)
    int pthread_sigmask(int, Signals*, Signals*)
    int SIG_SETMASK

cdef extern from "semaphore.h" nogil:
    ctypedef struct Semaphore "sem_t":
        pass
    int sem_init(Semaphore*, int, unsigned int)
    int sem_post(Semaphore*)
    int sem_wait(Semaphore*)

# The ring has one writer and one reader of each index.
cdef extern from * nogil:
    long load "__atomic_load_n"(long*, int)
    void store "__atomic_store_n"(long*, long, int)
    int ACQUIRE "__ATOMIC_ACQUIRE"
    int RELEASE "__ATOMIC_RELEASE"
