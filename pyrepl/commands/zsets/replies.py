"""The shape of replies of members with scores: a flat array in RESP2, pairs in RESP3 (Redis 6.2 and later)."""

from __future__ import annotations

from collections.abc import Sequence

from pyrepl.commands.engine.call import Call
from pyrepl.resp.doubles import format_double
from pyrepl.resp.reply import Reply


def scored_reply(call: Call, entries: Sequence[tuple[float, bytes]]) -> Reply:
    """The reply for these (score, member) pairs, in the shape of the client's protocol."""
    if call.client.proto > 2:
        return [(member, score) for score, member in entries]
    return flat_scores(entries)


def flat_scores(entries: Sequence[tuple[float, bytes]]) -> list[bytes]:
    """The (score, member) pairs as member, score, member, score, ...; each score as text."""
    flat: list[bytes] = []
    for score, member in entries:
        flat.append(member)
        flat.append(format_double(score))
    return flat
