"""Every transcript in this folder, replayed word for word.

    # text             a comment
    nodes ab           the members; `nodes abw w` makes w a witness; `nodes ab refuse`: who is apart gives out nothing
    shows SYNC         verbs that are shown as well
    @ 1.5              so many seconds pass
    ! cut a b          cut, link, crash, start, and hold or release what is said in one direction (`! hold c>b`)
    ! journal a 3      the journal of a keeps only so many ops of each node from now on
    ! dies b           b dies the next time between its store's works and the commit of its rows
    m1>a 1 LOCK ..     a mail process says a line
    a>b * TAKE ..      what nodes say, each behind what made them say it

The notation of the lines is in cluster.py. `pytest tests/scenario --rewrite` writes down what is said now.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scenario.mailbox.cluster import Cluster

FILES = sorted(Path(__file__).parent.glob("*.txt"))


def replayed(text: str) -> str:
    """The transcript with what nodes say now."""
    cluster, out = Cluster("a"), []
    for line in text.splitlines():
        first, *rest = line.split(" ")
        if first == "nodes":
            witnesses = "".join(word for word in rest[1:] if word != "refuse")
            cluster = Cluster(rest[0], witnesses, accept="refuse" not in rest)
        elif first == "shows":
            cluster.shows.update(rest)
        elif first == "@":
            cluster.run(float(rest[0]))
        elif first == "!":
            _happen(cluster, *rest)
        elif first.startswith("m") and ">" in first:
            cluster.say(line)
        elif not first.startswith("#") and line:
            continue
        out += cluster.said() if first.startswith("m") else [line, *cluster.said()]
    return "\n".join(out) + "\n"


def _happen(cluster: Cluster, what: str, *words: str) -> None:
    if what == "hold":
        cluster.held.add(words[0])
    elif what == "release":
        cluster.held.discard(words[0])
        cluster.settle()
    elif what == "cut":
        cluster.cut(*words)
    elif what == "link":
        cluster.link(*words)
    elif what == "journal":
        cluster.rows[words[0]].most_ops = int(words[1])
    elif what == "dies":
        cluster.dies.update(words)
    elif what == "crash":
        cluster.crash(*words)
    else:
        assert what == "start", f"! {what} is nothing that happens"
        cluster.start(*words)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_transcript(path: Path, request: pytest.FixtureRequest) -> None:
    text = path.read_text()
    if request.config.getoption("--rewrite", default=False):
        path.write_text(replayed(text))
    assert replayed(path.read_text()) == path.read_text()


def test_there_are_transcripts() -> None:
    assert len(FILES) >= 10
