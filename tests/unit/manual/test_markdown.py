"""Tables and code in Markdown."""

from __future__ import annotations

from manual.markdown import code, of_site, table


def test_a_table() -> None:
    assert table(("a", "b"), [("1", "x|y"), ("2", "two\nlines")]) == (
        "| a | b |\n| --- | --- |\n| 1 | x\\|y |\n| 2 | two lines |\n"
    )


def test_code_in_a_table_ends_no_cell() -> None:
    assert table(("a", "b"), [("`x|y`", "z|`1|2`")]).endswith("| `x|y` | z\\|`1|2` |\n")
    assert of_site("| `x\\|y` | z\\|2 |") == "| `x|y` | z\\|2 |"


def test_code() -> None:
    assert code("port") == "`port`" and code("") == ""
