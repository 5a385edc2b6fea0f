"""Every kind of stream answers alike."""

from __future__ import annotations

from pyrepl.changes.recent_source import RecentSource
from pyrepl.changes.replicated_source import ReplicatedSource
from pyrepl.changes.source import Source


def test_the_kinds_have_all_of_it() -> None:
    wanted = {name for name in vars(Source) if not name.startswith("_")}
    for kind in (RecentSource, ReplicatedSource):
        assert wanted <= set(dir(kind)), kind
