"""The child that makes a snapshot for replicas: to a file, or straight to their wires."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyrepl.replication.events import SnapshotTarget
from pyrepl.replication.transfer import encode_mark_header

if TYPE_CHECKING:
    from tests.simulation.node import Node


class Child:
    """One node's child, when there is one. What it does goes on while its parent is frozen."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._serial = 0

    def stop(self) -> None:
        """It is killed; the parent hears of it a moment later."""
        self._serial += 1
        serial = self._serial
        self._node.clock.after(0.01, lambda: self._reap(False, serial))

    def fork(self, target: SnapshotTarget) -> None:
        """StartSnapshot: the data of this moment, for all that wait for them."""
        node = self._node
        self._serial += 1
        if node.rng.random() < node.world.child_failures:
            node.world.seen["fork failed"] += 1
            node.roster.snapshot_ended(False, node.clock.now, detail="fork")
            return
        stream_db = node.data.stream_db if node.role.is_replica else 0
        served = node.roster.snapshot_started(node.clock.now, stream_db=stream_db)
        if not served:
            return
        node.world.seen[f"snapshot to {target}"] += 1
        node.world.seen["snapshot shared"] += len(served) > 1
        snapshot = node.data.dump(stream_db)
        if target is SnapshotTarget.DISK:
            self._write_file(snapshot)
        else:
            self._write_wires(snapshot, [session.id for session in served])

    def _write_file(self, snapshot: bytes) -> None:
        node, serial = self._node, self._serial
        node.world.files[node.name] = snapshot
        ok = self._goes_well()
        node.clock.after(node.rng.random() * 3, lambda: self._reap(ok, serial, len(snapshot)))

    def _write_wires(self, snapshot: bytes, served: list[int]) -> None:
        node, serial = self._node, self._serial
        mark = b"%040x" % node.rng.getrandbits(160)
        took_s = node.rng.random() * 3
        payload = encode_mark_header(mark) + snapshot + mark
        attached = [each for each in node.attached.values() if each.session.id in served]
        for each in attached:
            for piece in each.session.data_to_send():
                each.wire.send(1, piece)
        half = node.rng.randint(0, len(payload))
        for each in attached:
            each.wire.send(1, payload[:half])

        def finish() -> None:
            if serial == self._serial and not node.is_gone:
                ok = self._goes_well()
                failed = [each.session.id for each in attached if not each.wire.is_open]
                for each in attached if ok else []:
                    each.wire.send(1, payload[half:])
                node.clock.after(node.rng.random() * 2, lambda: self._reap(ok, serial, failed=failed))

        node.clock.after(took_s, finish)

    def _goes_well(self) -> bool:
        ok = self._node.rng.random() >= self._node.world.child_failures
        self._node.world.seen["child failed"] += not ok
        return ok

    def _reap(self, ok: bool, serial: int, size_bytes: int = 0, failed: list[int] | None = None) -> None:
        node = self._node
        if node.is_frozen:
            node.clock.at(node.frozen_until, lambda: self._reap(ok, serial, size_bytes, failed))
        elif serial == self._serial and not node.is_gone and node.roster.running is not None:
            self._serial += 1
            node.roster.snapshot_ended(ok, node.clock.now, size_bytes=size_bytes, failed=failed or [])
            node.settle()
