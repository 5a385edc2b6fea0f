"""What INFO shows of the event log before anything happened."""

from __future__ import annotations

from pyrepl.node.event_log import EventLogUse
from pyrepl.observability.info.persistence import PERSISTENCE
from tests.unit.daemon.rig import bare_node


def test_off_and_empty_to_begin_with() -> None:
    use = EventLogUse()
    assert not use.enabled and use.write_error == ""
    assert use.written == use.dropped == use.waiting_bytes == use.file_bytes == 0


def test_info_has_its_lines_while_it_is_written() -> None:
    node = bare_node()
    assert "event_log_enabled:0\r\n" in PERSISTENCE.text(node)
    assert "event_log_dropped" not in PERSISTENCE.text(node)
    node.event_log.enabled = True
    node.event_log.dropped = 3
    assert "event_log_enabled:1\r\n" in PERSISTENCE.text(node)
    assert "event_log_dropped:3\r\n" in PERSISTENCE.text(node)
    assert "event_log_last_write_status:ok\r\n" in PERSISTENCE.text(node)
    node.event_log.write_error = "No space left on device"
    assert "event_log_last_write_status:err\r\n" in PERSISTENCE.text(node)
