"""Makes the command table after rename-command (Redis 8.2): commands under other names, or under none.

Only clients use the new names. COMMAND, commandstats and error texts go on using the old ones. A client's write goes to
the replicas and into the append-only file with the name that the client used, so they need the same renames. Commands
that pyrepl itself puts there (DEL of an expired key) have the old names, so a stream and a file may always use these.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType

from pyrepl.commands.engine.table import Table
from pyrepl.config.parser import join_line
from pyrepl.config.settings import Settings
from pyrepl.errors import ConfigError


def renamed_table(settings: Settings, families: Iterable[ModuleType]) -> Table:
    """The table of all commands of these families, renamed in the order of the configuration.

    Raises ConfigError, in Redis's words, for a command that does not exist (any more) and for a name that is taken.
    """
    table = Table(families)
    for name, new_name in settings.rename_command:
        complaint = table.rename(name.upper(), new_name.upper())
        if complaint is not None:
            line = join_line("rename-command", [name, new_name]).decode("utf-8", "backslashreplace")
            raise ConfigError(f"{line}: {complaint}")
    return table
