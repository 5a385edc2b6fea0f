"""The shapes in which members go out with their scores: flat under RESP2, pairs under RESP3 (Redis 6.2 and later)."""

from __future__ import annotations

from collections.abc import Sequence

from pyrepl.commands.engine.call import Call
from pyrepl.resp.doubles import format_double
from pyrepl.resp.reply import Reply


def scored_reply(call: Call, entries: Sequence[tuple[float, bytes]]) -> Reply:
    """Members with scores, from (score, member)."""
    if call.client.proto > 2:
        return [(member, score) for score, member in entries]
    return flat_scores(entries)


def flat_scores(entries: Sequence[tuple[float, bytes]]) -> list[bytes]:
    """member, score, member, score, ... from (score, member)."""
    flat: list[bytes] = []
    for score, member in entries:
        flat.append(member)
        flat.append(format_double(score))
    return flat
