"""A subscriber's place as text, and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrepl.changes.place import NOW, Place
from pyrepl.changes.tokens import MAX_TOKEN

REPLID = "8371445ee67f9ab1c2d3e4f5061728394a5b6c7d"
TOKENS = st.integers(0, MAX_TOKEN)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("NOW", NOW),
        ("now", NOW),
        ("0", Place(0)),
        (" 5174\n", Place(5174)),
        (f"5174@{REPLID}", Place(5174, REPLID)),
        ('{"alice": 12, "bob": 9}', Place(writers={"alice": 12, "bob": 9})),
    ],
)
def test_parse(text: str, place: Place) -> None:
    assert Place.parse(text) == place


@pytest.mark.parametrize(
    "text",
    [
        *("", "-1", "+1", "1_0", "٣", "12 34", "5174@", "5174@a b", "9" * 24, "9" * 25, "[1]", "{", "{" * 100_000),
        *("{}x", '{"a": -1}', '{"a": true}', '{"a": "1"}'),
    ],
)
def test_what_is_no_place(text: str) -> None:
    with pytest.raises(ValueError, match="expected "):
        Place.parse(text)


@given(
    st.one_of(
        st.just(NOW),
        st.builds(Place, TOKENS, st.sampled_from(["", REPLID])),
        st.builds(lambda writers: Place(writers=writers), st.dictionaries(st.text(), TOKENS, min_size=1)),
    )
)
def test_text_and_back(place: Place) -> None:
    text = str(place)
    assert "\n" not in text
    assert Place.parse(text) == place


def test_now() -> None:
    assert NOW.is_now
    assert not Place(0).is_now
    assert not Place(writers={"a": 0}).is_now
