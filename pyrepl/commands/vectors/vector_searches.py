"""VSIM: the elements of a vector set that are most similar to a vector. The search is exact, by `keyspace.vector_scan`.

Replies and texts are Redis 8.2's. Redis's own search goes along a graph and may miss elements, which its option TRUTH
prevents.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.table import FIRST_ARG, READONLY, command
from pyrepl.commands.vectors.arguments import Search, vector_argument
from pyrepl.keyspace import vector_verbs
from pyrepl.resp.reply import Reply

if TYPE_CHECKING:
    from pyrepl.keyspace.vector_scan import Near

_RESP3: Final = 3


@command("VSIM", arity=-4, flags=READONLY, keys=FIRST_ARG, group="module", since="8.0.0")
def vsim(call: Call, key: bytes, *words: bytes) -> Reply:
    """The elements that are most similar to a vector"""
    value = vector_verbs.read(call.db, key)
    if value is None:
        return []
    if words[0].upper() == b"ELE":
        floats, taken = vector_verbs.query_of_element(value, words[1]), 2
    else:
        floats, taken = vector_argument(words)
        floats = vector_verbs.query_of(value, floats)
    search = Search(words[taken:])
    if search.filter is None:
        found = vector_verbs.nearest(value, floats, search.count)
    else:
        found = vector_verbs.nearest_kept(value, floats, search.count, search.filter, search.effort)
    return _answer(search, found, call.client.proto)


def _answer(search: Search, found: Sequence[Near], proto: int) -> Reply:
    """An array of names; with scores or attributes a map in RESP3, and a flat array in RESP2."""
    near = [one for one in found if not one.distance / 2 > search.epsilon]
    if not search.with_scores and not search.with_attributes:
        return [one.node.name for one in near]
    flat: list[Reply] = []
    mapped: dict[Reply, Reply] = {}
    for one in near:
        about: list[Reply] = [vector_verbs.similarity(one.distance)] if search.with_scores else []
        if search.with_attributes:
            about.append(one.node.attributes)
        flat += (one.node.name, *about)
        mapped[one.node.name] = about if len(about) > 1 else about[0]
    return mapped if proto >= _RESP3 else flat
