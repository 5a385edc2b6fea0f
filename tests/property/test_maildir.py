"""The formats of a Maildir: what is written is read as it was, and no bytes do more than raise CorruptData."""

from __future__ import annotations

from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from pyrepl.errors import CorruptData
from pyrepl.mailbox.maildir import filename, keywords, letters, mutf7, subscriptions, uidlist
from pyrepl.mailbox.maildir.filename import Name
from pyrepl.mailbox.maildir.keywords import MOST, Keywords
from pyrepl.mailbox.maildir.layout import LAYOUTS, Layout, normal
from pyrepl.mailbox.maildir.text_sums import TextSums, sums_of
from pyrepl.mailbox.maildir.uidlist import LAST_UID, Entry, Header, Uidlist

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
PART = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="/"), min_size=1, max_size=12)
BASE = st.binary(min_size=1, max_size=60).filter(filename.is_base)
GUID = st.binary(min_size=1, max_size=60).filter(lambda guid: uidlist.why_not_guid(guid) is None)
EXTRA = st.from_regex(rb"[A-FH-Z][0-9]{0,9}", fullmatch=True)
KEYWORD = st.from_regex(r"[$A-Za-z][A-Za-z0-9_-]{0,11}", fullmatch=True)
SIZES = st.integers(0, 2**63)
LAYOUT = st.sampled_from([*LAYOUTS.values()])
HOSTILE = st.one_of(
    st.binary(max_size=200),
    st.lists(
        st.sampled_from(
            [b"3 V1 N1", b"1 5 6", b" ", b"\n", b":", b"2,", b"G", b"7 :a", b"\t", b"V\t2", b"&", b"\xff", b"-"]
        )
    ).map(b"".join),
)


@st.composite
def lists(draw: st.DrawFn) -> Uidlist:
    uids = sorted(draw(st.sets(st.integers(1, LAST_UID), max_size=12)))
    made = st.tuples(BASE, st.none() | GUID, st.lists(EXTRA, max_size=2).map(tuple))
    entries = tuple(Entry(uid, *draw(made)) for uid in uids)
    least = uids[-1] + 1 if uids else 1
    guid = draw(st.binary(min_size=16, max_size=16)).hex().encode()
    return Uidlist(Header(draw(st.integers(1, 2**32 - 1)), draw(st.integers(least, LAST_UID + 1)), guid), entries)


@given(lists())
def test_a_uidlist_is_read_as_it_was_written(whole: Uidlist) -> None:
    assert uidlist.parse(uidlist.render(whole)) == whole


@given(lists(), st.data())
def test_a_uidlist_cut_anywhere_keeps_its_whole_lines(whole: Uidlist, data: st.DataObject) -> None:
    written = uidlist.render(whole)
    first = written.index(b"\n") + 1
    cut = data.draw(st.integers(first, len(written)))
    found = uidlist.parse(written[:cut])
    assert found.entries == whole.entries[: written.count(b"\n", first, cut)]
    assert found.takes_appends == (written[cut - 1] == 0x0A)
    assert found.torn_bytes == cut - written.rfind(b"\n", 0, cut) - 1


@given(lists(), st.data())
def test_a_uidlist_may_be_read_in_parts(whole: Uidlist, data: st.DataObject) -> None:
    written = uidlist.render(whole)
    first = written.index(b"\n") + 1
    cut = data.draw(st.integers(first, len(written)))
    begun = uidlist.parse(written[:cut])
    at = cut - begun.torn_bytes
    rest, used = uidlist.parse_entries(written[at:], begun.last_uid, at=at)
    assert begun.entries + rest == whole.entries and at + used == len(written)


@given(BASE, st.binary(max_size=10), st.binary(max_size=10))
def test_names_are_read_as_they_were_written(base: bytes, letter_bytes: bytes, rest: bytes) -> None:
    name = filename.parse(base + b":2," + letter_bytes + rest)
    assert name.base == base and filename.parse(filename.render(name)) == name


@given(st.binary(max_size=80), st.integers(1, LAST_UID), SIZES)
def test_every_guid_has_a_base(guid: bytes, uid: int, size: int) -> None:
    base = filename.base_of_guid(guid, size)
    assert base in (None, guid)
    made = filename.made_base(guid, uid, size)
    assert filename.is_base(made) and filename.parse(filename.render(Name(made, b"S"))).base == made


@given(
    st.dictionaries(st.integers(0, MOST - 1), KEYWORD).filter(
        lambda names: len({*map(str.lower, names.values())}) == len(names)
    )
)
def test_keywords_are_read_as_they_were_written(names: dict[int, str]) -> None:
    assert keywords.parse(keywords.render(Keywords(names))).names == names


@given(
    st.dictionaries(st.integers(0, MOST - 1), KEYWORD, max_size=5),
    st.binary(max_size=12),
    st.sets(st.sampled_from([*letters.SYSTEM])),
)
def test_flags_pass_through_letters(names: dict[int, str], had: bytes, flags: set[str]) -> None:
    known = keywords.parse(keywords.render(Keywords(names)))
    wanted = flags | set(known.names.values())
    had = filename.parse(b"x:2," + had).letters
    made = letters.letters_of(wanted, known, had)
    assert letters.flags_of(made, known) == wanted
    assert letters.letters_of(wanted, known, made) == made
    assert set(made) >= {letter for letter in had if letters.flags_of(bytes([letter]), known) == frozenset()}


@given(TEXT)
def test_modified_utf_7_has_one_form(text: str) -> None:
    encoded = mutf7.encode(text)
    assert mutf7.decode(encoded) == text
    assert all(0x20 <= byte < 0x7F for byte in encoded)


@given(st.lists(st.lists(PART, min_size=1, max_size=3).map("/".join), unique=True))
def test_subscriptions_are_read_as_they_were_written(names: list[str]) -> None:
    data = b""
    for name in names:
        data = subscriptions.changed(data, ".", name, True)
    assert subscriptions.parse(data, ".") == tuple(names)


@given(LAYOUT, st.lists(PART, min_size=1, max_size=4).map("/".join))
def test_a_folder_has_the_name_it_was_made_for(layout: Layout, name: str) -> None:
    if layout.why_not(name) is None:
        folder = layout.folder(name)
        assert layout.name(folder) == normal(name)
        assert not folder.startswith(b"/") and b".." not in folder.split(b"/") and b"\0" not in folder


@given(st.binary(max_size=300), st.lists(st.integers(0, 300), max_size=5))
def test_a_text_counts_the_same_in_any_pieces(text: bytes, cuts: list[int]) -> None:
    counted = TextSums()
    at = 0
    for cut in [*sorted(cuts), len(text)]:
        counted.feed(text[at:cut])
        at = max(at, min(cut, len(text)))
    assert counted.sums == sums_of(text)
    assert counted.size == len(text)


@given(HOSTILE)
def test_no_bytes_do_more_than_be_refused(data: bytes) -> None:
    with suppress(CorruptData):
        assert len(uidlist.parse(data).entries) <= data.count(b"\n")
    with suppress(CorruptData):
        mutf7.decode(data)
    filename.render(filename.parse(data))
    assert len(keywords.parse(data).names) <= MOST
    assert all(name for name in subscriptions.parse(data, "."))
    for layout in LAYOUTS.values():
        name = layout.name(data)
        assert name is None or layout.why_not(name) is None
