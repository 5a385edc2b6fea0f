"""Function libraries as they are loaded: by FUNCTION LOAD and RESTORE, and those that a snapshot brought.

The interpreter of functions is another one than that of scripts. The rows stand in `functions`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from pyrepl.commands.engine.call import Call
from pyrepl.commands.scripts.executing import Interpreting
from pyrepl.errors import CommandError
from pyrepl.node.functions import Function, Functions, Library
from pyrepl.node.scripts import Running
from pyrepl.words import split_words, to_text

LOAD_TIMEOUT_MS: Final = 500
"""A library that takes longer to register its functions is refused (Redis, LOAD_TIMEOUT_MS)."""
_WARNING: Final = 3
_NAME_RULE: Final = (
    "Library names can only contain letters, numbers, or underscores(_) and must be at least one character long"
)
_NAME_BYTES: Final = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")


class Head(NamedTuple):
    """What the first line of a library says, and the code behind it, whose lines keep their numbers."""

    name: bytes
    code: bytes


def read_head(text: bytes) -> Head:
    """The head of a library: `#!lua name=mylib`. Raises CommandError, with Redis's text."""
    if not text.startswith(b"#!"):
        raise CommandError("ERR Missing library metadata")
    end = text.find(b"\n")
    words = split_words(text[:end]) if end >= 0 else None
    if not words:
        raise CommandError("ERR Invalid library metadata")
    name: bytes | None = None
    for word in words[1:]:
        if not word.lower().startswith(b"name="):
            raise CommandError(f"ERR Invalid metadata value given: {to_text(word)}")
        if name is not None:
            raise CommandError("ERR Invalid metadata value, name argument was given multiple times")
        name = word[5:]
    if name is None:
        raise CommandError("ERR Library name was not given")
    if not name or not _NAME_BYTES.issuperset(name):
        raise CommandError(f"ERR {_NAME_RULE}")
    if words[0][2:].upper() != b"LUA":
        raise CommandError(f"ERR Engine '{to_text(words[0][2:])}' not found")
    return Head(name, text[end:])


def interpreting_functions(call: Call) -> Interpreting:
    """The interpreter of functions, which is made here if there is none."""
    scripts = call.node.scripts
    found = scripts.functions_interpreter
    if found is None:
        found = scripts.functions_interpreter = Interpreting(call.node, call, is_eval=False)
    assert isinstance(found, Interpreting)
    return found


def compiled(call: Call, text: bytes, beside: Functions, *, replace: bool) -> Library:
    """Load a library into the interpreter, and keep it there. Raises CommandError, and nothing has changed.

    `beside` are the libraries that it must get along with; `replace`: one of them may have its name.
    """
    head = read_head(text)
    if not replace and beside.library(head.name) is not None:
        raise CommandError(f"ERR Library '{to_text(head.name)}' already exists")
    engine = interpreting_functions(call)
    running = Running(
        head.name,
        call.node.process.now,
        call.client.id,
        is_eval=False,
        is_read_only=True,
        allows_oom=False,
        from_master=call.client.is_master_link,
    )
    running.limit_ms = 0 if running.from_master else LOAD_TIMEOUT_MS
    call.node.scripts.begin(running)
    engine.door.running = running
    try:
        complaint, registered = engine.machine.load_library(head.code)
    finally:
        engine.door.running = None
        call.node.scripts.end()
    if running.is_killed:
        complaint = "Error registering functions: ERR FUNCTION LOAD timeout"
    if complaint is None and not registered:
        complaint = "No functions registered"
    library = Library(head.name, text, tuple(Function(*one) for one in registered))
    if complaint is None:
        complaint = beside.why_not_add(library)
    engine.machine.keep_library(head.name if complaint is None else None)
    if complaint is not None:
        raise CommandError(f"ERR {complaint}")
    return library


def functions_of(call: Call) -> Functions:
    """The libraries of the node, those that a snapshot brought compiled. One that cannot be compiled stays as it came,
    and has no functions."""
    functions = call.node.functions
    if functions.absent:
        absent, functions.absent = functions.absent, []
        for text in absent:
            try:
                functions.add(compiled(call, text, functions, replace=True))
            except CommandError:
                functions.absent.append(text)
    return functions


def interpreting_with_room(call: Call, more_bytes: int) -> Interpreting:
    """The interpreter of functions, with room for so many bytes of arguments besides what a function may need.

    Where its memory is full of what the libraries keep in variables, a new one takes its place and the libraries are
    loaded there, as after a restart. Raises CommandError if they leave no room there either.
    """
    engine = interpreting_functions(call)
    if engine.machine.make_room(more_bytes):
        return engine
    node = call.node
    node.functions.take(node.functions.texts())
    node.scripts.functions_interpreter = None
    functions_of(call)
    node.scripts.outside.log(
        _WARNING,
        b"The memory of the function libraries was full (lua-memory-limit). They were loaded again: what their "
        b"functions had kept in variables is gone.",
    )
    engine = interpreting_functions(call)
    if not engine.machine.make_room(more_bytes):
        raise CommandError("ERR not enough memory")
    return engine
