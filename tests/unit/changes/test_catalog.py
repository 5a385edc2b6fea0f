"""What a node offers has the shape that a subscriber's connection asks for; and so does what the tests offer it."""

from __future__ import annotations

from pyrepl.changes.catalog import Catalog
from pyrepl.daemon.changes.hub import StreamHub
from tests.unit.changes.rig import FakeCatalog


def test_who_answers() -> None:
    asked = {name for name in vars(Catalog) if not name.startswith("_")} | set(Catalog.__annotations__)
    made = FakeCatalog(keys=1)
    assert asked == {"name", "replid", "streams", "head", "writers", "token_at", "at", "why_not"}
    for name in asked:
        assert hasattr(made, name) and (hasattr(StreamHub, name) or name == "name"), name
