"""The command table as rename-command leaves it (Redis 8.2): commands under other names, or under none.

Only what clients say goes by the new names. COMMAND, commandstats and error texts go on speaking of the old ones. What
a client wrote goes to the replicas and into the append-only file as it came, so they need the same renames; what
pyrepl itself puts there (DEL of an expired key) has the old names, which a stream and a file may therefore always use.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType

from pyrepl.commands.engine.table import Table
from pyrepl.config.parser import join_line
from pyrepl.config.settings import Settings
from pyrepl.errors import ConfigError


def renamed_table(settings: Settings, families: Iterable[ModuleType]) -> Table:
    """All commands of these families, renamed in the order of the configuration.

    Raises ConfigError, in Redis's words, for a command that there is not (any more) and for a name that is taken.
    """
    table = Table(families)
    for name, new_name in settings.rename_command:
        complaint = table.rename(name.upper(), new_name.upper())
        if complaint is not None:
            line = join_line("rename-command", [name, new_name]).decode("utf-8", "backslashreplace")
            raise ConfigError(f"{line}: {complaint}")
    return table
