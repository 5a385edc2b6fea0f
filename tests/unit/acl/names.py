"""A few commands for the tests of rules."""

from __future__ import annotations

from typing import Final, final

MEMBERS: Final = {
    "get": ["get"],
    "set": ["set"],
    "select": ["select"],
    "config": ["config", "config|get", "config|set"],
    "config|get": ["config|get"],
    "config|set": ["config|set"],
    "psync": ["psync"],
    "subscribe": ["subscribe"],
    "publish": ["publish"],
}
CATEGORIES: Final = {"read": ["get"], "write": ["set"], "slow": ["config"], "fast": ["get", "set", "select"]}


@final
class Names:
    """See `acl.selector.CommandNames`."""

    def find(self, name: str) -> str | None:
        return name.lower() if name.lower() in MEMBERS else None

    def with_subcommands(self, name: str) -> list[str]:
        return MEMBERS[name]

    def of_category(self, category: str) -> list[str] | None:
        found = CATEGORIES.get(category.lower())
        return None if found is None else [member for name in found for member in MEMBERS[name]]

    def in_category(self, category: str) -> list[str] | None:
        return CATEGORIES.get(category.lower())
