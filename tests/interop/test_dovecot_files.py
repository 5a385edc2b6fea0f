"""The formats of a Maildir against a real Dovecot: it reads what we write, we read what it wrote."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from pyrepl.mailbox.maildir import filename, keywords, letters, mutf7, subscriptions, uidlist
from pyrepl.mailbox.maildir.filename import Name
from pyrepl.mailbox.maildir.keywords import Keywords
from pyrepl.mailbox.maildir.layout import LAYOUTS
from pyrepl.mailbox.maildir.uidlist import Entry, Header, Uidlist
from tests.peers.dovecot import Dovecot, as_owner

TEXT = b"From: a@example.org\nSubject: one\n\nline\n"
CRLF = TEXT.replace(b"\n", b"\r\n")
GUID = b"b75da40a06f7056b9636000083ecc375"
NAMES = ["Work", "Work/Sub", "Bücher", "& x/台北", "INBOX/child", "cur/x", "tmp%*", "a" * 100]
NAMES_OF_FS = ["a.b/.c", "x" * 255]


@pytest.fixture(params=list(LAYOUTS))
def dovecot(request: pytest.FixtureRequest) -> Iterator[Dovecot]:
    with Dovecot(layout=request.param) as running:
        yield running
        assert "Corrupted" not in running.log() and "Error" not in running.log(), running.log()


def _names(dovecot: Dovecot) -> list[str]:
    if dovecot.layout == "fs":
        return [name for name in NAMES if not name.startswith("cur/")] + NAMES_OF_FS
    return NAMES


def _make(folder: Path, made: Uidlist, files: dict[bytes, bytes], known: Keywords) -> None:
    """A mailbox of ours in that folder: `files` are names in cur/ and their texts."""
    for subfolder in ("cur", "new", "tmp"):
        (folder / subfolder).mkdir(parents=True)
    for name, text in files.items():
        (folder / "cur" / name.decode()).write_bytes(text)
    (folder / "maildirfolder").touch()
    (folder / "dovecot-keywords").write_bytes(keywords.render(known))
    (folder / "dovecot-uidlist").write_bytes(uidlist.render(made))


def _quoted(name: str, separator: str) -> str:
    escaped = mutf7.encode(name).decode().replace("/", separator).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _listed(lines: Sequence[object], separator: str) -> set[str]:
    """The names of LIST or LSUB that are mailboxes."""
    found = set()
    for line in lines:
        assert isinstance(line, bytes)
        said = re.fullmatch(rb'\((.*?)\) "." "?(.*?)"?', line)
        assert said, line
        if b"\\Noselect" not in said[1]:
            found.add("/".join(map(mutf7.decode, said[2].split(separator.encode()))))
    return found


def test_dovecot_reads_what_we_write(dovecot: Dovecot) -> None:
    foreign = b"guid/that:is-no-base"
    bases = [
        filename.base_of_guid(b"1700000000.M1P1.elsewhere,S=39,W=43", len(TEXT)),
        filename.made_base(foreign, 9, len(TEXT)),
        filename.made_base(b"1700000000.M1P1.elsewhere,S=39,W=43", 12, len(TEXT)),
    ]
    assert bases[0] is not None
    known = Keywords({0: "kw1", 25: "$Forwarded"})
    entries = (
        Entry(5, bases[0]),
        Entry(9, bases[1] or b"", foreign),
        Entry(12, bases[2] or b"", bases[0]),
    )
    flags = [{"\\Seen", "kw1"}, {"\\Flagged", "\\Answered", "$Forwarded"}, {"\\Draft", "\\Deleted"}]
    files = {
        filename.render(Name(entry.base, letters.letters_of(each, known))): TEXT for entry, each in zip(entries, flags)
    }
    with as_owner():
        _make(dovecot.mail(), Uidlist(Header(1234567, 40, GUID), entries), files, known)
    imap = dovecot.imap()
    imap.select("INBOX")
    assert imap.response("UIDVALIDITY")[1] == [b"1234567"]
    assert imap.response("UIDNEXT")[1] == [b"40"]
    _, answers = imap.uid("FETCH", "1:*", "(FLAGS X-GUID RFC822.SIZE)")
    seen = {}
    for answer in answers:
        assert isinstance(answer, bytes)
        uid, size = re.search(rb"UID (\d+)", answer), re.search(rb"RFC822.SIZE (\d+)", answer)
        found, guid = re.search(rb"FLAGS \((.*?)\)", answer), re.search(rb'X-GUID "?([^ ")]*)', answer)
        assert uid and size and found and guid
        assert int(size[1]) == len(CRLF)
        seen[int(uid[1])] = ({*found[1].decode().split()} - {"\\Recent"}, guid[1])
    assert seen == {entry.uid: (each, entry.guid) for entry, each in zip(entries, flags)}
    _, [(_, body), _] = imap.uid("FETCH", "9", "(BODY.PEEK[])")
    assert body == CRLF
    _, [appended] = imap.append("INBOX", "(kw1)", "", TEXT)
    assert b"[APPENDUID 1234567 40]" in appended


def test_dovecot_shows_our_folders_and_subscriptions(dovecot: Dovecot) -> None:
    layout, names = LAYOUTS[dovecot.layout], _names(dovecot)
    guids = {name: b"%032x" % (number + 16**31) for number, name in enumerate(names)}
    dovecot.imap().select("INBOX")
    with as_owner():
        for number, name in enumerate(names):
            assert layout.why_not(name) is None
            made = Uidlist(Header(1000 + number, 77, guids[name]), ())
            _make(dovecot.mail() / layout.folder(name).decode(), made, {}, Keywords())
        listed = b""
        for name in names:
            listed = subscriptions.changed(listed, layout.separator, name, True)
        (dovecot.mail() / "subscriptions").write_bytes(listed)
    imap = dovecot.imap()
    assert _listed(imap.list()[1], layout.separator) == {*names, "INBOX"}
    assert _listed(imap.lsub()[1], layout.separator) == {*names}
    for number, name in enumerate(names):
        _, [status] = imap.status(_quoted(name, layout.separator), "(UIDNEXT UIDVALIDITY X-GUID)")
        assert f"UIDNEXT 77 UIDVALIDITY {1000 + number}".encode() in status
        assert guids[name] in status


def test_we_read_what_dovecot_wrote(dovecot: Dovecot) -> None:
    layout, names = LAYOUTS[dovecot.layout], _names(dovecot)
    imap = dovecot.imap()
    imap.select("INBOX")
    for flags in ("(\\Seen kw1)", "(\\Flagged $Forwarded kw1)", "(\\Draft \\Answered)"):
        imap.append("INBOX", flags, "", TEXT)
    imap.noop()
    imap.uid("STORE", "3", "+FLAGS", "(\\Deleted kw3)")
    imap.uid("STORE", "1", "+FLAGS", "(\\Deleted)")
    imap.uid("EXPUNGE", "1")
    imap.copy("1", "INBOX")
    for wanted in names:
        quoted = _quoted(wanted, layout.separator)
        assert imap.create(quoted)[0] == imap.subscribe(quoted)[0] == "OK"
    imap.unsubscribe(_quoted(names[0], layout.separator))
    imap.logout()

    home = dovecot.mail()
    found = uidlist.parse((home / "dovecot-uidlist").read_bytes())
    known = keywords.parse((home / "dovecot-keywords").read_bytes())
    present = {name.base: name for path in (home / "cur").iterdir() if (name := filename.parse(path.name.encode()))}
    flags_by_uid = {
        entry.uid: letters.flags_of(present[entry.base].letters, known)
        for entry in found.entries
        if entry.base in present
    }
    second = {"\\Flagged", "$Forwarded", "kw1"}
    assert flags_by_uid == {2: second, 3: {"\\Draft", "\\Answered", "\\Deleted", "kw3"}, 4: second}
    assert found.next_uid == 5
    by_uid = {entry.uid: entry for entry in found.entries}
    assert by_uid[4].guid == by_uid[2].guid == by_uid[2].base != by_uid[4].base
    assert all(filename.size_of(entry.base) == len(TEXT) for entry in found.entries)
    assert subscriptions.parse((home / "subscriptions").read_bytes(), layout.separator) == tuple(names[1:])
    folders = {str(path.parent.relative_to(home)).encode() for path in home.rglob("dovecot-uidlist")}
    assert {layout.name(b"" if folder == b"." else folder) for folder in folders} == {"INBOX", *names}


def test_half_a_line_is_mended_before_dovecot_appends(dovecot: Dovecot) -> None:
    imap = dovecot.imap()
    imap.select("INBOX")
    imap.append("INBOX", "", "", TEXT)
    imap.logout()
    path = dovecot.mail() / "dovecot-uidlist"
    torn = path.read_bytes() + b"2 :17"
    found = uidlist.parse(torn)
    assert not found.takes_appends
    with as_owner():
        path.write_bytes(uidlist.render(found))
    imap = dovecot.imap()
    _, [appended] = imap.append("INBOX", "", "", TEXT)
    assert b"APPENDUID %d 2]" % found.header.uidvalidity in appended
    assert [entry.uid for entry in uidlist.parse(path.read_bytes()).entries] == [1, 2]


def test_a_renumbered_message_keeps_guid_and_flags(dovecot: Dovecot) -> None:
    imap = dovecot.imap()
    imap.select("INBOX")
    imap.append("INBOX", "(\\Seen kw1)", "", TEXT)
    imap.noop()
    path = dovecot.mail() / "dovecot-uidlist"
    found = uidlist.parse(path.read_bytes())
    (entry,) = found.entries
    moved = Entry(500, filename.made_base(entry.guid, 500, len(CRLF)), entry.guid)
    with as_owner():
        (old,) = (dovecot.mail() / "cur").iterdir()
        name = filename.parse(old.name.encode())
        shutil.move(old, old.with_name(filename.render(Name(moved.base, name.letters)).decode()))
        with path.open("ab") as file:
            file.write(uidlist.render_entries([moved]))
    imap.noop()
    _, [answer] = imap.uid("FETCH", "1:*", "(FLAGS X-GUID)")
    assert isinstance(answer, bytes)
    assert b"UID 500" in answer and b"\\Seen" in answer and b"kw1" in answer and entry.guid in answer
