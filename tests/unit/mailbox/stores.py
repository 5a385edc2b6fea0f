"""The stores of messages, each with what its tests need: texts that have come, and a start anew."""

from __future__ import annotations

from typing import Final, Protocol

from pyrepl.daemon.mailbox.drop_folder import text_name
from pyrepl.mailbox.store import DONE, SURE, AddMessage, MessageStore, StoredBox, Work
from pyrepl.mailbox.words import Dot
from tests.simulation.mailbox.model_store import ModelStore, Uids
from tests.unit.daemon.mailbox.store_rig import new_disk, new_store
from tests.unit.mailbox.packed_store import PackedStore

USER: Final = "alice"
BOX: Final = f"{1:032x}"
OTHER: Final = f"{2:032x}"
TEXT: Final = b"text"
AT: Final = Dot("b", 99)


def plain(stored: dict[str, StoredBox]) -> dict[str, StoredBox]:
    """Without what is known of flags."""
    return {guid: box._replace(unsure=SURE, carried=None) for guid, box in stored.items()}


class Rig(Protocol):
    """A store, and how a text comes to it."""

    store: MessageStore
    size: int

    def add(self, guid: str, uid: int, *flags: str, box: str = BOX, at: Dot = AT) -> AddMessage: ...

    def restart(self) -> None: ...

    def done(self, *works: Work) -> None: ...


class _Rig:
    store: MessageStore
    size = len(TEXT)

    def add(self, guid: str, uid: int, *flags: str, box: str = BOX, at: Dot = AT) -> AddMessage:
        """The work for a message whose text has come."""
        self.drop(at, guid)
        return AddMessage(USER, box, guid, uid, flags, 1_700_000_000, len(TEXT), text_name(at, guid), at)

    def drop(self, at: Dot, guid: str) -> None:
        """Its text comes."""

    def restart(self) -> None:
        """The process begins anew."""

    def done(self, *works: Work) -> None:
        results = self.store.perform(works)
        assert results == [DONE] * len(works), results


class ModelRig(_Rig):
    def __init__(self) -> None:
        self.store = ModelStore(Uids())


class PackedRig(_Rig):
    def __init__(self) -> None:
        self.packed = PackedStore()
        self.store = self.packed

    def drop(self, at: Dot, guid: str) -> None:
        self.packed.came[text_name(at, guid)] = TEXT


class MaildirRig(_Rig):
    def __init__(self) -> None:
        self.disk = new_disk()
        self.maildirs = new_store(self.disk, is_new=True)
        self.store = self.maildirs

    def drop(self, at: Dot, guid: str) -> None:
        coming = self.maildirs.drop.begin(at, guid)
        coming.write(TEXT)
        coming.finish(1_700_000_000, len(TEXT), ())

    def restart(self) -> None:
        self.maildirs = new_store(self.disk)
        self.store = self.maildirs
