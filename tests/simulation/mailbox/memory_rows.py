"""Rows in memory, with commits and power cuts: what was put since the last commit is forgotten by a crash."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import takewhile
from operator import attrgetter
from typing import Any

from pyrepl.mailbox.rows import UNPLACED, BoxRow, ClusterRow, GoneRow, MessageRow
from pyrepl.mailbox.verbs import Copy, Expunge, Op, Save, Store
from pyrepl.mailbox.words import Dot, Token
from tests.simulation.mailbox.violation import Violation

_ABSENT = object()
_BY_UID = attrgetter("uid", "guid")


class MemoryRows:
    """Rows as the database keeps them. It checks on the way what must never happen to a row (I8, I10, I13)."""

    def __init__(self) -> None:
        self.most_ops = 10**9
        """Of each origin that the journal keeps."""
        self._dropped: dict[str, int] = {}
        """Origin -> the greatest seq that the journal does not have any more."""
        self._ahead: dict[str, int] = {}
        self._cluster: dict[str, ClusterRow] = {"row": ClusterRow()}
        self._held: dict[str, int] = {}
        self._grown: set[str] = set()
        """Origins of which more is held than at the last commit."""
        self._boxes: dict[str, BoxRow] = {}
        self._aligned: dict[str, int] = {}
        self._missing: dict[tuple[str, str], None] = {}
        self._messages: dict[str, dict[str, MessageRow]] = {}
        self._by_uid: dict[str, dict[int, str]] = {}
        self._gone: dict[str, dict[str, GoneRow]] = {}
        self._ops: dict[str, dict[int, Op]] = {}
        self._touching: dict[tuple[str, str], tuple[Op, ...]] = {}
        self._undo: list[tuple[dict[Any, Any], Any, Any]] = []
        self._sorted: dict[str, list[MessageRow]] = {}
        """Mailbox -> its messages in their order, of those that were asked for since they changed."""
        self._order: list[str] = []
        """The GUIDs of all mailboxes, ascending, if it is as long as `_boxes`."""
        self.greatest: dict[tuple[str, Token], int] = {}
        """(mailbox, token) -> the last UID that a SAVE brought (I10)."""

    def _put(self, table: dict[Any, Any], key: Any, value: Any) -> None:
        self._undo.append((table, key, table.get(key, _ABSENT)))
        if value is _ABSENT:
            table.pop(key, None)
        else:
            table[key] = value

    @property
    def is_dirty(self) -> bool:
        return bool(self._undo)

    def commit(self) -> None:
        if not self._undo:
            return
        grown, self._grown = self._grown, set()
        for origin in grown:
            last = self._held[origin]
            if last > self._dropped.get(origin, 0) and self._ops[origin][last].left:
                raise Violation("I15", f"a commit within a transaction of {origin}:{last}")
            self._drop(origin, last - self.most_ops)
        self._undo.clear()

    def _drop(self, origin: str, seq: int) -> None:
        """Ops are only hidden, so that what was ever done can be looked at in the end."""
        if seq > self._dropped.get(origin, 0):
            self._put(self._dropped, origin, seq)

    def ops_made(self, origin: str, after: int) -> list[Op]:
        """Of one origin that never skipped an op, those behind `after`, whether the journal has them or not."""
        return [self._ops[origin][seq] for seq in range(after + 1, self._held.get(origin, 0) + 1)]

    def all_ops(self) -> list[Op]:
        """All that were applied one by one, those too that the journal has dropped."""
        return [op for ops in self._ops.values() for op in ops.values()]

    def touching(self, box: str, guid: str) -> tuple[Op, ...]:
        """SAVEs, COPYs, STOREs and EXPUNGEs of a message that were applied here one by one, in that order."""
        return self._touching.get((box, guid), ())

    def crash(self) -> None:
        """What was not committed never was."""
        for table, key, before in reversed(self._undo):
            if before is _ABSENT:
                table.pop(key, None)
            else:
                table[key] = before
        self._undo.clear()
        self._grown.clear()
        self._sorted.clear()
        self._order = []

    def cluster(self) -> ClusterRow:
        return self._cluster["row"]

    def put_cluster(self, row: ClusterRow) -> None:
        before = self.cluster()
        if row.epoch < before.epoch or (row.epoch == before.epoch and before.voted not in ("", row.voted)):
            raise Violation("I6", f"{before} became {row}")
        self._put(self._cluster, "row", row)

    def held(self) -> dict[str, int]:
        return dict(self._held)

    def put_held(self, dot: Dot) -> None:
        if dot.seq != self._held.get(dot.origin, 0) + 1:
            raise Violation("I13", f"{dot} behind {self._held.get(dot.origin, 0)}")
        self._put(self._held, dot.origin, dot.seq)
        self._grown.add(dot.origin)

    def skip_to(self, dot: Dot) -> None:
        if dot.seq <= self._held.get(dot.origin, 0):
            raise Violation("I13", f"a jump to {dot} from {self._held.get(dot.origin, 0)}")
        self._put(self._held, *dot)
        self._grown.add(dot.origin)
        self._drop(*dot)

    def ahead(self) -> dict[str, int]:
        return dict(self._ahead)

    def put_ahead(self, dot: Dot) -> None:
        self._put(self._ahead, *dot)

    def users(self) -> list[str]:
        return sorted({box.user for box in self._boxes.values()})

    def box(self, guid: str) -> BoxRow | None:
        return self._boxes.get(guid)

    def boxes(self, user: str) -> list[BoxRow]:
        return [row for guid in self._guids() if (row := self._boxes[guid]).user == user]

    def _guids(self) -> list[str]:
        if len(self._order) != len(self._boxes):
            self._order = sorted(self._boxes)
        return self._order

    def boxes_after(self, guid: str, most: int) -> list[BoxRow]:
        return [self._boxes[each] for each in self._guids() if each > guid][:most]

    def put_box(self, row: BoxRow) -> None:
        before = self._boxes.get(row.guid)
        if before is not None and (row.highest < before.highest or row.uidnext < before.uidnext):
            raise Violation("I8", f"{before} became {row}")
        self._put(self._boxes, row.guid, row)

    def message(self, box: str, guid: str) -> MessageRow | None:
        return self._messages.get(box, {}).get(guid)

    def message_at(self, box: str, uid: int) -> MessageRow | None:
        guid = self._by_uid.get(box, {}).get(uid)
        return None if guid is None else self._messages[box][guid]

    def messages(self, box: str, after: int = -1) -> Iterator[MessageRow]:
        return iter(self._in_order(box)) if after < 0 else (row for row in self._in_order(box) if row.uid > after)

    def _in_order(self, box: str) -> list[MessageRow]:
        found = self._sorted.get(box)
        if found is None:
            found = sorted(self._messages.get(box, {}).values(), key=_BY_UID)
            self._sorted[box] = found
        return found

    def messages_since(self, box: str, modseq: int) -> list[MessageRow]:
        return [row for row in self._in_order(box) if row.modseq > modseq]

    def aligned(self, box: str) -> int:
        return self._aligned.get(box, 0)

    def put_aligned(self, box: str, modseq: int) -> None:
        self._put(self._aligned, box, modseq)

    def missing(self) -> list[tuple[str, str]]:
        return sorted(self._missing)

    def put_missing(self, box: str, guid: str) -> None:
        self._put(self._missing, (box, guid), None)

    def drop_missing(self, box: str, guid: str) -> None:
        self._put(self._missing, (box, guid), _ABSENT)

    def messages_by_guid(self, box: str, after: str, upto: str, most: int) -> list[MessageRow]:
        return _by_guid(self._messages.get(box, {}), after, upto)[:most]

    def unplaced(self, box: str) -> list[MessageRow]:
        return list(takewhile(lambda row: row.uid == UNPLACED, self._in_order(box)))

    def home(self, user: str, guid: str) -> MessageRow | None:
        tables = self._messages
        having = (box for box in self._guids() if guid in tables.get(box, ()))
        return next((tables[box][guid] for box in having if self._boxes[box].user == user), None)

    def put_message(self, row: MessageRow) -> None:
        table = self._messages.setdefault(row.box, {})
        before = table.get(row.guid)
        if before is not None and row.modseq < before.modseq:
            raise Violation("I8", f"{before} became {row}")
        uids = self._by_uid.setdefault(row.box, {})
        if before is not None and before.uid != row.uid and before.uid:
            self._put(uids, before.uid, _ABSENT)
        if row.uid != UNPLACED:
            self._put(uids, row.uid, row.guid)
        self._put(table, row.guid, row)
        self._sorted.pop(row.box, None)

    def drop_message(self, box: str, guid: str) -> None:
        row = self._messages[box][guid]
        if row.uid:
            self._put(self._by_uid[box], row.uid, _ABSENT)
        self._put(self._messages[box], guid, _ABSENT)
        self._sorted.pop(box, None)

    def gone(self, box: str, guid: str) -> GoneRow | None:
        return self._gone.get(box, {}).get(guid)

    def gone_since(self, box: str, modseq: int) -> list[GoneRow]:
        rows = self._gone.get(box, {}).values()
        return sorted((row for row in rows if row.modseq > modseq), key=_BY_UID)

    def gone_by_guid(self, box: str, after: str, upto: str, most: int) -> list[GoneRow]:
        return _by_guid(self._gone.get(box, {}), after, upto)[:most]

    @property
    def is_ahead(self) -> bool:
        """Is more shown than the vector covers?"""
        return any(self._held.get(origin, 0) < seq for origin, seq in self._ahead.items())

    def forget_gone(self, but: Collection[tuple[str, str]]) -> int:
        """Forget tombstones, but for those of (mailbox, GUID) of `but`; how many went."""
        assert not self.is_dirty
        going = [(box, guid) for box, rows in self._gone.items() for guid in rows if (box, guid) not in but]
        for box, guid in going:
            del self._gone[box][guid]
        return len(going)

    def put_gone(self, row: GoneRow) -> None:
        before = self.gone(row.box, row.guid)
        if before is not None and row.modseq < before.modseq:
            raise Violation("I8", f"{before} became {row}")
        self._put(self._gone.setdefault(row.box, {}), row.guid, row)

    def put_op(self, op: Op) -> None:
        assert op.at is not None
        self._check_order(op)
        self._put(self._ops.setdefault(op.at.origin, {}), op.at.seq, op)
        for where in touched(op):
            self._put(self._touching, where, (*self.touching(*where), op))

    def _check_order(self, op: Op) -> None:
        if isinstance(op, Save) and op.token is not None and op.token.term >= 0:
            key = (op.box.text, op.token)
            if op.uid <= self.greatest.get(key, 0):
                raise Violation("I10", f"{op} behind UID {self.greatest[key]}")
            self._put(self.greatest, key, op.uid)
        elif isinstance(op, Copy) and op.token is not None and op.token.term >= 0:
            key = (op.to.text, op.token)
            if op.touids[0][0] <= self.greatest.get(key, 0):
                raise Violation("I10", f"{op} behind UID {self.greatest[key]}")
            self._put(self.greatest, key, op.touids[-1][1])

    def ops(self, origin: str, after: int, most: int) -> list[Op]:
        table = self._ops.get(origin, {})
        last = self._held.get(origin, 0)
        first = max(after, self._dropped.get(origin, 0)) + 1
        return [table[seq] for seq in range(first, min(last + 1, first + most))]

    def oldest(self, origin: str) -> int:
        dropped = self._dropped.get(origin, 0)
        return dropped + 1 if dropped or self._ops.get(origin) else 0


def touched(op: Op) -> list[tuple[str, str]]:
    """(mailbox, GUID) of what an op brings, flags or takes away."""
    if isinstance(op, Save):
        return [(op.box.text, op.guid)]
    if isinstance(op, Copy):
        return [(op.to.text, guid) for guid in op.guids]
    return [(op.box.text, guid) for guid in op.guids] if isinstance(op, Store | Expunge) else []


def _by_guid(table: dict[str, Any], after: str, upto: str) -> list[Any]:
    return [table[guid] for guid in sorted(table) if guid > after and (not upto or guid <= upto)]
