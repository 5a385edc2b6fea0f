"""The pages of the site: all of docs/, the reference, and links that lead somewhere."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from manual.site import ROOT, pages, pictures, relinked, write

PLACES = {"README.md": "index.md", "docs/tls.md": "tls.md", "docs/decisions/README.md": "decisions/README.md"}


def test_links_follow_their_pages() -> None:
    assert relinked("see [TLS](docs/tls.md#keys).", "README.md", PLACES) == "see [TLS](tls.md#keys)."
    assert relinked("[why](decisions/)", "docs/tls.md", PLACES) == "[why](decisions/README.md)"
    assert relinked("[up](../tls.md)", "docs/decisions/README.md", PLACES) == "[up](../tls.md)"


def test_what_is_no_page_is_named() -> None:
    assert relinked("[the unit](../conf/pyrepl.service)", "docs/tls.md", PLACES) == "the unit (`conf/pyrepl.service`)"
    assert relinked("[x](https://redis.io) [y](#z)", "docs/tls.md", PLACES) == "[x](https://redis.io) [y](#z)"


def test_every_link_leads_to_a_page() -> None:
    found = pages()
    there = {*found, *(f"images/{path.name}" for path in pictures())}
    for name, text in found.items():
        for target in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", re.sub(r"```.*?```", "", text, flags=re.DOTALL)):
            assert posixpath.normpath(posixpath.join(posixpath.dirname(name), target)) in there, (name, target)


def test_all_of_docs_is_there_and_in_the_navigation() -> None:
    found = pages()
    assert {str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")} <= found.keys()
    navigation = re.findall(r"[\w./-]+\.md", (ROOT / "mkdocs.yml").read_text().partition("\nnav:")[2])
    assert sorted(navigation) == sorted(found)


def test_pages_are_written(tmp_path: Path) -> None:
    write(tmp_path)
    assert (tmp_path / "decisions" / "fork.md").exists() and (tmp_path / "commands.md").read_text().startswith("# ")
    assert "`SETBIT key offset value`" in (tmp_path / "commands.md").read_text()
    assert "word-break" in (tmp_path / "style.css").read_text()
    assert (tmp_path / "images" / "status.svg").read_bytes() == pictures()[0].read_bytes()
