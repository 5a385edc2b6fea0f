"""Commands that a directive allows to nobody, to anybody, or to clients on this machine (Redis 7's protected commands).

Whether a command is asked for is for the command itself to say; here is the answer, and the words for it.
"""

from __future__ import annotations

from pyrepl.acl.addresses import is_local
from pyrepl.commands.engine.call import Call
from pyrepl.errors import CommandError


def check_protected(call: Call, name: str, allowed: str) -> None:
    """Raises CommandError unless the directive `enable-<name>-command`, whose value is `allowed`, lets this client run
    the command: `no`, `yes` or `local`."""
    if allowed == "yes" or (allowed == "local" and is_local(call.client.addr)):
        return
    raise CommandError(
        f'ERR {name.upper()} command not allowed. If the enable-{name}-command option is set to "local", you can run'
        " it from a local connection, otherwise you need to set this option in the configuration file, and then restart"
        " the server."
    )
