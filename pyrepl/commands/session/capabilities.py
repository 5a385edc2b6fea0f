"""What clients of Valkey say of themselves: CLIENT CAPA and CLIENT IMPORT-SOURCE (Valkey 8.0 and 8.1).

What follows from it is in `engine.gates` (-REDIRECT) and `engine.dispatch` (import-mode).
"""

from __future__ import annotations

from pyrepl.commands.engine.arguments import syntax_error
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.table import ALLOW_BUSY, LOADING, NOSCRIPT, STALE, command
from pyrepl.errors import CommandError
from pyrepl.resp.reply import OK, Simple


@command("CLIENT|CAPA", arity=-3, flags=NOSCRIPT | LOADING | STALE | ALLOW_BUSY, group="connection", since="8.0.0")
def client_capa(call: Call, *capabilities: bytes) -> Simple:
    """Tell what this client can do: REDIRECT, it goes to the master where a replica sends it

    Other words are taken and mean nothing, as in Valkey: a client may be newer than its server. A client that waits for
    a key when its node becomes a replica gets -UNBLOCKED; its next command is redirected.
    """
    if any(word.upper() == b"REDIRECT" for word in capabilities):
        call.client.follow_redirects()
    return OK


@command("CLIENT|IMPORT-SOURCE", arity=3, flags=NOSCRIPT | LOADING | STALE, group="connection", since="8.1.0")
def client_import_source(call: Call, switch: bytes) -> Simple:
    """Say that this client copies data here from elsewhere: it sees what has expired; needs import-mode yes"""
    word = switch.upper()
    if word == b"ON" and not call.node.settings.import_mode:
        raise CommandError("ERR Server is not in import mode")
    if word not in (b"ON", b"OFF"):
        raise syntax_error()
    call.client.imports = word == b"ON"
    return OK
