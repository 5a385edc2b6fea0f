"""The commands as the rules of users know them: by their first names, and by category. See `acl.selector`."""

from __future__ import annotations

from typing import final

from pyrepl.commands.describe.categories import CATEGORIES, categories
from pyrepl.commands.engine.table import Command, Table


@final
class AclNames:
    """The names of a table's commands, those included that rename-command has taken from clients. It is made when the
    first rule asks for it."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._members: dict[str, list[str]] = {}
        """Full name -> this name, and those of the command's subcommands."""
        self._categories: dict[str, list[str]] = {name: [] for name in CATEGORIES}

    def find(self, name: str) -> str | None:
        self._learn()
        lower = name.lower()
        return lower if lower in self._members else None

    def with_subcommands(self, name: str) -> list[str]:
        self._learn()
        return self._members[name]

    def of_category(self, category: str) -> list[str] | None:
        self._learn()
        found = self._categories.get(category.lower())
        return None if found is None else [member for name in found for member in self._members[name]]

    def in_category(self, category: str) -> list[str] | None:
        """As `of_category`, without the subcommands that are not in the category themselves: for ACL CAT."""
        self._learn()
        return self._categories.get(category.lower())

    def _learn(self) -> None:
        if self._members:
            return
        rows = {row.name: row for row in (*self._table.renamed.values(), *self._table.rows.values())}
        for row in rows.values():
            children = list(row.subcommands.values())
            self._members[_name(row)] = [_name(row), *map(_name, children)]
            self._note(row, has_children=bool(children))
            for child in children:
                self._members[_name(child)] = [_name(child)]
                self._note(child, has_children=False)

    def _note(self, row: Command, *, has_children: bool) -> None:
        for category in categories(row, has_children=has_children):
            self._categories[category].append(_name(row))


def _name(row: Command) -> str:
    return row.name.lower()
