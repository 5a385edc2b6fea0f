"""The command line's page and the man pages have each command, option, example and exit status."""

from __future__ import annotations

import re

from cli.pages import PAGES
from manual.command_line import ENVIRONMENT, every_command, man_pages, markdown, options

MACROS = {".TH", ".SH", ".PP", ".TP", ".B", ".nf", ".fi"}


def test_every_command_in_the_order_of_its_row() -> None:
    paths = [context.command_path.partition(" ")[2] for context, _ in every_command()]
    assert paths == list(PAGES)


def test_the_page() -> None:
    page = markdown()
    for path, row in PAGES.items():
        assert f"\n## {f'pyrepl {path}'.strip()}\n" in page
        assert [line for line in row.examples if line not in page] == []
        assert [when for when in row.exits.values() if when not in page] == []
    assert "| `pyrepl tail` | 3 | the changes after the token cannot be had any more |" in page
    assert [name for name, _ in ENVIRONMENT if f"| `{name}` |" not in page] == []


def test_man_pages() -> None:
    pages = man_pages()
    assert set(pages) == {f"{f'pyrepl {path}'.strip().replace(' ', '-')}.1" for path in PAGES}
    for context, command in every_command():
        page = pages[f"{context.command_path.replace(' ', '-')}.1"]
        assert page.startswith(".TH PYREPL")
        requests = {line.split()[0] for line in page.splitlines() if line.startswith(".")}
        assert requests <= MACROS
        assert page.count(".TP") >= len(options(context, command))


def test_nothing_in_a_man_page_is_taken_for_an_escape() -> None:
    for page in man_pages().values():
        assert set(re.findall(r"\\(\(..|.)", page)) <= {"e", "-", "&", "(aq", "(ga"}


def test_the_option_for_help_is_named_as_it_is_taken() -> None:
    assert all(("-h, --help", "Show this message and exit.") in options(*each) for each in every_command())
