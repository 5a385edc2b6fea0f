"""The crash matrix: a node is killed (SIGKILL) before each single step it takes on files, and started again.

stops.py kills, crash_stories.py tells what is done meanwhile. After each death:

- the node starts, and its data is that of the first so many writes: no fewer than were promised to be on disk, none
  of them in part, and for a snapshot one of the two it may hold;
- its place in the stream is exactly that data's, and a replica that holds no more than the file is continued;
- no file is left that nobody will ever name again;
- what is written then is there after yet another SIGKILL (asked at every fourth step).

CI dies at a few steps of each story, `make matrix` at all of them, with each appendfsync, and of the child alone too.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.fault.crash_stories import MOST, STORIES, Ledger, Run, Story, digests_in
from tests.fault.processes import left_behind
from tests.fault.stops import Stop
from tests.peers import compare
from tests.peers.kinds import REAL
from tests.peers.lab import Lab, LabError, Node, wait_until

SECOND_CRASH_EVERY = 4
FSYNCS = ("always", "everysec", "no")
BY_NAME = {story.name: story for story in STORIES}
WITH_AOF = [story.name for story in STORIES if (story.afterwards or story.directives).get("appendonly")]


@pytest.fixture(scope="module")
def digests(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The digest after so many writes."""
    return digests_in(tmp_path_factory.mktemp("digests"))


class Matrix:
    """One story under one appendfsync."""

    def __init__(self, lab: Lab, story: Story, fsync: str, digests: list[str]) -> None:
        self.lab = lab
        self.story = story
        self.digests = digests
        policy = {"appendfsync": fsync} if story.name in WITH_AOF else {}
        self.directives = {**story.directives, **policy}
        self.afterwards = {**(story.directives if story.afterwards is None else story.afterwards), **policy}
        self.template = self._new_run(lab.folder / "before", Ledger())
        self.template.follows = story.follows and story.from_the_start
        story.before(self.template)
        self.template.hang_up()
        if self.template.follower is not None:
            self.template.follower.end()
        self.master = self._master() if story.replicates else None
        self.count = 0

    def _master(self) -> Node:
        node = self.lab.start("pyrepl")
        Run(self.lab, node.folder, {}, Ledger(), node).write(40)
        return node

    def _new_run(self, folder: Path, ledger: Ledger) -> Run:
        folder.mkdir(exist_ok=True)
        return Run(self.lab, folder, self.directives, ledger)

    def die_at(self, step: int, *, child_only: bool = False, reader: str = "") -> bool:
        """Tell the story with a death at this step, and judge what is left. False if the story has fewer steps.

        `reader` is a kind of real server that has to start from it too.
        """
        self.count += 1
        name = f"{self.count}-{self.story.name}-{step}"
        folder = self.lab.folder / name
        shutil.copytree(self.template.folder, folder)
        stop = Stop(self.lab.folder / f"{name}.stop")
        run = self._new_run(folder, self.template.ledger.copy())
        run.master = self.master
        run.follower, run.writes_before_follower = self.template.follower, self.template.writes_before_follower
        try:
            self._tell(run, stop, step, child_only)
            if reader:
                self._judge_by(reader, run)
            self._judge(run, twice=step % SECOND_CRASH_EVERY == 0)
        except Exception as error:
            last = stop.trace[-1] if stop.trace else "nothing"
            raise AssertionError(f"{self.story.name}, step {step} ({last}) of {stop.steps}: {error}") from error
        self.steps = stop.steps
        shutil.rmtree(folder)
        return stop.steps >= step

    def _tell(self, run: Run, stop: Stop, step: int, child_only: bool) -> None:
        """The story, until its end or the node's."""
        story = self.story
        if story.from_the_start:
            stop.arm(step, child_only=child_only)
        run.node = self.lab.launch("pyrepl", directives=self.directives, folder=run.folder, program=stop.program())
        with suppress(ConnectionError, LabError, TimeoutError):
            run.node.wait_ready()
            run.node.wait_loaded()
            if story.follows and not story.from_the_start:
                run.follow()
            if not story.from_the_start:
                stop.arm(step, child_only=child_only)
            story.act(run)
        if run.node.alive() and 0 < step <= stop.steps and not child_only:
            wait_until("the killed node has ended", lambda: run.node is None or not run.node.alive())
        if stop.steps == 0 or step > stop.steps:
            assert story.name == "shutdown" or run.node.alive(), run.node.tail()
        run.hang_up()
        node = run.node
        if node.alive():
            node.kill()
        # A child dies with the node, but not at once on a busy machine, and what it writes is its own until then.
        wait_until("its children have ended", lambda: left_behind(node) == [])
        if run.follower is not None:
            run.follower.end()

    def _judge(self, run: Run, *, twice: bool) -> None:
        """Start it again, and see what there is; `twice`: write, kill it, and start it once more."""
        node = self.lab.start("pyrepl", directives=self.afterwards, folder=run.folder)
        node.wait_loaded()
        number = self._judge_data(node, run.ledger)
        if run.follower is not None:
            self._judge_place(node, run, number)
        with suppress(LabError):
            # The replica that asked may just make it write its place under a new name.
            wait_until("nothing is left", lambda: leftovers(node) == [], 15)
        assert leftovers(node) == []
        if run.master is not None:
            node.call("REPLICAOF", "127.0.0.1", run.master.port)
            node.wait_link_up(30)
            compare.settle(run.master, node)
            assert compare.digest(node) == compare.digest(run.master)
        elif "appendonly" in self.afterwards and twice:
            node.call("SET", "written", "afterwards")
            if self.directives.get("appendfsync") == "everysec":
                node.call("WAITAOF", 1, 0, 0)
            node.kill()
            node = self.lab.start("pyrepl", directives=self.afterwards, folder=run.folder)
            node.wait_loaded()
            assert node.call("GET", "written") == b"afterwards"
            assert node.call("DEL", "written") == 1
            assert compare.digest(node) == self.digests[number]
        node.kill()

    def _judge_by(self, reader: str, run: Run) -> None:
        """A real server starts from a copy of what is left, and has the same."""
        copy = run.folder.with_name(f"{run.folder.name}-{reader}")
        shutil.copytree(run.folder, copy)
        node = self.lab.start(reader, directives={"appendonly": "yes"}, folder=copy)
        node.wait_loaded()
        self._judge_data(node, run.ledger)
        node.kill()
        shutil.rmtree(copy)

    def _judge_data(self, node: Node, ledger: Ledger) -> int:
        """How many writes it holds."""
        found = compare.digest(node)
        assert found in self.digests, f"the data is that of no number of writes; sent were {ledger.sent}"
        number = self.digests.index(found)
        assert ledger.promised <= number <= ledger.sent, f"{number} writes are there; {ledger}"
        assert ledger.legal is None or number in ledger.legal, f"{number} writes are there; {ledger}"
        return number

    def _judge_place(self, node: Node, run: Run, number: int) -> None:
        """The data is that of its place in the stream, and the replica is continued if it holds no more."""
        follower = run.follower
        assert follower is not None
        info = node.info("replication")
        if self.story.from_the_start and run.ledger.sent > self.template.ledger.sent:
            # A second id has come to an end with that node, and the replica was away all the time.
            return
        assert info["master_replid2"] == follower.replid
        cut = int(info["second_repl_offset"]) - 1
        verdict = follower.asks_again(node)
        if follower.held > cut:
            assert self.directives["appendfsync"] == "everysec", "the replica had what the file has not"
            assert verdict.startswith("FULLRESYNC")
        else:
            assert verdict.startswith("CONTINUE"), f"{verdict}: it holds {follower.held}, the file {cut}"
        since = number - run.writes_before_follower
        if cut <= follower.held:
            assert since == follower.units_up_to(cut)
        else:
            assert since >= follower.units_up_to(follower.held)


def leftovers(node: Node) -> list[str]:
    """Files that nobody names."""
    folder = node.folder / "appendonlydir"
    manifest = folder / "appendonly.aof.manifest"
    named = {manifest.name}
    if manifest.exists():
        named |= set(re.findall(r"^file (\S+) ", manifest.read_text(), re.MULTILINE))
    kept = {"dump.rdb", "node.conf", "appendonlydir"}
    found = [path.name for path in node.folder.iterdir() if path.name not in kept]
    return sorted(found + [path.name for path in folder.glob("*") if path.name not in named])


@pytest.fixture
def matrix(lab: Lab, request: pytest.FixtureRequest, digests: list[str]) -> Iterator[Matrix]:
    name, fsync = request.param
    yield Matrix(lab, BY_NAME[name], fsync, digests)


QUICK = [(name, "always") for name in ("save", "bgsave", "append", "rewrite", "start-torn", "start-old-file")]
ALL = [(story.name, fsync) for story in STORIES for fsync in (FSYNCS if story.name in WITH_AOF else FSYNCS[:1])]
CHILDREN = [(name, "everysec") for name in ("bgsave", "rewrite", "switch-on")]


@pytest.mark.parametrize("matrix", QUICK, indirect=True, ids=lambda param: param[0])
def test_killed_at_some_steps(matrix: Matrix) -> None:
    assert not matrix.die_at(MOST * 100)
    steps = matrix.steps
    for third in (1, 2):
        assert matrix.die_at(max(1, steps * third // 3))


@pytest.mark.matrix
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("matrix", ALL, indirect=True, ids=lambda param: "-".join(param))
def test_killed_at_every_step(matrix: Matrix) -> None:
    step = 1
    while matrix.die_at(step):
        step += 1
    assert step > 3, "the story has hardly any steps: is nothing counted?"


@pytest.mark.matrix
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("matrix", CHILDREN, indirect=True, ids=lambda param: param[0])
def test_the_child_killed_at_every_step(matrix: Matrix) -> None:
    step = 1
    while matrix.die_at(step, child_only=True):
        step += 1
    assert step > 3, "the child has hardly any steps: is nothing counted?"


@pytest.mark.matrix
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("reader", REAL)
@pytest.mark.parametrize("matrix", [("rewrite", "always"), ("append", "no")], indirect=True, ids=lambda param: param[0])
def test_real_servers_start_from_what_a_crash_leaves(matrix: Matrix, reader: str) -> None:
    """At every third step, from another one for each kind."""
    step = 1 + REAL.index(reader)
    while matrix.die_at(step, reader=reader):
        step += 3
    assert step > 10
