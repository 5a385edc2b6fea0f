"""The functions that read and change small collections while they stay packed, in the form that the package runs in.

Where the modules are compiled they are those of `compiled.edits`, else those of `plain_edits`. The two give the same
results, byte for byte; the docstrings of `compiled.edits` say what each does. Whoever needs them imports this module.
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
