"""Lists a user's folders, as they are compared with the rows: which mailboxes are there, and what is subscribed.

Each folder is watched before it is looked at, so nothing is missed. Nothing is told while INBOX's own folders are not
there: then the whole Maildir may be missing. Not here: what follows (pyrepl.mailbox.folders).
"""

from __future__ import annotations

import os
from collections.abc import Callable

from pyrepl.daemon.mailbox.files import Files
from pyrepl.daemon.mailbox.maildirs_place import NotThere
from pyrepl.daemon.mailbox.message_files import CUR
from pyrepl.daemon.mailbox.uidlist_file import header_in
from pyrepl.daemon.mailbox.user_boxes import UserBoxes, name_before
from pyrepl.daemon.mailbox.user_folders import Place
from pyrepl.mailbox.folders import FolderOrder, FoundFolder, FoundFolders


def check_inbox(files: Files, root: bytes) -> None:
    """Raises NotThere, OSError unless the user's folder is a Maildir."""
    found = files.stat(root + b"/" + CUR)
    if found is None or not found.is_folder:
        raise NotThere(f"{os.fsdecode(root)} has no cur: is its disk mounted? No mailbox of it counts as deleted")


def found_folders(
    files: Files, boxes: UserBoxes, order: FolderOrder, follow: Callable[[str, bytes], None]
) -> FoundFolders:
    """`follow` watches a folder of a user. Raises OSError, NotThere, CorruptData."""
    for folder in boxes.folders():
        follow(order.user, folder)
    check_inbox(files, boxes.root)
    places = boxes.places()
    boxes.check_missing({*order.known, *dict(order.names)})
    found = tuple(_found(files, boxes, place, order.known) for place in places)
    unnamed, copied = (
        tuple(os.fsdecode(boxes.root + b"/" + folder) for folder in folders)
        for folders in (boxes.unnamed(), boxes.copied())
    )
    return FoundFolders(found, frozenset(boxes.subscribed()), unnamed, copied)


def _found(files: Files, boxes: UserBoxes, place: Place, known: frozenset[str]) -> FoundFolder:
    guid, name = place.guid.decode(), name_before(place)
    if guid in known:
        return FoundFolder(place.name, guid)
    path = boxes.path(place)
    header = header_in(files, path)
    return FoundFolder(
        place.name if name is None else name,
        guid,
        0 if header is None else header.uidvalidity,
        boxes.has_mail(path),
        is_aside=name is not None,
    )
