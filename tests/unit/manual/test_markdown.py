"""Tables and code in Markdown."""

from __future__ import annotations

from manual.markdown import code, table


def test_a_table() -> None:
    assert table(("a", "b"), [("1", "x|y"), ("2", "two\nlines")]) == (
        "| a | b |\n| --- | --- |\n| 1 | x\\|y |\n| 2 | two lines |\n"
    )


def test_code() -> None:
    assert code("port") == "`port`" and code("") == ""
