"""Small collections changed while they stay packed: the compiled form of it, or the plain one, as the package runs.

The two give the same results, byte for byte. What each function does is written in `compiled.edits`.
"""

from __future__ import annotations

from pyrepl.rdb.compiled.edits import COMPILED

if COMPILED:
    from pyrepl.rdb.compiled.edits import (
        NO,
        element_count,
        elements,
        field_value,
        member_score,
        packed_hash,
        packed_list,
        packed_scores,
        packed_zset,
        pop,
        push,
        set_fields,
        set_score,
    )
else:
    from pyrepl.rdb.plain_edits import (
        NO,
        element_count,
        elements,
        field_value,
        member_score,
        packed_hash,
        packed_list,
        packed_scores,
        packed_zset,
        pop,
        push,
        set_fields,
        set_score,
    )

__all__ = [
    "NO",
    "element_count",
    "elements",
    "field_value",
    "member_score",
    "packed_hash",
    "packed_list",
    "packed_scores",
    "packed_zset",
    "pop",
    "push",
    "set_fields",
    "set_score",
]
