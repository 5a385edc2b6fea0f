"""A kernel that watches fewer folders than a node has: gates stay shut, and are opened in turn."""

from __future__ import annotations

import threading
from typing import Final

from tests.fault.mailbox_cluster import USER
from tests.interop.dovecot_pair import append, dovecot_pair
from tests.peers.lab import Lab, pyrepl_command, wait_until

TEXT: Final = b"Subject: one\r\n\r\nline\r\n"
FOLDERS: Final = ("One", "Two", "Three")
WATCHES: Final = 3
FEW: Final = [
    *("unshare", "--user", "--map-root-user", "sh", "-c"),
    f'echo {WATCHES} > /proc/sys/user/max_inotify_watches && exec "$@"',
    "sh",
]


def test_clients_of_mailboxes_that_are_not_watched_wait_for_their_turn(lab: Lab) -> None:
    with dovecot_pair(lab, more={"mailbox-poll": "100"}) as pair:
        one = pair.imap("a")
        for folder in FOLDERS:
            one.create(folder)
            append(one, TEXT, folder=folder)
            wait_until("b has it", lambda: len(pair.imap("b").list()[1]) > FOLDERS.index(folder))  # noqa: B023
        pair.cluster.client("b").check()
        pair.cluster.nodes["b"].terminate()
        pair.programs["b"] = [*FEW, *pyrepl_command()]
        pair.start("b")
        pair.cluster.nodes["b"].wait_log("watches_run_out")
        assert "gate_failed" not in pair.cluster.nodes["b"].log()
        given: dict[str, list[int]] = {"a": [], "b": []}

        def save(node: str) -> None:
            session = pair.dovecots[node].imap(USER)
            for _ in range(2):
                given[node] += [append(session, TEXT, folder=folder) for folder in FOLDERS]

        threads = [threading.Thread(target=save, args=(node,), daemon=True) for node in "ab"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        assert [len(uids) for uids in given.values()] == [6, 6]
        for folder in FOLDERS:
            found = pair.wait_equal(pair.imap("a", folder), pair.imap("b", folder))
            assert len(found) == 5, "one of before, and two of each"
        for place in range(len(FOLDERS)):
            uids = [uid for each in given.values() for uid in each[place :: len(FOLDERS)]]
            assert len(set(uids)) == 4, "no UID names two messages"
