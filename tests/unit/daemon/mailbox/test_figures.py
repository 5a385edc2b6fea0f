"""INFO mailboxes of nodes at work."""

from __future__ import annotations

from pathlib import Path

from tests.unit.daemon.mailbox.mail_rig import MailProcess, cluster, members, settings_of
from tests.unit.daemon.rig import Peer, in_loop, running, until


async def info(asking: Peer) -> dict[str, str]:
    text = (await asking.say("INFO mailboxes")).decode()
    return dict(line.split(":", 1) for line in text.splitlines()[1:])


@in_loop
async def test_what_was_done_is_counted_on_each_side(tmp_path: Path) -> None:
    async with cluster(tmp_path, "ab") as nodes:
        one, two = await MailProcess.of(tmp_path / "a"), await MailProcess.of(tmp_path / "b")
        await one.ask("CREATE alice INBOX")
        await one.ask("CREATE alice Work")
        await one.save("G1")
        assert (await two.save("G2")).endswith("acks=1"), "so the mastership moved"
        await one.ask("STORE alice INBOX uids=1 add=\\Seen")
        await one.ask("EXPUNGE alice INBOX uids=1")
        await one.ask("DELETE alice Work")
        await one.ask("CHECK alice")
        here, there = await nodes["a"].peer(), await nodes["b"].peer()
        shown, other = await info(here), await info(there)
        assert shown["mailbox_port"] == str(nodes["a"].app.node.settings.mailbox_port)
        assert (shown["mailbox_node"], other["mailbox_node"]) == ("a", "b")
        assert shown["mailbox_ready"] == "1" and shown["mailbox_root"] == other["mailbox_root"] == "a"
        for each in (shown, other):
            assert (each["mailbox_boxes"], each["mailbox_messages"]) == ("1", "1")
            assert each["mailbox_burned"] == each["mailbox_apart"] == each["mailbox_ops_waiting"] == "0"
            assert int(each["mailbox_journal_bytes"]) > 0
        assert (shown["mailbox_ops_sent"], other["mailbox_ops_applied"]) == ("6", "6")
        assert (other["mailbox_ops_sent"], shown["mailbox_ops_applied"]) == ("1", "1")
        assert (shown["mailbox_moves"], other["mailbox_moves"]) == ("0", "1")
        assert shown["mailbox_processes"] == "1" and shown["mailbox_lag_ms"] == "0"
        assert shown["mailbox_member0"].endswith("link=self,lag_ops=0,lag_ms=0")
        assert shown["mailbox_member1"].startswith("name=b,address=127.0.0.1:")
        state = nodes["a"].app.node.mailboxes
        assert state is not None
        await until(lambda: state.members[1][2:] == ("up", 0, 0))


@in_loop
async def test_a_node_that_is_apart_says_for_how_long_and_who_lags(tmp_path: Path) -> None:
    async with running(tmp_path / "a", **settings_of(tmp_path / "a", "a", members("ab"))) as node:
        state = node.app.node.mailboxes
        assert state is not None
        one = await MailProcess.of(tmp_path / "a")
        await one.ask("CREATE alice INBOX")
        await until(lambda: state.is_apart)
        assert (await one.save("G1")).endswith("acks=0")
        await until(lambda: state.members[1].lag_ms > 0)
        shown = await info(await node.peer())
        assert shown["mailbox_apart"] == "1" and float(shown["mailbox_apart_seconds"]) > 0
        assert shown["mailbox_single_copy"] == "2"
        assert ",link=down,lag_ops=2,lag_ms=" in shown["mailbox_member1"]
