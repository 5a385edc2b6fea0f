"""Places where reading may begin."""

from __future__ import annotations

from pyrepl.changes.checkpoints import SPACING_BYTES, Checkpoints


def test_the_last_place_at_or_before_a_token() -> None:
    places = Checkpoints()
    places.note(100, 0)
    places.note(300, 2)
    places.note(200, 1)
    assert [places.before(token) for token in (99, 100, 250, 300, 9999)] == [
        None, (100, 0), (200, 1), (300, 2), (300, 2),
    ]  # fmt: skip


def test_a_place_is_due_only_far_from_the_one_before() -> None:
    places = Checkpoints()
    assert places.is_due(0)
    places.note(0, 0)
    assert not places.is_due(SPACING_BYTES - 1)
    assert places.is_due(SPACING_BYTES)
    places.note(10 * SPACING_BYTES, 0)
    assert places.is_due(5 * SPACING_BYTES), "a gap may be filled later"


def test_places_go_with_their_bytes() -> None:
    places = Checkpoints()
    for cut in (0, 100, 200):
        places.note(cut, 3)
    places.forget_before(100)
    assert (places.oldest, len(places)) == (100, 2)
    places.forget_before(1000)
    assert (places.oldest, len(places), places.before(5000)) == (None, 0, None)
    places.note(2000, 1)
    places.clear()
    assert places.oldest is None and places.is_due(0)


def test_noting_twice_changes_nothing() -> None:
    places = Checkpoints()
    places.note(5, 1)
    places.note(5, 2)
    assert places.before(5) == (5, 1)
