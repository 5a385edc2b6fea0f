"""Memory for small objects in huge pages, touched before it is needed. Compiled only; the plain form changes nothing.

Python takes memory for small objects, which is nearly all of the data, in arenas of 1 MB of ordinary pages. Three
things cost time there: a fork copies a table entry per page, 12 ms for 400 MB, in which nobody is served; a page that
is touched first is made then, one at a time; and a lookup among millions of keys misses the processor's table of pages.
Here arenas are halves of blocks of 2 MB, which the system backs with one page each where it can (`madvise`), and a
thread of C, which never holds the interpreter's lock, keeps blocks ready that are made already.

Blocks go to the main thread through a ring of one writer and one reader, so there is no lock that a fork could leave
held; a child, which has no such thread, makes its own blocks when the ring is empty. A half that is freed waits for
the next arena or for its other half, with which it goes back to the system.

While a snapshot is loaded, blocks are made of ordinary pages (`take_ordinary_pages`). In a virtual machine that gives
large free stretches back to its host, a huge page is nearly always one that the host must find anew: 3.4 s for a GB
here, against 0.9 s for ordinary pages, of which there are some in use a moment ago. A load takes GBs, and waits for it.
The system is told afterwards that it may join the pages of such blocks, which it does in its own time.
"""

from __future__ import annotations

try:
    import cython
except ImportError:
    from pyrepl import plain as cython

if cython.compiled:
    from cython.cimports.libc.stdint import uintptr_t
    from cython.cimports.pyrepl.daemon.memory.arenas import (
        ACQUIRE,
        MADV_HUGEPAGE,
        MAP_ANONYMOUS,
        MAP_FAILED,
        MAP_PRIVATE,
        PROT_READ,
        PROT_WRITE,
        RELEASE,
        SIG_SETMASK,
        ArenaAllocator,
        Semaphore,
        Signals,
        get_allocator,
        load,
        madvise,
        mmap,
        munmap,
        pthread_create,
        pthread_detach,
        pthread_sigmask,
        pthread_t,
        sem_init,
        sem_post,
        sem_wait,
        set_allocator,
        sigfillset,
        store,
    )

    BLOCK = cython.declare(cython.size_t, 2097152)
    HALF = cython.declare(cython.size_t, 1048576)
    PAGE = cython.declare(cython.size_t, 4096)
    ROOM = cython.declare(cython.long, 16)
    MOST_HALVES = cython.declare(cython.int, 64)

    _previous = cython.declare(ArenaAllocator)
    _ours = cython.declare(ArenaAllocator)
    _installed = cython.declare(cython.bint, False)
    _ring = cython.declare(cython.p_void[16])
    # Blocks put into the ring, taken from it, and how many of them are to be ready; each only ever grows.
    _put = cython.declare(cython.long, 0)
    _taken = cython.declare(cython.long, 0)
    _depth = cython.declare(cython.long, 1)
    _wanted = cython.declare(Semaphore)
    _halves = cython.declare(cython.p_void[64])
    _halves_count = cython.declare(cython.int, 0)
    _made_here = cython.declare(cython.long, 0)
    # Are blocks huge pages from the first touch?
    _huge = cython.declare(cython.long, 1)
    _given_back = cython.declare(cython.long, 0)

COMPILED = cython.compiled


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _new_block() -> cython.p_void:
    """2 MB that begin at a multiple of that, as one huge page must; NULL when memory is out."""
    found: cython.p_void = mmap(cython.NULL, 2 * BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
    if found is MAP_FAILED:
        return cython.NULL
    at: uintptr_t = cython.cast(uintptr_t, found)
    first: uintptr_t = (at + BLOCK - 1) & ~(BLOCK - 1)
    if first > at:
        munmap(found, first - at)
    if first + BLOCK < at + 2 * BLOCK:
        munmap(cython.cast(cython.p_void, first + BLOCK), at + BLOCK - first)
    if load(cython.address(_huge), ACQUIRE):
        madvise(cython.cast(cython.p_void, first), BLOCK, MADV_HUGEPAGE)
    return cython.cast(cython.p_void, first)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _keep_ready(_: cython.p_void) -> cython.p_void:
    """The thread: makes and touches blocks until enough are ready, whenever one was taken."""
    block: cython.p_char
    offset: cython.size_t
    put: cython.long = 0
    while True:
        while put - load(cython.address(_taken), ACQUIRE) < load(cython.address(_depth), ACQUIRE):
            block = cython.cast(cython.p_char, _new_block())
            if block is cython.NULL:
                break
            offset = 0
            while offset < BLOCK:
                block[offset] = 0
                offset += PAGE
            # No effect where it is one huge page already.
            madvise(block, BLOCK, MADV_HUGEPAGE)
            _ring[put % ROOM] = block
            put += 1
            store(cython.address(_put), put, RELEASE)
        sem_wait(cython.address(_wanted))
    return cython.NULL


@cython.cfunc
@cython.exceptval(check=False)
def _alloc(ctx: cython.p_void, size: cython.size_t) -> cython.p_void:
    """One arena. The caller holds the interpreter's lock, as with every call of the allocator."""
    global _halves_count, _made_here
    if size != HALF:
        return _previous.alloc(_previous.ctx, size)
    if _halves_count:
        _halves_count -= 1
        return _halves[_halves_count]
    block: cython.p_char
    depth: cython.long
    if load(cython.address(_put), ACQUIRE) > _taken:
        block = cython.cast(cython.p_char, _ring[_taken % ROOM])
        store(cython.address(_taken), _taken + 1, RELEASE)
    else:
        depth = load(cython.address(_depth), ACQUIRE)
        if 2 * depth <= ROOM:
            store(cython.address(_depth), 2 * depth, RELEASE)
        _made_here += 1
        block = cython.cast(cython.p_char, _new_block())
        if block is cython.NULL:
            return cython.NULL
    sem_post(cython.address(_wanted))
    _halves[0] = block + HALF
    _halves_count = 1
    return block


@cython.cfunc
@cython.exceptval(check=False)
def _free(ctx: cython.p_void, arena: cython.p_void, size: cython.size_t) -> cython.void:
    """An arena in which nothing is left; perhaps one of before we came, which is as good if it lies as ours do."""
    global _halves_count, _given_back
    at: uintptr_t = cython.cast(uintptr_t, arena)
    other: cython.p_void
    index: cython.int
    if size != HALF or at & (HALF - 1):
        _previous.free(_previous.ctx, arena, size)
        return
    other = cython.cast(cython.p_void, at ^ HALF)
    for index in range(_halves_count):
        if _halves[index] is other:
            _halves_count -= 1
            _halves[index] = _halves[_halves_count]
            _given_back += 1
            munmap(cython.cast(cython.p_void, at & ~(BLOCK - 1)), BLOCK)
            return
    if _halves_count == MOST_HALVES:
        munmap(arena, HALF)
        return
    _halves[_halves_count] = arena
    _halves_count += 1


def install() -> bool:
    """Take memory for small objects so from now on; whether that is possible in this form. For the life of the process.

    Raises MemoryError when the system gives no thread.
    """
    if cython.compiled:
        global _installed
        thread: pthread_t = 0
        everything: Signals
        before: Signals
        failed: cython.int
        if _installed:
            return True
        sem_init(cython.address(_wanted), 0, 0)
        # Signals are the main thread's.
        sigfillset(cython.address(everything))
        pthread_sigmask(SIG_SETMASK, cython.address(everything), cython.address(before))
        failed = pthread_create(cython.address(thread), cython.NULL, _keep_ready, cython.NULL)
        pthread_sigmask(SIG_SETMASK, cython.address(before), cython.NULL)
        if failed:
            raise MemoryError
        pthread_detach(thread)
        get_allocator(cython.address(_previous))
        _ours.ctx = cython.NULL
        _ours.alloc = _alloc
        _ours.free = _free
        set_allocator(cython.address(_ours))
        _installed = True
    return bool(COMPILED)


def take_ordinary_pages(wanted: bool) -> None:
    """For all blocks made from now on, until it is called again."""
    if cython.compiled:
        store(cython.address(_huge), 0 if wanted else 1, RELEASE)


def figures() -> tuple[int, int, int]:
    """(blocks taken that were ready, taken that were not, given back to the system) since `install`."""
    if cython.compiled:
        return _taken, _made_here, _given_back
    return 0, 0, 0
