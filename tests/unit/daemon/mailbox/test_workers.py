"""A user's works are done in order by one thread; others go on beside."""

from __future__ import annotations

import threading

from pyrepl.daemon.mailbox.workers import Workers
from pyrepl.mailbox.store import MakeBox, Outcome, RemoveMessage, Work
from tests.unit.daemon.mailbox.store_rig import INBOX_ID, USER, add, make_box, new_disk, new_store
from tests.unit.daemon.rig import in_loop


@in_loop
async def test_results_come_in_the_order_of_the_works() -> None:
    disk = new_disk()
    stores = [new_store(disk, is_new=number == 0) for number in range(3)]
    workers = Workers(stores)
    others = [MakeBox(f"user{number}", f"{number:032x}", "INBOX", 7, 1) for number in range(10, 16)]
    lost = RemoveMessage("nobody", INBOX_ID, "G")
    works: list[Work] = [make_box(), *others[:3], lost, add(stores[0], "G1", 1, b"hello"), *others[3:]]
    results = await workers.perform(works)
    assert [result.outcome for result in results] == [
        Outcome.FAILED if work is lost else Outcome.DONE for work in works
    ]
    workers.stop()


@in_loop
async def test_r3_a_user_has_one_thread() -> None:
    disk = new_disk()
    workers = Workers([new_store(disk, is_new=number == 0) for number in range(3)])
    names = {
        user: {workers.run(user, lambda store: threading.current_thread().name).result() for _ in range(5)}
        for user in [USER, *map(str, range(20))]
    }
    assert all(len(threads) == 1 for threads in names.values())
    assert len({name for threads in names.values() for name in threads}) == 3
    assert workers.run(USER, lambda store: store.users).exception() is None
    workers.stop()


def test_who_waits_for_the_threads_finds_their_works_done() -> None:
    disk = new_disk()
    workers = Workers([new_store(disk, is_new=True)])
    begun, may_end, done = threading.Event(), threading.Event(), list[str]()

    def work(name: str) -> None:
        begun.set()
        may_end.wait()
        done.append(name)

    workers.run(USER, lambda store: work("one"))
    other = workers.run(USER, lambda store: work("two"))
    begun.wait()
    workers.stop()
    waiting = threading.Thread(target=workers.wait)
    waiting.start()
    assert waiting.is_alive() and other.cancelled(), "what was not begun is not done any more"
    may_end.set()
    waiting.join()
    assert done == ["one"]
