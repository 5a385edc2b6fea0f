"""Whatever bytes a Maildir holds that a Dovecot accepts, a look at it tells of them, and others can read each op that
follows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hypothesis import example, given, settings
from hypothesis import strategies as st

from pyrepl.daemon.mailbox.aside import Aside
from pyrepl.daemon.mailbox.columns import op_column, op_of
from pyrepl.daemon.mailbox.look import Look
from pyrepl.daemon.mailbox.open_box import OpenBox
from pyrepl.daemon.mailbox.uidlist_file import create
from pyrepl.daemon.mailbox.uidlist_lock import UidlistLock
from pyrepl.mailbox.compare import FoundBox, difference
from pyrepl.mailbox.core import Core
from pyrepl.mailbox.store import Outcome, RemoveMessage, SetFlags
from pyrepl.mailbox.verbs import Create, Op
from pyrepl.mailbox.words import Box, Token
from tests.simulation.mailbox.memory_rows import MemoryRows
from tests.unit.daemon.mailbox.model_disk import ModelDisk

GUID: Final = "1" * 32
TOKEN: Final = Token(1, 1)
_BYTES: Final = st.binary(min_size=1, max_size=40) | st.sampled_from(
    [
        b"h\xf6st",
        b"x" * 250,
        b"\xc3\xb6" * 100,
        b"a:2,Sab",
        b"a:2,",
        b":2,S",
        b"foo\nbar",
        b"a b",
        b"a\tb",
        b"%41",
        b"\x85",
    ]
)
_NAMES: Final = _BYTES.map(lambda name: name.replace(b"/", b"-").replace(b"\0", b"0")).filter(
    lambda name: not name.startswith(b".")
)
_DATES: Final = st.integers(-(2**40), 2**40)
_LETTERS: Final = st.binary(max_size=8).map(
    lambda letters: bytes(33 + byte % 94 for byte in letters).replace(b"/", b"")
)
_FILES: Final = st.lists(
    st.tuples(st.sampled_from([b"new", b"cur"]), _NAMES, _LETTERS, _DATES, st.booleans()), max_size=6
)
_KEYWORDS: Final = st.binary(max_size=60) | st.lists(st.tuples(st.integers(0, 30), _BYTES), max_size=6).map(
    lambda lines: b"".join(b"%d %b\n" % line for line in lines)
)
_GUIDS: Final = st.none() | _BYTES.map(lambda guid: guid.translate(None, b" \n\0"))
_LINES: Final = st.lists(st.tuples(st.integers(1, 1000), _GUIDS), max_size=8)


def _written(disk: ModelDisk, files: Sequence[tuple[bytes, bytes, bytes, int, bool]]) -> list[bytes]:
    """The bases of those that a line can name."""
    bases: list[bytes] = []
    for subfolder, name, letters, date, is_folder in files:
        # A folder of a message's name is nothing that comes to be.
        base = (b"folder-" if is_folder else b"") + name.partition(b":")[0]
        path = b"/box/" + subfolder + b"/" + (base if subfolder == b"new" else base + b":2," + letters)[:255]
        if disk.stat(path) is None:
            if is_folder:
                disk.make_folder(path)
            else:
                disk.write_new(path, b"text")
                disk.set_mtime(path, date)
            if base and b"\n" not in base and b"\r" not in base and base not in bases:
                bases.append(base)
    return bases


def _ops(core: Core, found: FoundBox) -> list[Op]:
    row = core.rows.box(GUID)
    assert row is not None
    differs = difference(core.rows, row, found, TOKEN, 100)
    assert not differs.late
    return [*differs.expunges, *differs.saves, *differs.stores]


def _told(core: Core, ops: list[Op]) -> None:
    for op in core.do(ops):
        assert op_of(op_column(op)) == op
    core.works()
    core.removals()


@settings(max_examples=60, deadline=None)
@given(files=_FILES, more=_FILES, keywords=_KEYWORDS, lines=_LINES, first=st.integers(0, 3))
@example(
    files=[(b"new", b"0", b"", 0, False)],
    more=[(b"new", b"%41", b"", 0, False)],
    keywords=b"",
    lines=[(1, b"%41")],
    first=0,
)
def test_a_look_tells_of_it(
    files: list[tuple[bytes, bytes, bytes, int, bool]],
    more: list[tuple[bytes, bytes, bytes, int, bool]],
    keywords: bytes,
    lines: list[tuple[int, bytes | None]],
    first: int,
) -> None:
    disk = ModelDisk()
    for name in (b"cur", b"new", b"tmp"):
        disk.make_folders(b"/box/" + name)
    create(disk, b"/box", 7, GUID.encode(), 1)
    disk.write_new(b"/box/dovecot-keywords", keywords)
    lock = UidlistLock(disk, b"host", lambda _: None, 2.0, lambda pid: True)
    box = OpenBox(disk, b"/box", GUID.encode(), lock, Aside(disk, b"", GUID.encode()))
    core = Core("a", MemoryRows(), ("b",))
    core.do([Create(user="alice", box=Box("INBOX"), id=GUID, uidvalidity=7)])
    uid = 0
    for base, (gap, guid) in zip(_written(disk, files)[first:], lines):
        uid += gap
        named = b" G" + guid if guid else b""
        disk.append(b"/box/dovecot-uidlist", b"%d%b :%b\n" % (uid, named, base))
    box.listing()
    _told(core, _ops(core, box.found(Look(0))))
    _told(core, _ops(core, box.found(Look(0, may_list=True))))
    _written(disk, more)
    _told(core, _ops(core, box.glance(Look(0))))
    _told(core, _ops(core, box.found(Look(0, may_list=True, is_whole=False))))
    assert _ops(core, box.found(Look(0))) == [], "it is told once"
    rows = list(core.rows.messages(GUID))
    assert {row.uid for row in rows} <= {each.uid for each in box.listing().messages}
    works = [SetFlags("alice", GUID, row.guid, ("\\Seen", "new-one")) for row in rows]
    works_done = box.perform([*works, *(RemoveMessage("alice", GUID, row.guid) for row in rows)], lambda work: None)
    assert {result.outcome for result in works_done} <= {Outcome.DONE}
