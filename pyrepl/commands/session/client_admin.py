"""CLIENT and its subcommands. The filters of KILL are in `client_filters`, client-side caching is in `tracking`;
`observability` makes the line of a client.
"""

from __future__ import annotations

from typing import Final

from pyrepl.commands.describe.help import help_reply, subcommand_syntax_error
from pyrepl.commands.engine.arguments import integer_argument, syntax_error, timeout_ms_argument
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.effects import KillClients, PauseChanged, UnblockClient
from pyrepl.commands.engine.table import ADMIN, LOADING, NOSCRIPT, STALE, command, container
from pyrepl.commands.session.client_filters import ClientFilter, client_kind
from pyrepl.commands.session.connection import check_plain
from pyrepl.errors import CommandError
from pyrepl.node.client import Client
from pyrepl.observability.client_line import client_line
from pyrepl.resp.reply import NO_REPLY, OK, NoReply, Raw, Simple, Verbatim

_ASKING: Final = NOSCRIPT | LOADING | STALE
_ADMIN: Final = ADMIN | NOSCRIPT | LOADING | STALE
_HEARD_OK: Final = Raw(OK.encoded, is_heard=True)
"""The reply to CLIENT REPLY ON: it is sent even when a SKIP before it would suppress it."""

client_ = container("CLIENT", group="connection", since="2.4.0", summary="A container for client connection commands")


@command("CLIENT|ID", arity=2, flags=_ASKING, group="connection", since="5.0.0")
def client_id(call: Call) -> int:
    """Answer the number of this connection"""
    return call.client.id


@command("CLIENT|INFO", arity=2, flags=_ASKING, group="connection", since="6.2.0")
def client_info(call: Call) -> Verbatim:
    """Describe this connection"""
    return Verbatim(client_line(call.client, call.node.process.now) + b"\n")


@command("CLIENT|LIST", arity=-2, flags=_ADMIN, group="connection", since="2.4.0")
def client_list(call: Call, *options: bytes) -> Verbatim:
    """Describe the connections: all, those of a TYPE, or those with an ID"""
    now = call.node.process.now
    return Verbatim(b"".join(client_line(client, now) + b"\n" for client in _listed(call, options)))


def _listed(call: Call, options: tuple[bytes, ...]) -> list[Client]:
    """The clients that CLIENT LIST shows: all, those of `TYPE kind`, or those of `ID id ...`. Raises CommandError."""
    clients = call.node.clients
    if not options:
        return list(clients.values())
    word = options[0].upper()
    if word == b"TYPE" and len(options) == 2:
        kind = client_kind(options[1])
        return [client for client in clients.values() if client.kind == kind]
    if word == b"ID" and len(options) > 1:
        ids = [integer_argument(text, "ERR Invalid client ID") for text in options[1:]]
        return [clients[client_id] for client_id in ids if client_id in clients]
    raise syntax_error()


@command("CLIENT|GETNAME", arity=2, flags=_ASKING, group="connection", since="2.6.9")
def client_getname(call: Call) -> bytes | None:
    """Answer the name that this connection gave itself"""
    return call.client.name or None


@command("CLIENT|SETNAME", arity=3, flags=_ASKING, group="connection", since="2.6.9")
def client_setname(call: Call, name: bytes) -> Simple:
    """Name this connection; the empty name takes it away"""
    check_plain("Client names", name)
    call.client.name = name
    return OK


@command("CLIENT|SETINFO", arity=4, flags=_ASKING, group="connection", since="7.2.0")
def client_setinfo(call: Call, option: bytes, value: bytes) -> Simple:
    """Tell the client library's name or version (LIB-NAME, LIB-VER)"""
    word = option.upper()
    if word == b"LIB-NAME":
        check_plain("lib-name", value)
        call.client.lib_name = value
    elif word == b"LIB-VER":
        check_plain("lib-ver", value)
        call.client.lib_ver = value
    else:
        raise CommandError(f"ERR Unrecognized option '{option[:128].decode('utf-8', 'replace')}'")
    return OK


@command("CLIENT|KILL", arity=-3, flags=_ADMIN, group="connection", since="2.4.0")
def client_kill(call: Call, *words: bytes) -> KillClients | Simple | int:
    """Close connections: one by its address, or all that the filters leave"""
    if len(words) == 1:
        chosen = ClientFilter(skip_self=False, addr=words[0]).choose(call)
        if not chosen:
            raise CommandError("ERR No such client")
        return _killed(call, chosen[:1], OK)
    chosen = ClientFilter.parse(words).choose(call)
    return _killed(call, chosen, len(chosen))


def _killed(call: Call, chosen: list[Client], reply: Simple | int) -> KillClients | Simple | int:
    """Close these clients and answer `reply`. The caller is closed only after it has been sent the reply."""
    if call.client in chosen:
        call.client.close_after_reply()
    others = tuple(client.id for client in chosen if client is not call.client)
    return KillClients(others, reply) if others else reply


@command("CLIENT|PAUSE", arity=-3, flags=_ADMIN, group="connection", since="3.0.0")
def client_pause(call: Call, timeout: bytes, *mode: bytes) -> PauseChanged:
    """Hold all commands of clients, or those that write, for so many ms"""
    if len(mode) > 1:
        raise subcommand_syntax_error("CLIENT", call.argv[1])
    if mode and mode[0].upper() not in (b"WRITE", b"ALL"):
        raise CommandError("ERR CLIENT PAUSE mode must be WRITE or ALL")
    span_ms = timeout_ms_argument(timeout, call.now_ms)
    writes_only = bool(mode) and mode[0].upper() == b"WRITE"
    call.node.pause.begin(call.now_ms + span_ms, writes_only=writes_only)
    return PauseChanged()


@command("CLIENT|UNPAUSE", arity=2, flags=_ADMIN, group="connection", since="6.2.0")
def client_unpause(call: Call) -> PauseChanged:
    """Let the commands that CLIENT PAUSE holds go on"""
    call.node.pause.end()
    return PauseChanged()


@command("CLIENT|REPLY", arity=3, flags=_ASKING, group="connection", since="3.2.0")
def client_reply(call: Call, mode: bytes) -> Raw | NoReply:
    """Switch the replies to this connection ON or OFF, or SKIP the next one"""
    client = call.client
    word = mode.upper()
    if word not in (b"ON", b"OFF", b"SKIP"):
        raise syntax_error()
    if word == b"SKIP":
        client.skip_reply()
    else:
        client.switch_replies(word.decode().lower())
    return _HEARD_OK if word == b"ON" else NO_REPLY


@command("CLIENT|NO-EVICT", arity=3, flags=_ADMIN, group="connection", since="7.0.0")
def client_no_evict(call: Call, switch: bytes) -> Simple:
    """Spare this connection when clients are closed to save memory"""
    call.client.no_evict = _is_on(switch)
    return OK


@command("CLIENT|NO-TOUCH", arity=3, flags=_ASKING, group="connection", since="7.2.0")
def client_no_touch(call: Call, switch: bytes) -> Simple:
    """Keep this connection's commands from changing when keys were last used"""
    call.client.no_touch = _is_on(switch)
    return OK


def _is_on(word: bytes) -> bool:
    """True for ON, False for OFF, in any case. Raises CommandError for another word."""
    if word.upper() not in (b"ON", b"OFF"):
        raise syntax_error()
    return word.upper() == b"ON"


@command("CLIENT|UNBLOCK", arity=-3, flags=_ADMIN, group="connection", since="5.0.0")
def client_unblock(call: Call, client_id: bytes, *reason: bytes) -> UnblockClient | int:
    """Wake a client that waits (BLPOP, XREAD, WAIT), as if its time were over or with an error; 1 if it was waiting"""
    if len(reason) > 1:
        raise subcommand_syntax_error("CLIENT", call.argv[1])
    if reason and reason[0].upper() not in (b"TIMEOUT", b"ERROR"):
        raise CommandError("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR")
    client = call.node.clients.get(integer_argument(client_id))
    if client is None or not client.is_blocked:
        return 0
    return UnblockClient(client.id, with_error=bool(reason) and reason[0].upper() == b"ERROR")


@command("CLIENT|HELP", arity=2, flags=LOADING | STALE, group="connection", since="5.0.0")
def client_help(call: Call) -> list[Simple]:
    """Show what CLIENT can do"""
    return help_reply("CLIENT", *_HELP)


_HELP: Final = (
    "CACHING (YES|NO)",
    "    Enable/disable tracking of the keys for next command in OPTIN/OPTOUT modes.",
    "CAPA <option> [options...]",
    "    Tell what this client can do. Options are:",
    "    * REDIRECT",
    "      Go to the master where a replica sends it.",
    "GETREDIR",
    "    Return the client ID we are redirecting to when tracking is enabled.",
    "GETNAME",
    "    Return the name of the current connection.",
    "ID",
    "    Return the ID of the current connection.",
    "INFO",
    "    Return information about the current client connection.",
    "KILL <ip:port>",
    "    Kill connection made from <ip:port>.",
    "KILL <option> <value> [<option> <value> [...]]",
    "    Kill connections. Options are:",
    "    * ADDR (<ip:port>|<unixsocket>:0)",
    "      Kill connections made from the specified address",
    "    * LADDR (<ip:port>|<unixsocket>:0)",
    "      Kill connections made to specified local address",
    "    * TYPE (NORMAL|MASTER|REPLICA|PUBSUB)",
    "      Kill connections by type.",
    "    * USER <username>",
    "      Kill connections authenticated by <username>.",
    "    * SKIPME (YES|NO)",
    "      Skip killing current connection (default: yes).",
    "    * ID <client-id>",
    "      Kill connections by client id.",
    "    * MAXAGE <maxage>",
    "      Kill connections older than the specified age.",
    "LIST [options ...]",
    "    Return information about client connections. Options:",
    "    * TYPE (NORMAL|MASTER|REPLICA|PUBSUB)",
    "      Return clients of specified type.",
    "    * ID <client-id> [<client-id> [...]]",
    "      Return clients of specified IDs only.",
    "UNPAUSE",
    "    Stop the current client pause, resuming traffic.",
    "PAUSE <timeout> [WRITE|ALL]",
    "    Suspend all, or just write, clients for <timeout> milliseconds.",
    "REPLY (ON|OFF|SKIP)",
    "    Control the replies sent to the current connection.",
    "SETNAME <name>",
    "    Assign the name <name> to the current connection.",
    "SETINFO <option> <value>",
    "    Set client meta attr. Options are:",
    "    * LIB-NAME: the client lib name.",
    "    * LIB-VER: the client lib version.",
    "UNBLOCK <clientid> [TIMEOUT|ERROR]",
    "    Unblock the specified blocked client.",
    "TRACKING (ON|OFF) [REDIRECT <id>] [BCAST] [PREFIX <prefix> [...]]",
    "         [OPTIN] [OPTOUT] [NOLOOP]",
    "    Control server assisted client side caching.",
    "TRACKINGINFO",
    "    Report tracking status for the current connection.",
    "NO-EVICT (ON|OFF)",
    "    Protect current client connection from eviction.",
    "NO-TOUCH (ON|OFF)",
    "    Will not touch LRU/LFU stats when this mode is on.",
    "IMPORT-SOURCE (ON|OFF)",
    "    See what has expired, while import-mode is yes: for tools that copy data.",
)
