"""Looking at a mailbox without its lock, while a Dovecot is at it: what is told is so, and in the end all is told."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import pytest

from pyrepl.daemon.mailbox.aside import Aside
from pyrepl.daemon.mailbox.files import Stat
from pyrepl.daemon.mailbox.look import Look
from pyrepl.daemon.mailbox.message_files import Change
from pyrepl.daemon.mailbox.open_box import OpenBox
from pyrepl.daemon.mailbox.uidlist_file import create
from pyrepl.daemon.mailbox.uidlist_lock import UidlistLock
from pyrepl.mailbox.compare import Found, FoundBox
from pyrepl.mailbox.maildir.keywords import Keywords, render
from pyrepl.mailbox.maildir.uidlist import Header, Uidlist, parse
from pyrepl.mailbox.maildir.uidlist import render as render_list
from tests.unit.daemon.mailbox.model_disk import ModelDisk

GUID = b"0" * 32
LIST = b"/box/dovecot-uidlist"


class Racing(ModelDisk):
    """Others do something before each call that looks."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile: Callable[[], None] = lambda: None
        self.changes: list[Change] = []

    def take(self) -> list[Change]:
        """What came and went in the mailbox's folders since it was asked last."""
        self.meanwhile()
        changes, self.changes = self.changes, []
        return changes

    def write_new(self, path: bytes, data: bytes) -> None:
        super().write_new(path, data)
        self._note(path, True)

    def rename(self, path: bytes, to: bytes) -> None:
        super().rename(path, to)
        self._note(path, False)
        self._note(to, True)

    def unlink(self, path: bytes) -> None:
        super().unlink(path)
        self._note(path, False)

    def _note(self, path: bytes, is_there: bool) -> None:
        folder, _, name = path.rpartition(b"/")
        if folder in (b"/box/cur", b"/box/new"):
            self.changes.append(Change(folder.rpartition(b"/")[2], name, is_there))

    def stat(self, path: bytes) -> Stat | None:
        self.meanwhile()
        return super().stat(path)

    def names(self, folder: bytes) -> list[bytes]:
        self.meanwhile()
        return super().names(folder)

    def read(self, path: bytes, start: int = 0) -> bytes:
        self.meanwhile()
        return super().read(path, start)


class ModelDovecot:
    """One that does one thing after the other in the mailbox, each in steps, and somebody who delivers beside."""

    def __init__(self, disk: Racing, chance: random.Random) -> None:
        self._disk = disk
        self._chance = chance
        self._made = 0
        self._doing: Iterator[None] = iter(())
        self._names: list[str] = []
        self.is_racing = True

    def step(self) -> None:
        """Perhaps one step; what is done meanwhile looks at the disk undisturbed."""
        if self.is_racing and self._chance.random() < 0.4:
            self.is_racing = False
            if next(self._doing, self) is self:
                self._doing = self._chance.choice(
                    [self._append, self._append, self._flag, self._expunge, self._sync, self._deliver, self._rewrite]
                )()
            self.is_racing = True

    def finish(self) -> None:
        """The lock is free."""
        was, self.is_racing = self.is_racing, False
        for _ in self._doing:
            pass
        self.is_racing = was

    def _new_base(self) -> bytes:
        self._made += 1
        return b"m%d" % self._made

    def _files(self) -> list[bytes]:
        return [
            b"/box/%b/" % folder + name for folder in (b"cur", b"new") for name in self._disk.names(b"/box/" + folder)
        ]

    def _append(self) -> Iterator[None]:
        bases = [self._new_base() for _ in range(self._chance.randrange(1, 3))]
        for base in bases:
            place = self._chance.choice([b"/box/new/" + base, b"/box/cur/%b:2,S" % base])
            self._disk.write_new(place, b"text of " + base)
            yield
        uid = parse(self._disk.read(LIST)).next_uid
        lines = b"".join(b"%d :%b\n" % (uid + number, base) for number, base in enumerate(bases))
        half = self._chance.randrange(len(lines))
        for part in (lines[:half], lines[half:]):
            self._disk.append(LIST, part)
            yield

    def _deliver(self) -> Iterator[None]:
        self._disk.write_new(b"/box/new/" + self._new_base(), b"delivered")
        yield

    def _sync(self) -> Iterator[None]:
        listed = {entry.base for entry in parse(self._disk.read(LIST)).entries}
        for name in self._disk.names(b"/box/new"):
            if name in listed:
                self._disk.rename(b"/box/new/" + name, b"/box/cur/%b:2," % name)
                yield

    def _flag(self) -> Iterator[None]:
        letters = self._chance.choice([b"", b"F", b"FS", b"new keyword"])
        if letters == b"new keyword":
            self._names.append(f"k{len(self._names)}")
            self._disk.write_new(b"/box/dovecot-keywords.lock", render(Keywords(dict(enumerate(self._names[:26])))))
            self._disk.rename(b"/box/dovecot-keywords.lock", b"/box/dovecot-keywords")
            letters = bytes([ord("a") + min(len(self._names), 26) - 1])
            yield
        files = self._files()
        for path in self._chance.sample(files, min(2, len(files))):
            base = path.rpartition(b"/")[2].partition(b":")[0]
            self._disk.rename(path, b"/box/cur/%b:2,%b" % (base, letters))
            yield

    def _expunge(self) -> Iterator[None]:
        if files := self._files():
            self._disk.unlink(self._chance.choice(files))
        yield

    def _rewrite(self) -> Iterator[None]:
        """Lines of messages that are gone go as well."""
        known = parse(self._disk.read(LIST))
        bases = {path.rpartition(b"/")[2].partition(b":")[0] for path in self._files()}
        left = tuple(entry for entry in known.entries if entry.base in bases)
        header = Header(known.header.uidvalidity, known.next_uid, known.header.guid)
        self._disk.write_new(LIST + b".tmp", render_list(Uidlist(header, left)))
        yield
        self._disk.rename(LIST + b".tmp", LIST)


class Rows:
    """What a node knows of the mailbox."""

    def __init__(self) -> None:
        self.known: dict[str, Found] = {}
        self.texts: dict[str, bytes] = {}

    def take(self, found: FoundBox) -> None:
        if found.is_whole:
            self.known.clear()
        for guid in found.gone:
            self.known.pop(guid, None)
        for each in found.messages:
            self.known[each.guid] = each._replace(text=None)

    @property
    def uidnext(self) -> int:
        return 1 + max((each.uid for each in self.known.values()), default=0)


@pytest.fixture
def disk() -> Racing:
    made = Racing()
    for name in (b"cur", b"new", b"tmp"):
        made.make_folders(b"/box/" + name)
    create(made, b"/box", 7, GUID, 1)
    return made


def _opened(disk: ModelDisk) -> OpenBox:
    lock = UidlistLock(disk, b"host", lambda _: None, 2.0, lambda pid: True)
    return OpenBox(disk, b"/box", GUID, lock, Aside(disk, b"", GUID))


@pytest.mark.parametrize("hears", [False, True])
@pytest.mark.parametrize("seed", range(60))
def test_what_a_glance_tells_is_so_and_in_the_end_all_is_told(disk: Racing, seed: int, hears: bool) -> None:
    chance = random.Random(seed)
    dovecot, box, rows = ModelDovecot(disk, chance), _opened(disk), Rows()
    rows.take(box.found(Look(1, True)))
    disk.meanwhile = dovecot.step
    glances = 0
    for number in range(80):
        if number == 70:
            dovecot.finish()
            dovecot.is_racing = False
        found = box.glance(Look(rows.uidnext, keep=rows.texts.__setitem__), disk.take if hears else lambda: None)
        assert not found.gone and not found.is_whole
        with_line = {entry.uid: entry.guid for entry in parse(ModelDisk.read(disk, LIST)).entries}
        for each in found.messages:
            assert with_line[each.uid] == each.guid.encode()
            if each.uid >= rows.uidnext:
                assert each.text is not None and rows.texts[each.guid] in (
                    b"text of " + each.guid.encode(),
                    b"delivered",
                )
        rows.take(found)
        glances += not found.unsure
        if found.unsure:
            dovecot.finish()
            was, dovecot.is_racing = dovecot.is_racing, False
            rows.take(box.look(Look(rows.uidnext, True, is_whole=False)))
            dovecot.is_racing = was
    whole = _opened(disk).found(Look(2**32, False))
    assert rows.known == {each.guid: each for each in whole.messages} and not whole.unlisted
    assert glances > 20
