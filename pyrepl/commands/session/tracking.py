"""CLIENT TRACKING, CACHING, TRACKINGINFO and GETREDIR: client-side caching, as a client asks for it.

What clients are told, and when, is `pyrepl.node.tracking`. Texts are Redis's (8.2).
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.commands.describe.command_docs import as_set
from pyrepl.commands.engine.arguments import integer_argument, syntax_error
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.table import LOADING, NOSCRIPT, STALE, command
from pyrepl.errors import CommandError
from pyrepl.node.tracking_mode import TrackingMode
from pyrepl.resp.reply import OK, Reply, Simple
from pyrepl.words import to_text

_ASKING: Final = NOSCRIPT | LOADING | STALE
_SWITCH: Final = "before disabling tracking for this client, and then re-enabling it with a different mode."


@final
class _Options:
    """What stands behind CLIENT TRACKING ON|OFF."""

    __slots__ = ("_call", "flags", "prefixes", "redirect")

    def __init__(self, call: Call, words: tuple[bytes, ...]) -> None:
        """Raises CommandError."""
        self._call = call
        self.flags: set[bytes] = set()
        self.prefixes: list[bytes] = []
        self.redirect = 0
        at = 0
        while at < len(words):
            word, more = words[at].upper(), at + 1 < len(words)
            if word == b"REDIRECT" and more:
                at += 1
                self._take_redirect(words[at])
            elif word == b"PREFIX" and more:
                at += 1
                self.prefixes.append(words[at])
            elif word in (b"BCAST", b"OPTIN", b"OPTOUT", b"NOLOOP"):
                self.flags.add(word)
            else:
                raise syntax_error()
            at += 1

    def _take_redirect(self, word: bytes) -> None:
        if self.redirect:
            raise CommandError("ERR A client can only redirect to a single other client")
        self.redirect = integer_argument(word)
        if self.redirect not in self._call.node.clients:
            raise CommandError("ERR The client ID you want redirect to does not exist")

    def mode(self) -> TrackingMode:
        """The mode that is asked for. Raises CommandError when its parts, or the present mode, do not go together."""
        flags, before = self.flags, self._call.client.tracking
        if self.prefixes and b"BCAST" not in flags:
            raise CommandError("ERR PREFIX option requires BCAST mode to be enabled")
        if before is not None and before.bcast != (b"BCAST" in flags):
            raise CommandError(f"ERR You can't switch BCAST mode on/off {_SWITCH}")
        if b"BCAST" in flags and flags & {b"OPTIN", b"OPTOUT"}:
            raise CommandError("ERR OPTIN and OPTOUT are not compatible with BCAST")
        if flags >= {b"OPTIN", b"OPTOUT"}:
            raise CommandError("ERR You can't specify both OPTIN mode and OPTOUT mode")
        if before is not None and ((b"OPTIN" in flags and before.optout) or (b"OPTOUT" in flags and before.optin)):
            raise CommandError(f"ERR You can't switch OPTIN/OPTOUT mode {_SWITCH}")
        if b"BCAST" in flags:
            self._check_prefixes(before)
        return TrackingMode(
            redirect=self.redirect,
            bcast=b"BCAST" in flags,
            optin=b"OPTIN" in flags,
            optout=b"OPTOUT" in flags,
            noloop=b"NOLOOP" in flags,
        )

    def _check_prefixes(self, before: TrackingMode | None) -> None:
        for number, prefix in enumerate(self.prefixes):
            for other in sorted(before.prefixes) if before is not None else ():
                if _overlap(prefix, other):
                    raise _overlapping(prefix, "an existing", other)
            for other in self.prefixes[number + 1 :]:
                if _overlap(prefix, other):
                    raise _overlapping(prefix, "another provided", other)


def _overlap(one: bytes, two: bytes) -> bool:
    return one.startswith(two) or two.startswith(one)


def _overlapping(prefix: bytes, which: str, other: bytes) -> CommandError:
    shown, shown_other = (to_text(word) for word in (prefix, other))
    return CommandError(
        f"ERR Prefix '{shown}' overlaps with {which} prefix '{shown_other}'. Prefixes for a single client must not "
        "overlap."
    )


@command("CLIENT|TRACKING", arity=-3, flags=_ASKING, group="connection", since="6.0.0")
def client_tracking(call: Call, status: bytes, *words: bytes) -> Simple:
    """Let the server tell this client which of the keys that it may keep have changed"""
    options = _Options(call, words)
    tracking = call.node.tracking
    if status.upper() == b"ON":
        mode = options.mode()
        tracking.begin(call.client, mode, (options.prefixes or [b""]) if mode.bcast else ())
    elif status.upper() == b"OFF":
        tracking.end(call.client)
    else:
        raise syntax_error()
    return OK


@command("CLIENT|CACHING", arity=3, flags=_ASKING, group="connection", since="6.0.0")
def client_caching(call: Call, answer: bytes) -> Simple:
    """Say whether the keys of the next command are tracked, in the modes OPTIN and OPTOUT"""
    mode = call.client.tracking
    if mode is None:
        raise CommandError(
            "ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode "
            "enabled"
        )
    word = answer.upper()
    if word not in (b"YES", b"NO"):
        raise syntax_error()
    if not (mode.optin if word == b"YES" else mode.optout):
        needed = "OPTIN" if word == b"YES" else "OPTOUT"
        raise CommandError(
            f"ERR CLIENT CACHING {word.decode()} is only valid when tracking is enabled in {needed} mode."
        )
    mode.caching = True
    return OK


@command("CLIENT|GETREDIR", arity=2, flags=_ASKING, group="connection", since="6.0.0")
def client_getredir(call: Call) -> int:
    """Answer which client is told in place of this one: 0 for none, -1 when tracking is off"""
    mode = call.client.tracking
    return -1 if mode is None else mode.redirect


@command("CLIENT|TRACKINGINFO", arity=2, flags=_ASKING, group="connection", since="6.2.0")
def client_trackinginfo(call: Call) -> dict[Reply, Reply]:
    """Describe this connection's tracking"""
    mode = call.client.tracking
    words = [b"off"] if mode is None else mode.words()
    prefixes: list[Reply] = [] if mode is None else list[Reply](sorted(mode.prefixes))
    flags = as_set(list(words), call.client.proto)
    return {b"flags": flags, b"redirect": -1 if mode is None else mode.redirect, b"prefixes": prefixes}
