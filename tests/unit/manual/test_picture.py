"""The picture shows what was printed, in its colours, and fetches nothing."""

from __future__ import annotations

import re

from manual.picture import picture
from manual.site import pictures


def test_what_is_printed_is_shown() -> None:
    drawn = picture("\x1b[31mbroken\x1b[0m link\n", "a title")
    assert drawn.startswith("<svg") and ">broken</text>" in drawn and "a&#160;title" in drawn.replace(" ", "&#160;")


def test_no_picture_fetches_anything() -> None:
    for text in (picture("x", "t"), *(path.read_text() for path in pictures())):
        assert not re.search(r"href=|src=|url\((?!#)|@import|@font-face", text)


def test_the_picture_on_the_first_page_is_one_of_a_session() -> None:
    (drawn,) = pictures()
    assert re.search(r"in&#160;sync:&#160;4&#160;nodes", drawn.read_text())
