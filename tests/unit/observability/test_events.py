"""The catalogue of events: complete, distinct, and worded as alerts expect."""

from __future__ import annotations

import inspect
import string

import pytest

from pyrepl.observability import events
from pyrepl.observability.event import Event

SAMPLES = {"str": "x", "int": 3, "float": 1.5, "bool": True}


def sample(kind: type[Event]) -> Event:
    types = {name: note for base in kind.__mro__ for name, note in inspect.get_annotations(base).items()}
    return kind(**{name: SAMPLES[types[name]] for name in kind.FIELDS})


@pytest.mark.parametrize("kind", events.EVENTS, ids=lambda kind: kind.__name__)
def test_every_event_is_a_record_with_a_sentence(kind: type[Event]) -> None:
    assert "__annotations__" in vars(kind) and "FIELDS" in vars(kind)
    shown = {name for _, name, _, _ in string.Formatter().parse(kind.TEXT) if name}
    assert shown <= set(kind.FIELDS)
    text = sample(kind).text()
    assert text and text == text.strip() and "{" not in text


def test_names_are_distinct() -> None:
    names = [sample(kind).name for kind in events.EVENTS]
    assert len(set(names)) == len(names)


def test_catalogue_holds_every_record_of_the_module() -> None:
    declared = [kind for kind in vars(events).values() if isinstance(kind, type) and issubclass(kind, Event)]
    assert set(declared) - {Event, events.MailboxWord, events.MailboxNotice} == set(events.EVENTS)


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (events.ReadyToAcceptConnections("tcp"), "Ready to accept connections tcp"),
        (events.ReplicaAsksForSync("h:1"), "Replica h:1 asks for synchronization"),
        (
            events.PartialResyncAccepted("h:1", 120, 58),
            "Partial resynchronization request from h:1 accepted. Sending 120 bytes of backlog starting from offset "
            "58.",
        ),
        (events.ReplicaSynchronized("h:1"), "Synchronization with replica h:1 succeeded"),
        (events.SavingStarted(12), "Background saving started by pid 12"),
        (events.PartialResyncTried("ab", 51), "Trying a partial resynchronization (request ab:51)."),
        (events.LoadedFromDisk(0.25), "DB loaded from disk: 0.250 seconds"),
        (
            events.BacklogCreated("a", "b"),
            "Replication backlog created, my new replication IDs are 'a' and 'b'",
        ),
        (events.ByeBye(), "pyrepl is now ready to exit, bye bye..."),
    ],
)
def test_sentences_of_redis(event: Event, text: str) -> None:
    """As printed by redis-server 8.2.3."""
    assert event.text() == text


@pytest.mark.parametrize(
    ("event", "start"),
    [
        (events.FullResyncRequested("h:1", "past_fork by 3 bytes"), "Full resync requested by replica h:1"),
        (events.ReplicaLost("h:1", "timeout"), "Connection with replica h:1 lost."),
        (events.MasterLost("timeout"), "Connection with master lost."),
        (events.FullResyncFromMaster("ab", 0, "first"), "Full resync from master: ab:0"),
    ],
)
def test_what_we_add_stands_behind(event: Event, start: str) -> None:
    assert event.text().startswith(start)
    assert "(cause: " in event.text()


@pytest.mark.parametrize(("skipped", "word"), [(True, "skipped"), (False, "stopped")])
def test_unknown_command_says_what_follows(skipped: bool, word: str) -> None:
    text = events.UnknownStreamCommand("FOO", 99, skipped).text()
    assert "'FOO' at offset 99" in text and word in text
