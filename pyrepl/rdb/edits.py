"""The functions that read and change small collections while they stay packed, in the form that the package runs in.

Where the modules are compiled they are those of `compiled.edits`, else those of `plain_edits`. The two give the same
results, byte for byte; the docstrings of `compiled.edits` say what each does. Whoever needs them imports this module.
It has no list of their names: a test compares the names of the two forms.
"""

from __future__ import annotations

from pyrepl.rdb.compiled.edits import COMPILED

if COMPILED:
    from pyrepl.rdb.compiled.edits import *  # noqa: F403
else:
    from pyrepl.rdb.plain_edits import *  # noqa: F403
