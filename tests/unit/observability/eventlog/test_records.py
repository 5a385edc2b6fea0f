"""The records of the event log: named apart, each explained."""

from __future__ import annotations

from pyrepl.observability.eventlog.records import RECORDS, Head, Sample


def test_names_are_distinct_and_head_fields_are_the_heads_own() -> None:
    assert len({record.event() for record in RECORDS}) == len(RECORDS) > 30
    for record in RECORDS:
        assert not record.FIELDS.keys() & {*Head.FIELDS, "event"}, record.__name__


def test_every_record_says_what_happened() -> None:
    assert [record.__name__ for record in RECORDS if not record.__doc__] == []


def test_types_are_read_from_the_annotations() -> None:
    assert Sample.FIELDS["rss_bytes"] == "long"
    assert Sample.FIELDS["writes_per_s"] == "double"
    assert Sample.FIELDS["link_up"] == "boolean"
    assert {"link_up", "link_idle_s"} == Sample.OPTIONAL
    assert Head.FIELDS["node"] == "string" and not Head.OPTIONAL
