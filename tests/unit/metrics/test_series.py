"""The samples of the real event logs, thinned for drawing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyrepl.metrics.results import SERIES


def test_the_largest_values_of_each_span(corpora: Mapping[str, Any]) -> None:
    tables = corpora["events"].tables
    made, samples = tables["series"], tables["samples"]
    assert made and all(list(row) == list(SERIES.names) for row in made)
    for node in {row["node"] for row in samples}:
        for column in ("lag_bytes", "output_bytes", "writes_per_s"):
            counted = [row for row in samples if column != "lag_bytes" or row["phase"] == "online"]
            taken = [row[column] for row in counted if row["node"] == node and row[column] is not None]
            drawn = [row[column] for row in made if row["node"] == node and row[column] is not None]
            assert max(drawn, default=None) == max(taken, default=None), f"{node} {column}"


def test_at_most_so_many_points_a_line(corpora: Mapping[str, Any]) -> None:
    lines: dict[tuple[str, str | None], list[int]] = {}
    for row in corpora["events"].tables["series"]:
        lines.setdefault((row["node"], row["replica"]), []).append(row["at_us"])
    assert max(map(len, lines.values())) <= 5
    assert all(at == sorted(set(at)) for at in lines.values())


def test_nodes_speak_of_themselves_and_of_their_replicas(corpora: Mapping[str, Any]) -> None:
    tables = corpora["events"].tables
    replicas = {row["replica"] for row in tables["series"]}
    assert None in replicas
    assert replicas & {row["node"] for row in tables["nodes"]}, "a replica is called by its node's name"


def test_a_replica_whose_log_is_text_is_called_as_in_the_tables(corpora: Mapping[str, Any]) -> None:
    """No sync is named by both ends then."""
    for master in ("redis7", "redis8", "valkey8"):
        rows, pairs = (corpora["events"].rows(table, f"pyrepl-to-{master}") for table in ("series", "availability"))
        assert {row["replica"] for row in rows} == {None, *(row["replica"] for row in pairs)}


def test_without_samples_there_is_nothing_to_draw(corpora: Mapping[str, Any]) -> None:
    assert corpora["text"].tables["samples"] == corpora["text"].tables["series"] == []
