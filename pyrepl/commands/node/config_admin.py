"""CONFIG GET, SET, REWRITE, RESETSTAT. `pyrepl.config` knows the directives, their values and their meaning.

CONFIG SET changes all of the given directives or none. So all names are checked first, then all values, and only then
are the values assigned.
"""

from __future__ import annotations

from typing import Any, Final

from pyrepl.acl.addresses import is_local
from pyrepl.commands.describe.help import help_reply
from pyrepl.commands.engine.arguments import syntax_error
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.effects import RewriteConfig, SettingsChanged
from pyrepl.commands.engine.table import ADMIN, LOADING, NOSCRIPT, STALE, command, container
from pyrepl.commands.session.connection import redact
from pyrepl.config.directives import find
from pyrepl.config.settings import Settings, is_known
from pyrepl.errors import CommandError, ConfigError
from pyrepl.resp.reply import OK, Reply, Simple
from pyrepl.words import to_text

_FLAGS: Final = ADMIN | NOSCRIPT | LOADING | STALE

config_ = container("CONFIG", group="server", since="2.0.0", summary="A container for server configuration commands")


@command("CONFIG|GET", arity=-3, flags=_FLAGS, group="server", since="2.0.0")
def config_get(call: Call, *patterns: bytes) -> dict[Reply, Reply]:
    """Answer the directives whose names match a pattern, with their values"""
    found: dict[Reply, Reply] = {}
    for pattern in patterns:
        for name, text in call.node.settings.matching(pattern).items():
            found[name] = text
    return found


@command("CONFIG|SET", arity=-4, flags=_FLAGS, group="server", since="2.0.0")
def config_set(call: Call, *words: bytes) -> SettingsChanged:
    """Change directives while the node runs: all of those given, or none"""
    settings = call.node.settings
    names = [to_text(word) for word in words[::2]]
    redact(call, *(3 + 2 * i for i, name in enumerate(names) if _is_secret(name)))
    if len(words) % 2:
        raise syntax_error()
    _check_names(settings, names, local=is_local(call.client.addr))
    assigned = [_canonical_name(name) for name in names]
    values = [_parsed(settings, name, text) for name, text in zip(names, words[1::2])]
    previous = tuple(_value_of(settings, name) for name in assigned)
    call.node.change_settings(assigned, values)
    return SettingsChanged(tuple(assigned), previous)


def _is_secret(name: str) -> bool:
    """May the directive's value be a password? Then the slow log and MONITOR must not show it. An unknown name may be
    that of a password, misspelt."""
    row = find(name)
    return row.secret if row is not None else not is_known(name)


def _check_names(settings: Settings, names: list[str], *, local: bool) -> None:
    """Raise CommandError for the first name that is unknown, immutable, protected or given twice.

    `local` tells whether the client is on this machine; some directives may be set only from there.
    """
    seen: set[str] = set()
    for name in names:
        if not is_known(name):
            raise CommandError(f"ERR Unknown option or number of arguments for CONFIG SET - '{name[:128]}'")
        row = find(name)
        if row is not None and not row.mutable:
            raise _failed(name, "can't set immutable config")
        refusal = settings.why_not_settable(name, client_is_local=local)
        if refusal is not None:
            raise _failed(name, refusal)
        if _canonical_name(name) in seen:
            raise _failed(name, "duplicate parameter")
        seen.add(_canonical_name(name))


def _parsed(settings: Settings, name: str, text: bytes) -> Any:
    """The value that a text means for a directive. Raises CommandError with the reason when it means none."""
    try:
        return settings.parse(name, text)
    except ConfigError as error:
        raise _failed(name, str(error)) from None


def _value_of(settings: Settings, name: str) -> object:
    """The directive's present value, in the form in which it can be assigned again when a change must be undone."""
    row = find(name)
    return settings.get(name) or b"" if row is None else settings.value_of(row)


def _canonical_name(name: str) -> str:
    """The name of the directive's row, which may be known under older names too; in lower case."""
    row = find(name)
    return name.lower() if row is None else row.name


def _failed(name: str, reason: str) -> CommandError:
    """The error for a CONFIG SET that was refused because of one directive."""
    return CommandError(f"ERR CONFIG SET failed (possibly related to argument '{name}') - {reason}")


@command("CONFIG|REWRITE", arity=2, flags=_FLAGS, group="server", since="2.8.0")
def config_rewrite(call: Call) -> RewriteConfig:
    """Write the directives in force to the configuration file"""
    if not call.node.process.config_file:
        raise CommandError("ERR The server is running without a config file")
    return RewriteConfig()


@command("CONFIG|RESETSTAT", arity=2, flags=_FLAGS, group="server", since="2.0.0")
def config_resetstat(call: Call) -> Simple:
    """Begin the counters of INFO anew"""
    node = call.node
    node.stats.reset()
    node.replication.roster.counters.reset()
    node.acl_log.reset_counters()
    keyspace = call.keyspace
    keyspace.hits = keyspace.misses = 0
    keyspace.disposal.freed = 0
    keyspace.expired_keys_count = keyspace.expired_fields_count = 0
    return OK


@command("CONFIG|HELP", arity=2, flags=LOADING | STALE, group="server", since="5.0.0")
def config_help(call: Call) -> list[Simple]:
    """Show what CONFIG can do"""
    return help_reply(
        "CONFIG",
        "GET <pattern>",
        "    Return parameters matching the glob-like <pattern> and their values.",
        "SET <directive> <value>",
        "    Set the configuration <directive> to <value>.",
        "RESETSTAT",
        "    Reset statistics reported by the INFO command.",
        "REWRITE",
        "    Rewrite the configuration file.",
    )
