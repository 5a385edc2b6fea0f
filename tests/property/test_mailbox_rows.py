"""The rows in SQLite against a plain model, under any sequence of puts, commits, orderly ends and crashes.

The model: dictionaries, copied at each commit; a crash takes the copy back.
"""

from __future__ import annotations

import copy
import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from pyrepl.daemon.mailbox.columns import op_column
from pyrepl.daemon.mailbox.journal import ROW_BYTES
from pyrepl.daemon.mailbox.sqlite_rows import SqliteRows
from pyrepl.mailbox.rows import UNPLACED, BoxRow, ClusterRow, GoneRow, MessageRow
from pyrepl.mailbox.verbs import Op, Store, Unsubscribe
from pyrepl.mailbox.words import Box, Dot, Register, Stamp, Token

JOURNAL_BYTES = 1200
BOXES = st.sampled_from(["0" * 32, "1" * 32, "f" * 32])
GUIDS = st.sampled_from(["G1", "G2", "été", "\U0001f4ec", "z z"])
USERS = st.sampled_from(["alice", "bob"])
ORIGINS = st.sampled_from(["a", "b~1"])
UIDS = st.sampled_from([UNPLACED, 1, 2, 3, 2**32 - 2])
MODSEQS = st.integers(0, 6) | st.just(2**63 - 1)
STAMPS = st.builds(Stamp, MODSEQS, ORIGINS) | st.just(Stamp(0, ""))
TOKENS = st.builds(Token, st.integers(0, 3), st.integers(-1, 3))
DOTS = st.lists(st.builds(Dot, ORIGINS, st.integers(1, 5)), max_size=2).map(tuple)
REGISTERS = st.builds(Register, st.sampled_from(["\\Seen", "kw"]), st.booleans(), st.builds(Stamp, MODSEQS, ORIGINS))
FLAGS = st.lists(REGISTERS, max_size=3).map(tuple)
SIZES = st.integers(0, 2**40)
SUMS = st.lists(st.integers(0, 2**32 - 1), max_size=3).map(tuple)
BOX_ROWS = st.builds(
    BoxRow,
    *(BOXES, USERS, st.text("ab/é", min_size=1), STAMPS, st.integers(1, 2**32 - 1), UIDS, MODSEQS, TOKENS, ORIGINS),
    *(st.booleans(), st.booleans(), STAMPS, st.booleans(), STAMPS),
)
MESSAGES = st.builds(MessageRow, BOXES, GUIDS, UIDS, TOKENS, DOTS, SIZES, SIZES, FLAGS, MODSEQS, SUMS)
GONE = st.builds(GoneRow, BOXES, UIDS, GUIDS, DOTS, MODSEQS, FLAGS)


class Model:
    """What was put, and what of the journal is kept."""

    def __init__(self) -> None:
        self.cluster = ClusterRow()
        self.held: dict[str, int] = {}
        self.ahead: dict[str, int] = {}
        self.missing: set[tuple[str, str]] = set()
        self.boxes: dict[str, BoxRow] = {}
        self.messages: dict[tuple[str, str], MessageRow] = {}
        self.gone: dict[tuple[str, str], GoneRow] = {}
        self.ops: list[Op] = []
        self.seqs: dict[str, int] = {}
        """Origin -> the greatest seq that was ever put."""

    def skip_to(self, at: Dot) -> None:
        self.held[at.origin] = self.seqs[at.origin] = at.seq
        self.ops = [op for op in self.ops if op.at is not None and op.at.origin != at.origin]

    def put_op(self, op: Op) -> None:
        assert op.at is not None
        self.ops.append(op)
        self.seqs[op.at.origin] = op.at.seq
        while len(self.ops) > 1 and sum(len(op_column(each).encode()) + ROW_BYTES for each in self.ops) > JOURNAL_BYTES:
            self.ops.pop(0)

    def seqs_of(self, origin: str) -> list[int]:
        return [op.at.seq for op in self.ops if op.at and op.at.origin == origin]


class RowsMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="pyrepl-rows-"))
        self.model = Model()
        self.committed = Model()
        self.open()

    def open(self) -> None:
        self.rows = SqliteRows(self.folder / "db", JOURNAL_BYTES, lambda: 0.0)

    def teardown(self) -> None:
        self.rows.close()
        shutil.rmtree(self.folder)

    @rule(row=st.builds(ClusterRow, st.integers(0, 9), ORIGINS, ORIGINS, ORIGINS))
    def put_cluster(self, row: ClusterRow) -> None:
        self.rows.put_cluster(row)
        self.model.cluster = row

    @rule(row=BOX_ROWS)
    def put_box(self, row: BoxRow) -> None:
        self.rows.put_box(row)
        self.model.boxes[row.guid] = row

    @rule(row=MESSAGES)
    def put_message(self, row: MessageRow) -> None:
        self.rows.put_message(row)
        self.model.messages[row.box, row.guid] = row

    @rule(box=BOXES, guid=GUIDS)
    def drop_message(self, box: str, guid: str) -> None:
        self.rows.drop_message(box, guid)
        self.model.messages.pop((box, guid), None)

    @rule(row=GONE)
    def put_gone(self, row: GoneRow) -> None:
        self.rows.put_gone(row)
        self.model.gone[row.box, row.guid] = row

    @rule(origin=ORIGINS, words=st.text("aé", max_size=40), skip=st.integers(1, 3))
    def put_op(self, origin: str, words: str, skip: int) -> None:
        at = Dot(origin, self.model.seqs.get(origin, 0) + skip)
        box = Box("INBOX")
        op: Op = Store(user="u", box=box, add=(f"k{words}",), at=at) if words else Unsubscribe(user="u", box=box, at=at)
        for keeper in (self.rows, self.model):
            keeper.put_op(op)
        self.rows.put_held(at)
        self.model.held[origin] = at.seq

    @rule(origin=ORIGINS, skip=st.integers(1, 3))
    def skip_to(self, origin: str, skip: int) -> None:
        at = Dot(origin, self.model.seqs.get(origin, 0) + skip)
        self.rows.skip_to(at)
        self.model.skip_to(at)

    @rule(origin=ORIGINS, seq=st.integers(1, 9))
    def put_ahead(self, origin: str, seq: int) -> None:
        self.rows.put_ahead(Dot(origin, seq))
        self.model.ahead[origin] = seq

    @rule(box=BOXES, guid=GUIDS, is_missing=st.booleans())
    def miss(self, box: str, guid: str, is_missing: bool) -> None:
        (self.rows.put_missing if is_missing else self.rows.drop_missing)(box, guid)
        (self.model.missing.add if is_missing else self.model.missing.discard)((box, guid))

    @rule()
    def commit(self) -> None:
        self.rows.commit()
        self.committed = copy.deepcopy(self.model)

    @rule()
    def crash(self) -> None:
        self.rows.close()
        self.model = copy.deepcopy(self.committed)
        self.open()

    @invariant()
    def small_tables_are_the_models(self) -> None:
        model = self.model
        assert self.rows.cluster() == model.cluster
        assert self.rows.held() == model.held and self.rows.ahead() == model.ahead
        assert self.rows.missing() == sorted(model.missing)
        assert self.rows.users() == sorted({row.user for row in model.boxes.values()})
        for user in ("alice", "bob"):
            assert self.rows.boxes(user) == sorted(row for row in model.boxes.values() if row.user == user)

    @invariant()
    def the_journal_is_the_models(self) -> None:
        for origin in ("a", "b~1"):
            seqs = self.model.seqs_of(origin)
            assert [op.at for op in self.rows.ops(origin, 0, 100)] == [Dot(origin, seq) for seq in seqs]
            last = self.model.seqs.get(origin)
            assert self.rows.oldest(origin) == (min(seqs) if seqs else last + 1 if last else 0)

    @rule(box=BOXES, after=st.just("") | GUIDS, upto=st.just("") | GUIDS, most=st.integers(1, 3))
    def page(self, box: str, after: str, upto: str, most: int) -> None:
        """What is asked page by page."""
        model = self.model
        for found, table in (
            (self.rows.messages_by_guid(box, after, upto, most), model.messages),
            (self.rows.gone_by_guid(box, after, upto, most), model.gone),
        ):
            guids = sorted(g for where, g in table if where == box and g > after and (not upto or g <= upto))
            assert list(found) == [table[box, guid] for guid in guids[:most]]
        boxes = [row for _, row in sorted(model.boxes.items()) if row.guid > box]
        assert self.rows.boxes_after(box, most) == boxes[:most]

    @rule(box=BOXES, guid=GUIDS, uid=UIDS, user=USERS, modseq=MODSEQS)
    def ask(self, box: str, guid: str, uid: int, user: str, modseq: int) -> None:
        """Everything that is asked by a key or listed."""
        model, here = self.model, [row for row in self.model.messages.values() if row.box == box]
        assert list(self.rows.messages(box)) == sorted(here, key=lambda row: (row.uid, row.guid))
        for after in (0, 1, 3):
            assert list(self.rows.messages(box, after)) == [row for row in self.rows.messages(box) if row.uid > after]
        assert self.rows.message(box, guid) == model.messages.get((box, guid))
        assert self.rows.unplaced(box) == sorted(row for row in here if row.uid == UNPLACED)
        at = sorted(row.guid for row in here if row.uid == uid)
        found = self.rows.message_at(box, uid)
        assert (found.guid if found else None) == (at[0] if at else None)
        mine = {row.guid for row in model.boxes.values() if row.user == user}
        homes = sorted(row.box for row in model.messages.values() if row.guid == guid and row.box in mine)
        home = self.rows.home(user, guid)
        assert (home and home.box) == (homes[0] if homes else None)
        assert self.rows.gone(box, guid) == model.gone.get((box, guid))
        since = [row for row in model.gone.values() if row.box == box and row.modseq > modseq]
        assert self.rows.gone_since(box, modseq) == sorted(since, key=lambda row: (row.uid, row.guid))


RowsMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=40)
TestRows = RowsMachine.TestCase
