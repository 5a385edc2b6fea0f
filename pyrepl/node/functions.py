"""The function libraries of a node: their texts, which snapshots carry, and what they registered.

Libraries that a snapshot brought are texts alone until somebody asks for functions: then they are compiled (`absent`).
Not here: compiling and calling (`commands/scripts`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, final


class Function(NamedTuple):
    """A function as it was registered; `flags` are those of `scripting.shebang`."""

    name: bytes
    description: bytes | None
    flags: int


class Library(NamedTuple):
    """A library as it was loaded: `text` is what FUNCTION LOAD takes."""

    name: bytes
    text: bytes
    functions: tuple[Function, ...]


@final
class Functions:
    """The libraries of a node. Invariant: no two libraries have a function of the same name."""

    def __init__(self) -> None:
        self._libraries: dict[bytes, Library] = {}
        self._owners: dict[bytes, tuple[Library, Function]] = {}
        self.absent: list[bytes] = []
        """Texts of libraries that were brought and are not compiled yet."""

    def take(self, texts: Iterable[bytes]) -> None:
        """A snapshot brought these libraries, in place of those that are here."""
        self.clear()
        self.absent = list(texts)

    def texts(self) -> tuple[bytes, ...]:
        """All libraries, for a snapshot."""
        return (*(library.text for library in self._libraries.values()), *self.absent)

    def find(self, name: bytes) -> tuple[Library, Function] | None:
        """A function with its library. Those of absent libraries are not found."""
        return self._owners.get(name)

    def library(self, name: bytes) -> Library | None:
        return self._libraries.get(name)

    def libraries(self) -> tuple[Library, ...]:
        """All that are compiled."""
        return tuple(self._libraries.values())

    def why_not_add(self, library: Library) -> str | None:
        """Redis's text when a function of this library has the name of another library's; None if none has."""
        for function in library.functions:
            found = self._owners.get(function.name)
            if found is not None and found[0].name != library.name:
                return f"Function {function.name.decode()} already exists"
        return None

    def add(self, library: Library) -> None:
        """Add a library, in place of one with its name."""
        self.remove(library.name)
        self._libraries[library.name] = library
        for function in library.functions:
            self._owners[function.name] = (library, function)

    def remove(self, name: bytes) -> None:
        """Remove a library. Harmless if there is none."""
        library = self._libraries.pop(name, None)
        for function in library.functions if library is not None else ():
            del self._owners[function.name]

    def clear(self) -> None:
        """Remove all libraries."""
        self._libraries.clear()
        self._owners.clear()
        self.absent = []

    @property
    def functions_count(self) -> int:
        """How many functions there are in compiled libraries."""
        return len(self._owners)

    @property
    def text_bytes(self) -> int:
        """Memory of all texts."""
        return sum(map(len, self.texts()))

    def __len__(self) -> int:
        return len(self._libraries) + len(self.absent)
