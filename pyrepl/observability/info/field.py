"""What INFO is made of: fields, rows of fields whose number varies, sections. Each section has its own module.

A field is declared once; INFO, the metrics columns and their documentation derive from it.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias, final

from pyrepl.frozen import Frozen
from pyrepl.node.node import Node

Value: TypeAlias = str | int | float | bool


class Kind(enum.Enum):
    """What a number means to who collects it."""

    COUNTER = "counter"
    """Grows until CONFIG RESETSTAT or a restart."""
    GAUGE = "gauge"
    """The state now."""
    FLAG = "flag"
    """0 or 1."""
    TEXT = "text"


@final
class Field(Frozen):
    """One line of INFO, `name:value`.

    `unit` is bytes, s, ms, us, percent, ... or empty for counts and words. `digits` are those behind the point of a
    float. With `when`, the line is only there while it says so.
    """

    name: str
    kind: Kind
    read: Callable[[Node], Value]
    help: str
    unit: str = ""
    digits: int = 2
    when: Callable[[Node], bool] | None = None

    def lines(self, node: Node) -> Iterator[str]:
        if self.when is None or self.when(node):
            yield f"{self.name}:{shown(self.read(node), self.digits)}"


@final
class Rows(Frozen):
    """Lines that exist once per replica, command, database, ...; `name` is the pattern of theirs (`slave<n>`)."""

    name: str
    read: Callable[[Node], Iterable[tuple[str, str]]]
    help: str

    def lines(self, node: Node) -> Iterator[str]:
        for name, value in self.read(node):
            yield f"{name}:{value}"


@final
class Section(Frozen):
    """A section of INFO; `usual` ones are shown when none is asked for."""

    title: str
    entries: tuple[Field | Rows, ...]
    usual: bool = True

    @property
    def name(self) -> str:
        """How INFO's argument names it."""
        return self.title.lower()

    def text(self, node: Node) -> str:
        """The section with its title, each line ended by CR LF."""
        lines = [f"# {self.title}"]
        for entry in self.entries:
            lines.extend(entry.lines(node))
        return "\r\n".join(lines) + "\r\n"


def shown(value: Value, digits: int) -> str:
    """A value as INFO prints it; flags as 0 and 1."""
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, float):
        return f"{value:.{digits}f}"
    return str(value)


def counter(name: str, read: Callable[[Node], Value], help: str, unit: str = "") -> Field:
    return Field(name, Kind.COUNTER, read, help, unit)


def gauge(
    name: str,
    read: Callable[[Node], Value],
    help: str,
    unit: str = "",
    *,
    digits: int = 2,
    when: Callable[[Node], bool] | None = None,
) -> Field:
    return Field(name, Kind.GAUGE, read, help, unit, digits, when)


def flag(name: str, read: Callable[[Node], bool], help: str, *, when: Callable[[Node], bool] | None = None) -> Field:
    return Field(name, Kind.FLAG, read, help, when=when)


def text(name: str, read: Callable[[Node], str], help: str, *, when: Callable[[Node], bool] | None = None) -> Field:
    return Field(name, Kind.TEXT, read, help, when=when)


def constant(name: str, value: Value, help: str) -> Field:
    """A field that tools look for and that says the same on every node of ours."""
    return Field(name, Kind.TEXT if isinstance(value, str) else Kind.GAUGE, lambda node: value, help)
