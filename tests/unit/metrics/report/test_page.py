"""The page: whole, free of the network, and safe whatever the logs say."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from pyrepl.metrics.report.model import Row
from pyrepl.metrics.report.page import drawings, page, tiles
from tests.unit.metrics.report.sample import empty, report

BUNDLE = "window.vegaEmbed = function () {};"


class Outline(HTMLParser):
    """The ids, headings and loaded addresses of a page; fails on elements that are not closed."""

    VOID = frozenset({"meta", "br", "link", "img"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.headings: list[str] = []
        self.loads: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name in ("src", "href", "data"):
                self.loads.append(value or "")
        if tag not in self.VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] == "h2":
            self.headings.append(data)


def test_has_a_place_for_every_chart_and_loads_nothing() -> None:
    text = page(report(), BUNDLE)
    outline = Outline(text)
    several = {f"{name}-{place}" for name in ("lag_bytes", "lag_s", "output_bytes") for place in range(3)}
    assert {name for name in outline.ids if name.startswith("chart-")} == {
        f"chart-{name}" for name in {*drawings(report()), *several}
    }
    assert outline.loads == []
    assert not re.search(r"@import|url\(", text)
    assert outline.headings[:4] == ["Broken now", "What to do", "Timeline", "Where the time went"]


def test_of_nothing() -> None:
    outline = Outline(page(empty(), BUNDLE))
    assert outline.headings == ["Broken now", "Ask more"] and outline.ids == ["specs"]


def test_what_logs_say_stays_text() -> None:
    evil = "</script><script>alert(1)</script><!--"
    rows: list[Row] = [{"severity": "act", "text": evil, "directive": evil, "value": evil}]
    cuts: list[Row] = [{"node": evil, "replica": evil, "at_us": 1, "cause": evil}]
    causes: list[Row] = [{"cause": evil, "count": 1}]
    text = page(report(advice=rows, cuts=cuts, cut_causes=causes), BUNDLE)
    assert "<script>alert" not in text
    assert text.count("</script>") == 3
    Outline(text)


def test_the_library_cannot_end_its_own_element() -> None:
    assert page(empty(), "var a = '</script>';").count("</script>") == 3


def test_tiles_tell_how_grave_it_is() -> None:
    tones = {tile.label: tile.tone for tile in tiles(report())}
    assert tones["full that failed"] == "bad" and tones["lines that are no log lines"] == "warn"
    assert tones["of returns were partial"] == "warn" and tones["in step, the worst replica"] == "bad"
    assert tones["dumps taken by tools"] == "", "what tools fetch is no trouble"
    assert {tile.label: tile.tone for tile in tiles(empty())}["full that failed"] == "good"
    assert len(tiles(empty())) == 7


def test_nothing_that_is_broken_is_not_said_of_replicas_that_were_out_when_the_logs_ended() -> None:
    rows: list[Row] = [{"node": "m", "out_now": 2, "out_s": 0.001}]
    assert "where 2 replicas had just lost the master" in page(report(advice=[], costs=rows), BUNDLE)
    assert "every replica had its master" in page(report(advice=[], costs=[]), BUNDLE)


def test_says_where_it_comes_from() -> None:
    text = page(report(), BUNDLE)
    assert "2026-11-21 00:00 to 23:58 UTC" in text
    assert "Made 2026-11-22 00:00:00 UTC by pyrepl 0.1.0 (start 5.1 s, read 7.8 s, analyse 3.0 s)" in text
