"""HOTKEYS: which keys cost most processor time, and most bytes on the wire (Redis 8.6). `node.hotkeys` counts.

Three things differ from Redis. Amounts are sums, where Redis estimates them by a sketch. Of a transaction, the time of
each command counts with its keys, but no bytes; a script counts with its own keys alone. The end of DURATION is exact.
"""

from __future__ import annotations

from typing import Final

from pyrepl.commands.describe.help import help_reply
from pyrepl.commands.engine.arguments import ranged_integer_argument, syntax_error
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.table import ADMIN, LOADING, NOSCRIPT, STALE, command, container
from pyrepl.errors import CommandError
from pyrepl.node.hotkeys import HotKeys, Plan, TopKeys
from pyrepl.resp.numbers import INT64_MAX, parse_integer
from pyrepl.resp.reply import OK, Reply, Simple

_FLAGS: Final = ADMIN | NOSCRIPT
_METRICS: Final = (b"CPU", b"NET")
_DEFAULT_COUNT: Final = 10
_MAX_COUNT: Final = 64
_MAX_DURATION_S: Final = 1_000_000
_ALL_SLOTS: Final = (0, 16383)

hotkeys_ = container("HOTKEYS", group="server", since="8.6.0", summary="A container for commands about hot keys")


@command("HOTKEYS|START", arity=-2, flags=_FLAGS, group="server", since="8.6.0")
def hotkeys_start(call: Call, *words: bytes) -> Simple:
    """Begin to note which keys cost most"""
    plan = _plan(words)
    if not call.node.begin_hotkeys(plan, call.now_ms, call.random.below):
        raise CommandError("ERR hotkey tracking session already in progress")
    return OK


def _plan(words: tuple[bytes, ...]) -> Plan:
    """The options of START. Raises CommandError with Redis's text."""
    metrics: list[bytes] = []
    count, duration_s, sample = _DEFAULT_COUNT, 0, 1
    at = 0
    while at < len(words):
        option, argument = words[at].upper(), words[at + 1] if at + 1 < len(words) else None
        if argument is None:
            break
        at += 2
        if option == b"METRICS":
            metrics = _metrics(argument, words[at:])
            at += len(metrics)
        elif option == b"COUNT":
            count = ranged_integer_argument(argument, 1, _MAX_COUNT, "ERR COUNT must be between 1 and 64")
        elif option == b"DURATION":
            complaint = "ERR DURATION must be between 1 and 1000000"
            duration_s = ranged_integer_argument(argument, 1, _MAX_DURATION_S, complaint)
        elif option == b"SAMPLE":
            sample = ranged_integer_argument(argument, 1, INT64_MAX, "ERR SAMPLE ratio must be positive")
        elif option == b"SLOTS":
            raise CommandError("ERR SLOTS parameter cannot be used in non-cluster mode")
        else:
            raise syntax_error()
    if not metrics:
        raise CommandError("ERR METRICS parameter is required")
    if at < len(words):
        raise syntax_error()
    return Plan(b"CPU" in metrics, b"NET" in metrics, count, duration_s, sample)


def _metrics(count_text: bytes, words: tuple[bytes, ...]) -> list[bytes]:
    """The names behind METRICS and their number. Raises CommandError."""
    count = parse_integer(count_text)
    if count is None or not 0 < count <= len(_METRICS):
        raise CommandError("ERR METRICS count must be > 0 and <= 2")
    found: list[bytes] = []
    for word in map(bytes.upper, words[:count]):
        if word not in _METRICS:
            break
        if word in found:
            raise CommandError(f"ERR METRICS {word.decode()} defined more than once!")
        found.append(word)
    if words and not found:
        raise CommandError("ERR METRICS no valid metrics passed. Supported: CPU|NET")
    if len(found) != count:
        raise CommandError("ERR METRICS count does not match number of metric types provided")
    return found


@command("HOTKEYS|STOP", arity=2, flags=_FLAGS, group="server", since="8.6.0")
def hotkeys_stop(call: Call) -> Simple | None:
    """End what START began; GET still answers what was found"""
    return OK if call.node.end_hotkeys(call.now_ms) else None


@command("HOTKEYS|RESET", arity=2, flags=_FLAGS, group="server", since="8.6.0")
def hotkeys_reset(call: Call) -> Simple:
    """Forget what was found"""
    hotkeys = call.node.hotkeys
    if hotkeys is not None and not hotkeys.has_ended(call.now_ms):
        raise CommandError("ERR hotkey tracking session in progress, stop tracking first")
    call.node.forget_hotkeys()
    return OK


@command("HOTKEYS|GET", arity=2, flags=_FLAGS, group="server", since="8.6.0")
def hotkeys_get(call: Call) -> list[Reply] | None:
    """Answer which keys cost most"""
    hotkeys = call.node.hotkeys
    return None if hotkeys is None else [_shown(call, hotkeys)]


def _shown(call: Call, hotkeys: HotKeys) -> Reply:
    plan = hotkeys.plan
    shown: dict[Reply, Reply] = {
        b"tracking-active": int(not hotkeys.has_ended(call.now_ms)),
        b"sample-ratio": plan.sample,
        b"selected-slots": [_ALL_SLOTS],
        b"all-commands-all-slots-us": int(hotkeys.all_us),
        b"net-bytes-all-commands-all-slots": hotkeys.all_bytes,
        b"collection-start-time-unix-ms": hotkeys.started_ms,
        b"collection-duration-ms": hotkeys.duration_ms(call.now_ms),
    }
    if plan.cpu:
        process, start = call.node.process, hotkeys.cpu_at_start
        shown[b"total-cpu-time-user-ms"] = int((process.cpu_user_s - start.user_s) * 1000)
        shown[b"total-cpu-time-sys-ms"] = int((process.cpu_sys_s - start.system_s) * 1000)
    if plan.net:
        shown[b"total-net-bytes"] = hotkeys.key_bytes
    if plan.cpu:
        shown[b"by-cpu-time-us"] = _flat(hotkeys.by_cpu, plan.top)
    if plan.net:
        shown[b"by-net-bytes"] = _flat(hotkeys.by_net, plan.top)
    return shown


def _flat(keys: TopKeys, count: int) -> list[Reply]:
    return [part for pair in keys.first(count) for part in pair]


@command("HOTKEYS|HELP", arity=2, flags=LOADING | STALE, group="server", since="8.6.1")
def hotkeys_help(call: Call) -> list[Simple]:
    """Show what HOTKEYS can do"""
    return help_reply(
        "HOTKEYS",
        "START <METRICS count [CPU] [NET]> [COUNT k] [DURATION seconds] [SAMPLE ratio]",
        "    Begin to note which keys cost most: CPU, processor time; NET, bytes on the wire.",
        "    COUNT is how many keys GET shows (default: 10), DURATION ends it by itself,",
        "    SAMPLE looks at one key in <ratio>.",
        "STOP",
        "    End what START began; GET still answers what was found.",
        "GET",
        "    Answer which keys cost most.",
        "RESET",
        "    Forget what was found.",
    )
