"""The LMTP proxy: what is stored is told when other nodes have it, and never refused afterwards."""

from __future__ import annotations

from pyrepl.mailbox.lmtp import MOST_EXPECTED, MOST_LINE, MOST_REPLY, MOST_UNKNOWN, SILENCE_S, LmtpProxy, Stored
from pyrepl.mailbox.lmtp_states import LmtpState

TEXT = b"Subject: x\r\n\r\nx\r\n.\r\n"
GO = b"354 OK\r\n"


class Rig:
    """A proxy with a mail server before it and a Dovecot behind."""

    def __init__(self) -> None:
        self.marks = 0
        self.must_refuse = False
        self.proxy = LmtpProxy(self._mark, lambda: self.must_refuse, 0.0)
        assert self.backend(b"220 ready\r\n") == b"220 ready\r\n"

    def _mark(self) -> int:
        self.marks += 1
        return self.marks

    def client(self, data: bytes) -> bytes:
        """The client says something: what Dovecot hears."""
        self.proxy.receive_from_client(data, 1.0)
        return b"".join(self.proxy.data_to_backend())

    def backend(self, data: bytes) -> bytes:
        """Dovecot says something: what the client hears."""
        self.proxy.receive_from_backend(data, 1.0)
        return self.heard()

    def heard(self) -> bytes:
        return b"".join(self.proxy.data_to_client())

    def deliver(self, *recipients: bytes) -> None:
        """Up to the end of the text."""
        for line in (b"LHLO x", b"MAIL FROM:<a>", *recipients):
            assert self.client(line + b"\r\n") == line + b"\r\n"
            self.backend(b"550 no\r\n" if b"nobody" in line else b"250 ok\r\n")
        assert self.client(b"DATA\r\n") == b"DATA\r\n" and self.backend(GO) == GO
        assert self.client(TEXT) == TEXT and self.proxy.state is LmtpState.SAVING


def test_a_delivery_is_told_when_other_nodes_have_it() -> None:
    rig = Rig()
    rig.deliver(b"RCPT TO:<alice>", b"RCPT TO:<nobody>", b"RCPT TO:<bob>")
    assert rig.backend(b"250 alice has it\r\n") == b"" and rig.proxy.events() == []
    assert rig.backend(b"452 bob is full\r\n") == b"" and rig.proxy.events() == [Stored(1, ("alice", "bob"))]
    assert not rig.proxy.wants_client and rig.client(b"QUIT\r\n") == b"", "one after the other"
    rig.proxy.told(2.0)
    assert rig.heard() == b"250 alice has it\r\n452 bob is full\r\n"
    assert b"".join(rig.proxy.data_to_backend()) == b"QUIT\r\n"
    assert rig.backend(b"221 bye\r\n") == b"221 bye\r\n" and rig.proxy.is_over
    rig.proxy.backend_gone()
    assert rig.heard() == b""


def test_what_nobody_has_is_told_at_once() -> None:
    rig = Rig()
    rig.deliver(b"RCPT TO:<alice>")
    assert rig.backend(b"452 full\r\n") == b"452 full\r\n"
    assert rig.proxy.events() == [] and rig.proxy.state is LmtpState.COMMANDS


def test_what_is_to_be_on_two_nodes_is_refused_before_it_is_stored() -> None:
    rig = Rig()
    rig.must_refuse = True
    said = b"MAIL FROM:<a>\r\nRCPT TO:<alice>\r\nDATA\r\n"
    assert rig.client(said) == said.replace(b"DATA", b"RSET")
    heard = rig.backend(b"250 a\r\n250 b\r\n250 reset\r\n")
    assert heard.startswith(b"250 a\r\n250 b\r\n451 4.3.2 ") and heard.endswith(b"\r\n")
    rig.must_refuse = False
    assert rig.client(b"RSET\r\n") == b"RSET\r\n" and rig.backend(b"250 c\r\n") == b"250 c\r\n"


def test_a_refused_data_and_a_new_mail() -> None:
    rig = Rig()
    assert rig.client(b"DATA\r\nRSET\r\n") == b"DATA\r\n"
    assert rig.backend(b"503 no recipients\r\n") == b"503 no recipients\r\n"
    assert b"".join(rig.proxy.data_to_backend()) == b"RSET\r\n", "it was said meanwhile"
    rig.backend(b"250 ok\r\n")
    rig.deliver(b"RCPT TO:<alice>")
    assert rig.backend(b"250 alice has it\r\n") == b"" and len(rig.proxy.events()) == 1, "one recipient, not two"


def test_replies_come_in_the_order_of_commands() -> None:
    rig = Rig()
    assert rig.client(b"NOOP\r\nBDAT 5\r\nSTARTTLS\r\nNOOP a\rb\r\nVRFY x\r\n") == b"NOOP\r\nVRFY x\r\n"
    assert rig.heard() == b""
    heard = rig.backend(b"250 noop\r\n252 perhaps\r\n").splitlines()
    assert [line[:3] for line in heard] == [b"250", b"502", b"502", b"502", b"252"]
    assert rig.client(b"HELP\r\n") == b"" and rig.heard().startswith(b"502 ")


def test_extensions_that_would_hide_the_end_of_a_text_are_not_told() -> None:
    rig = Rig()
    rig.client(b"LHLO x\r\n")
    said = b"250-host\r\n250-STARTTLS\r\n250-8BITMIME\r\n250-CHUNKING\r\n250-SIZE 100\r\n250 XCLIENT ADDR\r\n"
    assert rig.backend(said[:30]) == b""
    assert rig.backend(said[30:]) == b"250-host\r\n250-8BITMIME\r\n250 SIZE 100\r\n"


def test_a_backend_that_goes_leaves_no_stored_mail_untold() -> None:
    rig = Rig()
    rig.deliver(b"RCPT TO:<alice>", b"RCPT TO:<bob>")
    rig.backend(b"250 alice has it\r\n")
    rig.proxy.backend_gone()
    assert rig.heard() == b"" and rig.proxy.events() == [Stored(1, ("alice", "bob"))] and not rig.proxy.is_over
    rig.proxy.told(2.0)
    first, second, last = rig.heard().splitlines()
    assert (first, second[:3], last[:3]) == (b"250 alice has it", b"451", b"421") and rig.proxy.is_over


def test_a_backend_that_goes_while_other_nodes_are_waited_for() -> None:
    rig = Rig()
    rig.deliver(b"RCPT TO:<alice>")
    rig.backend(b"250 alice has it\r\n421 shutting down\r\n")
    assert rig.heard() == b"" and not rig.proxy.is_over
    rig.proxy.told(2.0)
    assert [line[:3] for line in rig.heard().splitlines()] == [b"250", b"421"]


def test_a_backend_that_goes_between_mails() -> None:
    rig = Rig()
    rig.proxy.backend_gone()
    assert rig.heard().startswith(b"421 ") and rig.proxy.is_over
    rig = Rig()
    assert rig.backend(b"421 idle for too long\r\n") == b"421 idle for too long\r\n" and rig.proxy.is_over


def test_what_is_no_reply_ends_it() -> None:
    for said in (b"hello\r\n", b"999 x\r\n", b"250-" + b"x" * MOST_REPLY):
        rig = Rig()
        assert rig.backend(said).startswith(b"421 ") and rig.proxy.is_over


def test_what_is_no_command_ends_it() -> None:
    rig = Rig()
    rig.client(b"x" * MOST_LINE)
    assert rig.heard().startswith(b"500 ") and rig.proxy.is_over
    assert rig.client(b"NOOP\r\n") == b""


def test_commands_without_replies_are_not_gathered_for_ever() -> None:
    rig = Rig()
    asked = rig.client(b"NOOP\r\n" * 2 * MOST_EXPECTED)
    assert asked.count(b"NOOP") == MOST_EXPECTED and not rig.proxy.wants_client
    rig.backend(b"250 ok\r\n")
    assert b"".join(rig.proxy.data_to_backend()) == b"NOOP\r\n"


def test_silence_ends_it_but_not_while_other_nodes_are_waited_for() -> None:
    rig = Rig()
    rig.proxy.tick(SILENCE_S)
    assert not rig.proxy.is_over
    rig.deliver(b"RCPT TO:<alice>")
    rig.backend(b"250 alice has it\r\n")
    rig.proxy.tick(9 * SILENCE_S)
    assert not rig.proxy.is_over
    rig.proxy.told(9 * SILENCE_S)
    rig.proxy.tick(10 * SILENCE_S)
    assert rig.heard().endswith(b"421 4.4.2 Nothing was said for too long\r\n") and rig.proxy.is_over


def test_a_backend_that_falls_silent_leaves_no_stored_mail_untold() -> None:
    rig = Rig()
    rig.deliver(b"RCPT TO:<alice>", b"RCPT TO:<bob>")
    rig.backend(b"250 alice has it\r\n")
    rig.proxy.tick(2 * SILENCE_S)
    assert rig.heard() == b"" and rig.proxy.events() == [Stored(1, ("alice", "bob"))] and not rig.proxy.is_over
    rig.proxy.told(2 * SILENCE_S)
    first, second, last = rig.heard().splitlines()
    assert (first, second[:3], last[:3]) == (b"250 alice has it", b"451", b"421") and rig.proxy.is_over


def test_who_says_what_no_mail_server_says_is_left() -> None:
    rig = Rig()
    assert rig.client(b"HELP\r\n" * MOST_UNKNOWN + b"NOOP\r\n") == b"NOOP\r\n"
    assert rig.backend(b"250 ok\r\n").count(b"502 ") == MOST_UNKNOWN and not rig.proxy.is_over
    rig.client(b"\n" * 1000)
    heard = rig.heard().splitlines()
    assert len(heard) == MOST_UNKNOWN + 1 and heard[-1].startswith(b"421 ") and rig.proxy.is_over


def test_a_mail_that_is_refused_within_another_leaves_that_one_its_recipients() -> None:
    rig = Rig()
    rig.client(b"LHLO x\r\nMAIL FROM:<>\r\nRCPT TO:<a>\r\nRCPT TO:<b>\r\nMAIL FROM:<>\r\nDATA\r\n")
    rig.backend(b"250 x\r\n250 ok\r\n250 a\r\n250 b\r\n503 nested\r\n354 go\r\n")
    rig.client(TEXT)
    assert rig.backend(b"250 stored a\r\n") == b"" and rig.proxy.events() == []
    assert rig.backend(b"250 stored b\r\n") == b"" and rig.proxy.events() == [Stored(1, ("a", "b"))]
    rig.proxy.told(2.0)
    assert rig.heard() == b"250 stored a\r\n250 stored b\r\n" and not rig.proxy.is_over


def test_a_greeting_that_is_said_again_voids_recipients() -> None:
    rig = Rig()
    rig.client(b"MAIL FROM:<>\r\nRCPT TO:<a>\r\n")
    rig.backend(b"250 ok\r\n250 a\r\n")
    rig.deliver(b"RCPT TO:<b>")
    assert rig.backend(b"250 stored b\r\n") == b"" and rig.proxy.events() == [Stored(1, ("b",))]


def test_recipients_are_told_as_they_are_named() -> None:
    rig = Rig()
    rig.deliver(b"rcpt to: <alice+x@example.org> NOTIFY=NEVER", b'RCPT TO:<"a b"@example.org>', b"RCPT TO:<@h:bob>")
    rig.backend(b"250 one\r\n250 two\r\n250 three\r\n")
    assert rig.proxy.events() == [Stored(1, ("alice+x@example.org", "a b@example.org", "bob"))]
    rig = Rig()
    rig.deliver(b"RCPT alice")
    rig.backend(b"250 one\r\n")
    assert rig.proxy.events() == [Stored(1, ("",))], "nobody knows who that is"
