"""Connections of the mailbox protocol: any cuts give the same events and answers; whatever comes ends in an error or is
heard, and what is held of it is bounded."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from pyrepl.mailbox.codec import encode
from pyrepl.mailbox.greeting import Greeting
from pyrepl.mailbox.mail_conn import MailConn
from pyrepl.mailbox.peer_link import PeerLink
from pyrepl.mailbox.talk import Event, Talk, TalkOptions, TextCame
from pyrepl.mailbox.verbs import Side
from tests.unit.mailbox.talks import introduction
from tests.unit.mailbox.wire_strategies import commands

OPTIONS = TalkOptions(line_bytes=1 << 20, text_bytes=100)
TAGS = st.just("*") | st.from_regex(r"[A-Za-z0-9]{1,16}", fullmatch=True)


def proof() -> bytes:
    """What a says to b, whose HELLO it has heard."""
    greeting = Greeting(introduction("a").hello(), b"s3", calls=True)
    greeting.hear(introduction("b").hello())
    return encode(greeting.mine) + encode(greeting.proof())


GREETING = proof()


@st.composite
def conversations(draw: st.DrawFn) -> bytes:
    """A greeting, commands with texts, sometimes nonsense behind them or in place of all."""
    said = b"" if draw(st.integers(0, 9)) == 0 else GREETING
    for command, tag, text in draw(st.lists(st.tuples(commands(), TAGS, st.binary(max_size=120)), max_size=5)):
        has_text = command.HAS_TEXT and draw(st.booleans())
        said += encode(command, tag, len(text) if has_text else None) + (text if has_text else b"")
    return said + draw(st.sampled_from([b"", b"\x00\n", b"x" * 200, b"1 FROB {3}\nabc1 PING\n", b"* QUIT\nmore"]))


def heard(talk: Talk, pieces: list[bytes]) -> tuple[list[Event], bytes]:
    """All events, texts joined, and what was said."""
    events: list[Event] = []
    said = b""
    for piece in pieces:
        talk.receive(piece, 0.0)
        said += b"".join(talk.data_to_send())
        for event in talk.events():
            before = events[-1] if events else None
            if isinstance(event, TextCame) and isinstance(before, TextCame) and not before.is_last:
                events[-1] = TextCame(before.data + event.data, event.is_last)
            else:
                events.append(event)
    return events, said


def ends(side: Side) -> Talk:
    if side is Side.NODE:
        return PeerLink(introduction("b"), "", OPTIONS, 0.0)
    return MailConn(introduction("b"), OPTIONS, 0.0, is_local=False)


@settings(max_examples=60)
@given(conversations(), st.lists(st.integers(0, 3000), max_size=8), st.sampled_from(Side))
def test_any_cuts_give_the_same_events(wire: bytes, cuts: list[int], side: Side) -> None:
    places = [0, *sorted(min(cut, len(wire)) for cut in cuts), len(wire)]
    assert heard(ends(side), [wire[a:b] for a, b in pairwise(places)]) == heard(ends(side), [wire])


@given(st.binary(max_size=300), st.booleans(), st.sampled_from(Side))
def test_whatever_comes_is_heard_or_refused(data: bytes, is_greeted: bool, side: Side) -> None:
    talk = ends(side)
    heard(talk, [GREETING] if is_greeted else [])
    events, said = heard(talk, [data])
    texts = sum(len(event.data) for event in events if isinstance(event, TextCame))
    assert texts <= len(data)
    assert talk.is_over or talk.next_deadline() is not None
    assert len(said) < 20 * (len(data) + 100)
