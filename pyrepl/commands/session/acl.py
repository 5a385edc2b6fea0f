"""ACL: users and their rights (Redis 8.2). `pyrepl.acl` knows the rules; `engine.rights` asks them for each command.

Names of users and their rules are hidden from the slow log and from MONITOR.
"""

from __future__ import annotations

from typing import Final

from pyrepl.acl.log import Entry
from pyrepl.acl.selector import Selector
from pyrepl.acl.users import Change, UsersError
from pyrepl.commands.describe.categories import CATEGORIES
from pyrepl.commands.describe.command_docs import as_set
from pyrepl.commands.describe.help import help_reply, subcommand_syntax_error
from pyrepl.commands.engine.arguments import integer_argument
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.effects import KillClients, LoadUsers, MakePassword, SaveUsers
from pyrepl.commands.engine.rights import why_denied
from pyrepl.commands.engine.table import ADMIN, LOADING, NOSCRIPT, STALE, command, container
from pyrepl.commands.session.connection import redact
from pyrepl.errors import CommandError
from pyrepl.resp.reply import OK, Reply, Simple
from pyrepl.words import from_text, to_text

_ASKING: Final = NOSCRIPT | LOADING | STALE
_ADMIN: Final = ADMIN | _ASKING
_MOST_BITS: Final = 4096
_SHOWN: Final = 10
"""How many entries ACL LOG shows unless it is told."""
_NO_FILE: Final = (
    "ERR This Redis instance is not configured to use an ACL file. You may want to specify users via the ACL SETUSER "
    "command and then issue a CONFIG REWRITE (assuming you have a Redis configuration file set) in order to store "
    "users in the Redis configuration."
)
_HELP: Final = (
    "CAT [<category>]",
    "    List all commands that belong to <category>, or all command categories",
    "    when no category is specified.",
    "DELUSER <username> [<username> ...]",
    "    Delete a list of users.",
    "DRYRUN <username> <command> [<arg> ...]",
    "    Returns whether the user can execute the given command without executing the command.",
    "GETUSER <username>",
    "    Get the user's details.",
    "GENPASS [<bits>]",
    "    Generate a secure 256-bit user password. The optional `bits` argument can",
    "    be used to specify a different size.",
    "LIST",
    "    Show users details in config file format.",
    "LOAD",
    "    Reload users from the ACL file.",
    "LOG [<count> | RESET]",
    "    Show the ACL log entries.",
    "SAVE",
    "    Save the current config to the ACL file.",
    "SETUSER <username> <attribute> [<attribute> ...]",
    "    Create or modify a user with the specified attributes.",
    "USERS",
    "    List all the registered usernames.",
    "WHOAMI",
    "    Return the current connection username.",
)

acl_ = container("ACL", group="server", since="6.0.0", summary="A container for Access List Control commands")


@command("ACL|CAT", arity=-2, flags=_ASKING, group="server", since="6.0.0")
def acl_cat(call: Call, *category: bytes) -> list[bytes]:
    """List the categories of commands, or the commands of a category"""
    if len(category) > 1:
        raise subcommand_syntax_error("ACL", call.argv[1])
    if not category:
        return [name.encode() for name in CATEGORIES]
    found = call.node.users.names.in_category(to_text(category[0]))
    if found is None:
        raise CommandError(f"ERR Unknown category '{to_text(category[0][:128])}'")
    return [name.encode() for name in found]


@command("ACL|DELUSER", arity=-3, flags=_ADMIN, group="server", since="6.0.0")
def acl_deluser(call: Call, *names: bytes) -> KillClients | int:
    """Delete users, and close their connections; answer how many there were"""
    redact(call, *range(2, len(call.argv)))
    try:
        change = call.node.users.delete(names)
    except UsersError as error:
        raise CommandError(f"ERR {error}") from None
    deleted = len(change.gone)
    return KillClients(_ended(call, change), deleted)


@command("ACL|DRYRUN", arity=-4, flags=_ADMIN, group="server", since="7.0.0")
def acl_dryrun(call: Call, name: bytes, *argv: bytes) -> bytes | Simple:
    """Tell whether a user may run a command, without running it"""
    user = call.node.users.get(name)
    if user is None:
        raise CommandError(f"ERR User '{to_text(name)}' not found")
    words = list(argv)
    entry = call.runner.find_entry(words)
    if entry is None:
        raise CommandError(f"ERR Command '{to_text(argv[0])}' not found")
    if not entry.fits(len(argv)):
        raise CommandError(f"ERR wrong number of arguments for '{entry.wire_name}' command")
    denial = why_denied(user, entry.row, words)
    if denial is None:
        return OK
    return from_text(denial.text(name, entry.wire_name, words, is_verbose=True))


@command("ACL|GENPASS", arity=-2, flags=_ASKING, group="server", since="6.0.0")
def acl_genpass(call: Call, *bits: bytes) -> MakePassword:
    """Answer a new password in hexadecimal digits, of 256 bits or of so many"""
    if len(bits) > 1:
        raise subcommand_syntax_error("ACL", call.argv[1])
    wanted = integer_argument(bits[0]) if bits else 256
    if not 0 < wanted <= _MOST_BITS:
        raise CommandError(
            "ERR ACL GENPASS argument must be the number of bits for the output password, a positive number up to "
            f"{_MOST_BITS}"
        )
    return MakePassword((wanted + 3) // 4)


@command("ACL|GETUSER", arity=3, flags=_ADMIN, group="server", since="6.0.0")
def acl_getuser(call: Call, name: bytes) -> dict[Reply, Reply] | None:
    """Describe a user: flags, passwords, and what it may do"""
    redact(call, 2)
    user = call.node.users.get(name)
    if user is None:
        return None
    others: list[Reply] = [_described(selector) for selector in user.selectors[1:]]
    return {
        b"flags": as_set(list(user.flags), call.client.proto),
        b"passwords": list(user.passwords),
        **_described(user.root),
        b"selectors": others,
    }


def _described(selector: Selector) -> dict[Reply, Reply]:
    return {
        b"commands": selector.commands_text(),
        b"keys": selector.keys_text(),
        b"channels": selector.channels_text(),
    }


@command("ACL|LIST", arity=2, flags=_ADMIN, group="server", since="6.0.0")
def acl_list(call: Call) -> list[bytes]:
    """List all users with their rules, as a user file has them"""
    return call.node.users.lines()


@command("ACL|LOAD", arity=2, flags=_ADMIN, group="server", since="6.0.0")
def acl_load(call: Call) -> LoadUsers:
    """Read the users from the user file anew"""
    _check_file(call)
    return LoadUsers()


@command("ACL|SAVE", arity=2, flags=_ADMIN, group="server", since="6.0.0")
def acl_save(call: Call) -> SaveUsers:
    """Write the users to the user file"""
    _check_file(call)
    return SaveUsers()


def _check_file(call: Call) -> None:
    if not call.node.settings.aclfile:
        raise CommandError(_NO_FILE)


@command("ACL|LOG", arity=-2, flags=_ADMIN, group="server", since="6.0.0")
def acl_log(call: Call, *options: bytes) -> list[Reply] | Simple:
    """List what was refused to users, the newest first, or forget it (RESET)"""
    log = call.node.acl_log
    if len(options) > 1:
        raise subcommand_syntax_error("ACL", call.argv[1])
    if options and options[0].lower() == b"reset":
        log.clear()
        return OK
    count = max(0, integer_argument(options[0])) if options else _SHOWN
    return [_shown(entry, call) for entry in log.entries[:count]]


def _shown(entry: Entry, call: Call) -> dict[Reply, Reply]:
    return {
        b"count": entry.count,
        b"reason": entry.reason.word.encode(),
        b"context": entry.context.value.encode(),
        b"object": entry.object,
        b"username": entry.user,
        b"age-seconds": (call.now_ms - entry.updated_ms) / 1000,
        b"client-info": entry.client_info,
        b"entry-id": entry.number,
        b"timestamp-created": entry.created_ms,
        b"timestamp-last-updated": entry.updated_ms,
    }


@command("ACL|SETUSER", arity=-3, flags=_ADMIN, group="server", since="6.0.0")
def acl_setuser(call: Call, name: bytes, *rules: bytes) -> KillClients:
    """Make a user, or change its rules; connections that listen to channels it loses are closed"""
    redact(call, *range(2, len(call.argv)))
    try:
        change = call.node.users.set(name, rules)
    except UsersError as error:
        raise CommandError(f"ERR {_on_one_line(str(error))}") from None
    return KillClients(_ended(call, change), OK)


@command("ACL|USERS", arity=2, flags=_ADMIN, group="server", since="6.0.0")
def acl_users(call: Call) -> list[bytes]:
    """List the names of all users"""
    return [user.name for user in call.node.users.all()]


@command("ACL|WHOAMI", arity=2, flags=_ASKING, group="server", since="6.0.0")
def acl_whoami(call: Call) -> bytes | None:
    """Answer the name of the user that this connection is"""
    user = call.client.identity.user
    return None if user is None else user.name


@command("ACL|HELP", arity=2, flags=LOADING | STALE, group="server", since="6.0.0")
def acl_help(call: Call) -> list[Simple]:
    """Show what ACL can do"""
    return help_reply("ACL", *_HELP)


def _ended(call: Call, change: Change) -> tuple[int, ...]:
    """The ids of the clients whose connections end by a change of users. The caller's own ends once it has its reply,
    and is not among them."""
    ended = call.node.clients_to_end(change)
    if call.client in ended:
        call.client.close_after_reply()
    return tuple(client.id for client in ended if client is not call.client)


def _on_one_line(text: str) -> str:
    return text.replace("\r", " ").replace("\n", " ")
