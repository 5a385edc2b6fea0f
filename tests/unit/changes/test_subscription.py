"""A subscriber's connection: the published dialogue, catching up and live, signs of life, limits, passwords."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyrepl.acl.denial import Refused
from pyrepl.changes.block import Block
from pyrepl.changes.subscription import LOW_WATER_BYTES, PING_PERIOD_S, TIMEOUT_S, Denied, Heard, Wanted
from pyrepl.changes.verbs import (
    ClearUserSync,
    FederationAck,
    InvalidateCache,
    RemoteServerUp,
    RemovePusher,
    UserIp,
    UserSync,
)
from tests.unit.changes.rig import REPLID, FakeCatalog, Rig, users_of

GREETING = "SERVER node-a\nPING 0\n"


@pytest.fixture
def rig() -> Rig:
    return Rig(FakeCatalog(keys=10, caches=10))


def test_the_published_dialogue_byte_by_byte() -> None:
    """Document 000's example, with its times: the server's lines are exactly those shown."""
    catalog = FakeCatalog("localhost:8823", events=1, backfill=1, caches=1)
    rig = Rig(catalog, unix_ms=1490197665618)
    assert rig.wire.decode() == "SERVER localhost:8823\nPING 1490197665618\n"
    said = rig.say(
        "NAME synapse.app.appservice",
        "PING 1490197665618",
        "REPLICATE events 1",
        "REPLICATE backfill 1",
        "REPLICATE caches 1",
    )
    assert said == "POSITION events 1\nPOSITION backfill 1\nPOSITION caches 1\n"
    rig.now = 4.895
    row = '["get_user_by_id",["@01register-user:localhost:8823"],1490197670513]'
    assert rig.live(catalog.add("caches", 2, row)) == f"RDATA caches 2 {row}\n"
    rig.now = 6.0
    row = '["$149019767112vOHxz:localhost:8823","!AFDCvgApUmpdfVjIXm:localhost:8823","m.room.guest_access","",null]'
    assert rig.live(catalog.add("events", 14, row)) == f"RDATA events 14 {row}\n"
    rig.now = 10.0
    assert rig.say("PING 1490197675618") == ""
    rig.subscription.close("server stopping")
    assert rig.work() == "ERROR server stopping\n"
    assert [(one.reason, one.is_fault) for one in rig.ended] == [("server stopping", False)]


def test_the_published_batch() -> None:
    rig = Rig(FakeCatalog(caches=53))
    rig.say("REPLICATE caches NOW")
    rows = [f'["get_user_by_id",["@test{n}:localhost:8823"],1490197670513]' for n in ("", 2, 3, 4)]
    assert rig.live(rig.catalog.add("caches", 54, *rows)) == (
        f"RDATA caches batch {rows[0]}\nRDATA caches batch {rows[1]}\nRDATA caches batch {rows[2]}\n"
        f"RDATA caches 54 {rows[3]}\n"
    )


class TestRows:
    def test_the_rows_after_the_token_then_the_position_then_live(self, rig: Rig) -> None:
        for token in range(11, 15):
            rig.catalog.add("keys", token, f"[{token}]")
        rig.at_most = 1
        assert rig.say("REPLICATE keys 12") == "RDATA keys 13 [13]\nRDATA keys 14 [14]\nPOSITION keys 14\n"
        assert rig.live(rig.catalog.add("keys", 20, "[20]")) == "RDATA keys 20 [20]\n"
        assert rig.subscription.where("keys", None) == 20

    def test_now_sends_nothing_old(self, rig: Rig) -> None:
        rig.catalog.add("keys", 11, "[11]")
        assert rig.say("REPLICATE keys NOW") == "POSITION keys 11\n"

    def test_all_streams(self, rig: Rig) -> None:
        assert rig.say("REPLICATE ALL NOW") == "POSITION keys 10\nPOSITION caches 10\n"
        assert rig.live(rig.catalog.add("caches", 11, "[1]")) == "RDATA caches 11 [1]\n"

    def test_the_form_with_writers(self, rig: Rig) -> None:
        assert rig.say("REPLICATE") == "POSITION keys w 10 10\nPOSITION caches w 10 10\n"
        assert rig.live(rig.catalog.add("keys", 12, "[1]", "[2]")) == "RDATA keys w batch [1]\nRDATA keys w 12 [2]\n"

    def test_the_missing_rows_of_one_writer(self, rig: Rig) -> None:
        rig.catalog.add("keys", 11, "[11]")
        assert rig.say("REPLICATE keys w 10") == "RDATA keys w 11 [11]\nPOSITION keys w 10 11\n"

    def test_going_back(self, rig: Rig) -> None:
        rig.say("REPLICATE keys NOW")
        rig.live(rig.catalog.add("keys", 11, "[11]"))
        assert rig.say("REPLICATE keys 10") == "RDATA keys 11 [11]\nPOSITION keys 11\n"

    def test_a_token_this_node_has_not_reached(self, rig: Rig) -> None:
        """Cut from a node, it comes to one that lags: what it had is not sent again."""
        assert rig.say("REPLICATE keys 15") == "POSITION keys 15\n"
        assert rig.live(rig.catalog.add("keys", 12, "[12]")) == ""
        rig.catalog.add("keys", 14, "[14]")
        rig.catalog.add("keys", 17, "[17]")
        assert rig.live(Block("keys", "w", 12, 17, rig.catalog.facts["keys"][1:])) == (
            "RDATA keys 17 [17]\nPOSITION keys 17\n"
        )

    def test_rows_that_are_gone_when_they_are_read(self, rig: Rig) -> None:
        rig.catalog.oldest = 10
        rig.reads = False
        rig.subscription.note_unsent(LOW_WATER_BYTES)
        rig.say("REPLICATE keys 10")
        rig.catalog.oldest = 50
        rig.subscription.note_unsent(0)
        assert rig.work() == "ERROR TOOOLD 50 (stream keys)\n"

    def test_a_quiet_stream_tells_where_it_is(self, rig: Rig) -> None:
        rig.say("REPLICATE keys NOW")
        assert rig.live(Block("keys", "w", 10, 90, ())) == ""
        assert rig.wait(PING_PERIOD_S) == "POSITION keys 90\n"
        assert rig.wait(PING_PERIOD_S) == "PING 10000\n", "nothing new to tell"


class TestRefused:
    @pytest.mark.parametrize(
        "line, text",
        [
            ("REPLICATE nosuch 5", "NOSTREAM unknown stream nosuch; known here: keys, caches"),
            ("REPLICATE keys v 5", "NOSTREAM unknown writer of keys v; known here: w"),
            ("REPLICATE keys 3", "TOOOLD 5 (stream keys)"),
            ("REPLICATE ALL 5", "ALL can be followed from NOW only: name a stream to go on at a token"),
            ("RDATA keys 5 []", "RDATA is no command of a client"),
            ("NOSUCH", "unknown command 'NOSUCH'"),
            ("NAME " + "x" * 20_000, "expected lines of at most 16384 bytes, got a longer one"),
        ],
    )
    def test_bad_lines(self, rig: Rig, line: str, text: str) -> None:
        rig.catalog.oldest = 5
        assert rig.say(line, "REPLICATE keys NOW") == f"ERROR {text}\n"
        assert [one.is_fault for one in rig.ended] == [True]
        assert rig.subscription.next_deadline() is None
        assert rig.say("REPLICATE keys NOW") == rig.live(rig.catalog.add("keys", 11, "[]")) == ""

    def test_while_loading(self, rig: Rig) -> None:
        rig.catalog.loading = True
        assert rig.say("REPLICATE keys NOW") == "ERROR LOADING (stream keys)\n"

    def test_the_clients_error_ends_it(self, rig: Rig) -> None:
        assert rig.say("ERROR I give up") == ""
        assert [one.reason for one in rig.ended] == ["the client says: I give up"]

    def test_a_row_beyond_the_limit(self, rig: Rig) -> None:
        rig.options.row_bytes = 100
        rig.say("REPLICATE keys NOW")
        assert rig.live(rig.catalog.add("keys", 11, "[" + "1" * 70 + "]")) != ""
        assert "longer than 100 bytes" in rig.live(rig.catalog.add("keys", 12, "[" + "1" * 200 + "]"))


class TestLife:
    def test_a_ping_at_once_and_then_every_five_seconds(self, rig: Rig) -> None:
        assert rig.wire.decode() == GREETING
        assert rig.wait(PING_PERIOD_S - 0.1) == ""
        assert rig.wait(0.1) == "PING 5000\n"

    def test_rows_are_signs_of_life_too(self, rig: Rig) -> None:
        rig.say("REPLICATE keys NOW")
        rig.now = 4.0
        rig.live(rig.catalog.add("keys", 11, "[]"))
        assert rig.wait(4.9) == ""
        assert rig.wait(0.2) == "PING 9000\n"

    def test_before_a_ping_there_is_no_timeout(self, rig: Rig) -> None:
        rig.wait(1000)
        assert rig.ended == []

    def test_after_a_ping_silence_closes(self, rig: Rig) -> None:
        rig.say("PING 5")
        rig.wait(TIMEOUT_S - 0.1)
        assert rig.ended == []
        assert rig.wait(0.2).startswith("ERROR nothing was heard for 15 s")

    def test_any_line_counts(self, rig: Rig) -> None:
        rig.say("PING 5")
        for _ in range(5):
            rig.wait(TIMEOUT_S - 1)
            rig.say("NAME still.here")
        assert rig.ended == []


class TestSlow:
    def test_catching_up_is_paced_by_the_reader(self, rig: Rig) -> None:
        for token in range(11, 500):
            rig.catalog.add("keys", token, f'["{"x" * 1000}"]')
        rig.at_most, rig.reads = 10, False
        out = rig.say("REPLICATE keys 10")
        assert LOW_WATER_BYTES <= len(out) < LOW_WATER_BYTES + 11_000
        rig.subscription.note_unsent(0)
        assert len(rig.work()) < LOW_WATER_BYTES + 11_000
        assert rig.ended == []

    def test_a_live_reader_is_buffered_up_to_the_limit(self, rig: Rig) -> None:
        rig.options.output_bytes = 10_000
        rig.say("REPLICATE keys NOW")
        rig.reads = False
        token = 10
        while not rig.ended:
            token += 1
            rig.live(rig.catalog.add("keys", token, f'["{"x" * 1000}"]'))
        assert rig.subscription.unsent_bytes < 12_000
        assert rig.wire.splitlines()[-1].startswith(b"ERROR SLOW ")
        assert rig.wire.splitlines()[-2].startswith(b"RDATA keys %d " % (token - 1))

    def test_who_does_not_read_gets_no_pings(self, rig: Rig) -> None:
        rig.reads = False
        rig.say("SYNC x")
        assert rig.wait(1000) == ""

    def test_answers_nobody_reads_are_bounded(self, rig: Rig) -> None:
        rig.reads = False
        for _ in range(200):
            rig.say("SYNC " + "x" * 16_000)
        assert rig.wire.splitlines()[-1].startswith(b"ERROR SLOW ")
        assert len(rig.wire) < (1 << 20) + 20_000

    def test_a_question_is_open_until_it_is_answered(self, rig: Rig) -> None:
        rig.subscription.receive(b"REPLICATE keys 10\nREPLICATE keys 10\n", 0.0)
        wanted = [event for event in rig.subscription.events() if isinstance(event, Wanted)]
        assert len(wanted) == 2 and all(map(rig.subscription.wants, wanted))
        rig.subscription.rows(rig.catalog.read("keys", 10, 9), None, 0.0)
        assert not any(map(rig.subscription.wants, wanted))


class TestPassword:
    def test_by_a_line_of_its_own(self) -> None:
        rig = Rig(FakeCatalog(keys=10), password=b"top secret")
        assert rig.say("NAME me", "PING 5") == ""
        assert rig.say("AUTH default top secret", "REPLICATE keys NOW") == "POSITION keys 10\n"
        assert rig.subscription.name == "me"

    def test_of_the_user_default_in_one_word(self) -> None:
        rig = Rig(FakeCatalog(keys=10), password=b"secret")
        assert rig.say("AUTH secret", "REPLICATE keys NOW") == "POSITION keys 10\n"

    def test_behind_the_name(self) -> None:
        rig = Rig(FakeCatalog(keys=10), password=b"secret")
        assert rig.say("NAME me and you secret", "REPLICATE keys NOW") == "POSITION keys 10\n"
        assert rig.subscription.name == "me and you"

    def test_said_again_it_does_not_become_part_of_the_name(self) -> None:
        rig = Rig(FakeCatalog(keys=10), password=b"secret")
        rig.say("NAME me secret", "NAME me secret")
        assert rig.subscription.name == "me"
        rig.say("NAME you and me")
        assert rig.subscription.name == "you and me"

    @pytest.mark.parametrize(
        ("line", "user"),
        [
            ("AUTH wrong", b"default"),
            ("NAME me wrong", b"default"),
            ("AUTH alice wrong", b"alice"),
            ("AUTH bob secret", b"bob"),
            ("AUTH nobody secret", b"nobody"),
        ],
    )
    def test_a_wrong_one(self, line: str, user: bytes) -> None:
        rig = Rig(FakeCatalog(keys=10), users=users_of(b"secret", alice="on >other", bob="off >secret"))
        assert rig.say(line) == "ERROR WRONGPASS invalid username-password pair or user is disabled.\n"
        assert rig.denied == [Denied(Refused.AUTH, line.split()[0].encode(), user)]

    @pytest.mark.parametrize("line", ["REPLICATE keys NOW", "SYNC x", "REMOTE_SERVER_UP a", "USER_SYNC u start 1"])
    def test_nothing_without_it(self, line: str) -> None:
        rig = Rig(FakeCatalog(keys=10), password=b"secret")
        assert rig.say(line).startswith("ERROR NOAUTH")
        assert rig.heard == []

    def test_none_is_asked_for(self, rig: Rig) -> None:
        assert rig.say("AUTH whatever", "NAME a b", "REPLICATE keys NOW") == "POSITION keys 10\n"
        assert rig.subscription.name == "a b"


class TestUsers:
    def test_another_user_logs_in_with_its_own_password(self) -> None:
        rig = Rig(FakeCatalog(keys=10), users=users_of(b"secret", alice="on >top >low +psync"))
        assert rig.say("AUTH alice low", "REPLICATE keys NOW") == "POSITION keys 10\n"
        assert rig.subscription.rights.identity.name == b"alice"

    def test_what_may_not_be_followed(self) -> None:
        rig = Rig(FakeCatalog(keys=10), users=users_of(alice="on >a"))
        assert rig.say("AUTH alice a", "REPLICATE keys NOW") == (
            "ERROR NOPERM User alice has no permissions to run the 'psync' command: to follow keys it needs +psync\n"
        )
        assert rig.denied == [Denied(Refused.COMMAND, b"psync", b"alice")]

    def test_a_stream_that_is_not_there_is_refused_alike(self) -> None:
        rig = Rig(FakeCatalog(keys=10), users=users_of(alice="on >a"))
        assert rig.say("AUTH alice a", "REPLICATE orders NOW").startswith("ERROR NOPERM User alice has no permissions")

    @pytest.mark.parametrize(("line", "followed"), [("REPLICATE ALL NOW", "POSITION caches 10\n"), ("REPLICATE", "")])
    def test_all_streams_are_those_that_it_may_follow(self, line: str, followed: str) -> None:
        users = users_of(alice="on >a +subscribe &pyrepl:caches &pyrepl:orders")
        rig = Rig(FakeCatalog(keys=10, caches=10, secrets=10), users=users)
        said = rig.say("AUTH alice a", line)
        assert said == (followed or "POSITION caches w 10 10\n")
        rig.catalog.heads.update(orders=0, others=0)
        rig.subscription.appeared("orders", "w")
        rig.subscription.appeared("others", "w")
        assert {stream for stream, _ in rig.subscription.followed} == {"caches", "orders"}

    @pytest.mark.parametrize("line", ["REPLICATE ALL NOW", "REPLICATE"])
    def test_who_may_follow_none_of_them_is_told(self, line: str) -> None:
        rig = Rig(FakeCatalog(keys=10, caches=10), users=users_of(alice="on >a"))
        assert rig.say("AUTH alice a", line).startswith("ERROR NOPERM User alice has no permissions")

    def test_an_unknown_stream_is_answered_with_those_that_it_may_follow(self) -> None:
        users = users_of(alice="on >a +subscribe &pyrepl:caches &pyrepl:orders")
        rig = Rig(FakeCatalog(keys=10, caches=10), users=users)
        said = rig.say("AUTH alice a", "REPLICATE orders NOW")
        assert said == "ERROR NOSTREAM unknown stream orders; known here: caches\n"

    def test_what_may_not_be_said(self) -> None:
        rig = Rig(FakeCatalog(keys=10), users=users_of(alice="on >a +publish &pyrepl:user_ip"))
        assert rig.say("AUTH alice a", "USER_IP @a:b [1]") == ""
        assert rig.say("USER_SYNC @a:b start 5").startswith("ERROR NOPERM User alice has no permissions to access the")
        assert [type(heard.command) for heard in rig.heard] == [UserIp]
        assert rig.denied == [Denied(Refused.CHANNEL, b"pyrepl:user_sync", b"alice")]

    def test_whose_user_is_deleted_is_ended(self) -> None:
        rig = Rig(FakeCatalog(keys=10), users=users_of(alice="on >a +psync"))
        rig.say("AUTH alice a", "REPLICATE keys NOW")
        rig.subscription.users_changed()
        assert rig.work() == ""
        rig.users.delete([b"alice"])
        rig.subscription.users_changed()
        assert rig.work() == "ERROR NOPERM the user alice was deleted\n"
        rig.subscription.users_changed()
        assert rig.work() == ""

    def test_who_may_not_follow_any_more_is_ended(self) -> None:
        rig = Rig(FakeCatalog(keys=10), users=users_of(alice="on >a +psync"))
        rig.say("AUTH alice a", "REPLICATE keys NOW")
        rig.users.set(b"alice", [b"-psync"])
        rig.subscription.users_changed()
        assert rig.work().startswith("ERROR NOPERM User alice")

    def test_who_becomes_a_lesser_user_is_ended(self) -> None:
        rig = Rig(FakeCatalog(keys=10), users=users_of(alice="on >a"))
        assert rig.say("REPLICATE keys NOW", "AUTH alice a").startswith("ERROR NOPERM User alice")

    def test_only_its_own_password_is_left_out_of_a_name(self) -> None:
        """Otherwise a user could find out by trying whether a word is the password of `default`."""
        rig = Rig(FakeCatalog(keys=10), users=users_of(b"secret", alice="on >a"))
        rig.say("AUTH alice a", "NAME me secret")
        assert rig.subscription.name == "me secret"


class TestOther:
    def test_what_others_should_know_is_handed_on(self, rig: Rig) -> None:
        rig.say(
            "USER_SYNC @a:b start 5",
            "CLEAR_USER_SYNC worker-1",
            'USER_IP @a:b ["token","10.0.0.1","agent",null,5]',
            "FEDERATION_ACK 7",
            "REMOVE_PUSHER app key @a:b",
            "INVALIDATE_CACHE c [1]",
            "REMOTE_SERVER_UP x",
        )
        assert rig.heard == [
            Heard(UserSync("@a:b", True, 5)),
            Heard(ClearUserSync("worker-1")),
            Heard(UserIp("@a:b", '["token","10.0.0.1","agent",null,5]')),
            Heard(FederationAck(7)),
            Heard(RemovePusher("app", "key", "@a:b")),
            Heard(InvalidateCache("c", "[1]")),
            Heard(RemoteServerUp("x")),
        ]

    def test_sync_echoes_behind_what_was_sent(self, rig: Rig) -> None:
        assert rig.say("REPLICATE keys NOW", "SYNC 5") in ("POSITION keys 10\nSYNC 5\n", "SYNC 5\nPOSITION keys 10\n")
        assert rig.say("SYNC a b") == "SYNC a b\n"

    def test_the_history_is_told_to_who_asks(self, rig: Rig) -> None:
        assert rig.say("HISTORY", "REPLICATE keys NOW") == f"HISTORY {REPLID}\nPOSITION keys 10\n"

    def test_another_name_of_the_history(self, rig: Rig) -> None:
        """Its tokens are told at once; the word HISTORY only to who knows it."""
        asking = Rig(rig.catalog)
        asking.say("HISTORY")
        for one in (rig, asking):
            rig.catalog.digits = "00007"
            assert (
                one.say("REPLICATE keys NOW", "REPLICATE caches NOW")
                == "POSITION keys 1000007\nPOSITION caches 1000007\n"
            )
            rig.catalog.replid, rig.catalog.digits = "b" * 40, "00003"
            one.subscription.renamed(REPLID, ["keys"], 10)
            told = f"HISTORY {'b' * 40}\n" if one is asking else ""
            assert one.work() == f"{told}POSITION keys 1000003\n"
        block = rig.catalog.add("keys", 12, "[]")
        assert rig.live(block) == asking.live(block) == "RDATA keys 1200003 []\n"

    def test_who_has_seen_more_than_a_promoted_node_is_told(self, rig: Rig) -> None:
        """It waited for the node to come so far; what comes now under those numbers is something else."""
        assert rig.say("REPLICATE caches NOW", "REPLICATE keys 15") == "POSITION caches 10\nPOSITION keys 15\n"
        rig.catalog.digits = "00003"
        rig.subscription.renamed(REPLID, ["keys"], 12)
        assert rig.work().startswith(
            "ERROR FORKED 1200003 this node became a master at 1200003, and you have seen more"
        )
        assert rig.live(rig.catalog.add("keys", 20, "[20]")) == ""

    def test_a_lost_history_ends_who_follows_it(self, rig: Rig) -> None:
        rig.say("REPLICATE caches NOW")
        rig.subscription.history_lost(["keys"], "gone")
        assert rig.work() == ""
        rig.subscription.history_lost(["keys", "caches"], "gone")
        assert rig.work() == "ERROR gone\n"

    def test_who_is_not_fed_live_any_more_catches_up(self, rig: Rig) -> None:
        rig.say("REPLICATE keys NOW", "REPLICATE caches NOW")
        rig.catalog.add("keys", 11, "[11]")
        rig.subscription.fall_behind(["keys"])
        assert rig.work() == "RDATA keys 11 [11]\nPOSITION keys 11\n"
        assert rig.subscription.is_live("caches", None) and rig.subscription.is_live("keys", None)

    def test_a_stream_that_appears(self, rig: Rig) -> None:
        rig.subscription.appeared("orders", "w")
        assert rig.work() == "", "it follows nothing"
        rig.say("REPLICATE ALL NOW")
        rig.catalog.heads["orders"], rig.catalog.facts["orders"] = 0, []
        rig.catalog.add("orders", 1, "[1]")
        rig.subscription.appeared("orders", "w")
        assert rig.work() == "RDATA orders 1 [1]\nPOSITION orders 1\n"


LINES = st.lists(
    st.sampled_from(
        [
            "NAME me",
            "PING 5",
            "REPLICATE keys 10",
            "REPLICATE caches NOW",
            "REPLICATE",
            "SYNC x",
            "",
            "FEDERATION_ACK 3",
        ]
    ),
    max_size=8,
)


@settings(max_examples=60)
@given(LINES, st.lists(st.integers(0, 120), max_size=10))
def test_any_chunks_say_the_same(lines: list[str], cuts: list[int]) -> None:
    wire = "".join(line + "\n" for line in lines).encode()
    outs = []
    for places in ([], sorted(min(cut, len(wire)) for cut in cuts)):
        catalog = FakeCatalog(keys=10, caches=10)
        catalog.oldest = 5
        rig = Rig(catalog)
        catalog.add("keys", 11, "[11]")
        begin = 0
        for place in [*places, len(wire)]:
            rig.feed(wire[begin:place])
            begin = place
        outs.append((set(rig.wire.splitlines()), rig.heard, rig.ended, sorted(rig.subscription.followed, key=str)))
    assert outs[0] == outs[1]
