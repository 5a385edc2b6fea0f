"""All users of a node, and the lines that keep them."""

from __future__ import annotations

import pytest

from pyrepl.acl.identity import Proof
from pyrepl.acl.passwords import hashed
from pyrepl.acl.users import Users, UsersError
from tests.unit.acl.names import Names

DEFAULT = b"user default on nopass sanitize-payload ~* &* +@all"


@pytest.fixture
def users() -> Users:
    users = Users()
    users.learn(Names())
    return users


def test_at_first_anybody_may_do_everything(users: Users) -> None:
    assert users.lines() == [DEFAULT]
    newcomer = users.newcomer()
    assert newcomer.proof is Proof.UNASKED and newcomer.name == b"default" and not newcomer.is_limited
    assert users.is_open and users.are_plain(b"")


def test_requirepass_is_the_password_of_the_default_user(users: Users) -> None:
    users.set_default_password(b"p")
    assert users.newcomer().proof is Proof.MISSING and not users.is_open
    assert users.log_in(b"default", b"x") is None
    identity = users.log_in(b"default", b"p")
    assert identity is not None and identity.proof is Proof.PASSWORD
    assert users.are_plain(b"p") and not users.are_plain(b"q")


def test_a_default_user_that_is_off_lets_nobody_in(users: Users) -> None:
    users.set(b"default", [b"off"])
    assert users.newcomer().proof is Proof.MISSING and users.is_open
    assert users.log_in(b"default", b"") is None


def test_users_are_set_as_a_whole_or_not_at_all(users: Users) -> None:
    users.set(b"bob", [b"on", b">p", b"~a"])
    with pytest.raises(UsersError, match=r"Error in ACL SETUSER modifier '\+x': Unknown command or category name"):
        users.set(b"bob", [b"off", b"+x"])
    with pytest.raises(UsersError, match=r"Unmatched parenthesis in acl selector starting at '\(a'\."):
        users.set(b"carol", [b"(a"])
    with pytest.raises(UsersError, match="Usernames can't contain spaces or null characters"):
        users.set(b"a b", [])
    bob = b"user bob on sanitize-payload #%b ~a resetchannels -@all" % hashed(b"p")
    assert users.lines() == [bob, DEFAULT]


def test_whoever_watches_is_told(users: Users) -> None:
    told: list[int] = []
    users.watch(lambda: told.append(1))
    users.set(b"bob", [])
    users.delete([b"bob"])
    users.set_default_password(b"x")
    assert len(told) == 3


def test_users_are_deleted(users: Users) -> None:
    users.set(b"bob", [])
    bob = users.get(b"bob")
    assert users.delete([b"bob", b"bob", b"nobody"]).gone == [bob]
    with pytest.raises(UsersError, match="The 'default' user cannot be removed"):
        users.delete([b"bob", b"default"])


@pytest.mark.parametrize(
    ("before", "rules", "lessened"),
    [
        ([b"&a", b"&b"], [b"resetchannels", b"&a"], True),
        ([b"&a"], [b"&b"], False),
        ([b"&a"], [b"allchannels"], False),
        ([b"allchannels"], [b"resetchannels", b"&*x"], True),
        ([b"allchannels"], [b"resetchannels", b"(allchannels)"], False),
    ],
)
def test_who_loses_channels(users: Users, before: list[bytes], rules: list[bytes], lessened: bool) -> None:
    users.set(b"bob", before)
    bob = users.get(b"bob")
    assert [user for user, _ in users.set(b"bob", rules).lessened] == ([bob] if lessened else [])


def test_a_file_takes_the_place_of_all_users(users: Users) -> None:
    users.set(b"bob", [b"on", b"&a"])
    users.set(b"carol", [b"on"])
    bob, carol, default = users.get(b"bob"), users.get(b"carol"), users.default
    change = users.replace([b"user bob on ~x", b"", b"  user dave off (~a +get)\r"], "users.acl")
    assert change.gone == [carol] and [user for user, _ in change.lessened] == [bob]
    assert users.get(b"bob") is bob and users.default is default
    assert users.lines() == [
        b"user bob on sanitize-payload ~x resetchannels -@all",
        b"user dave off sanitize-payload resetchannels -@all (~a resetchannels -@all +get)",
        DEFAULT,
    ]


def test_a_wrong_file_changes_nothing(users: Users) -> None:
    before = users.lines()
    lines = [b"user bob +nosuch <gone <gone2", b"bob on", b"user", b"user bob on", b"user x (a", b"user \x0b on"]
    with pytest.raises(UsersError) as caught:
        users.replace(lines, "u.acl")
    assert str(caught.value) == (
        "u.acl:1: Error in applying operation '+nosuch': Unknown command or category name in ACL. "
        "u.acl:1: The password you are trying to remove from the user does not exist. "
        "u.acl:2 should start with user keyword followed by the username. "
        "u.acl:3 should start with user keyword followed by the username. "
        "WARNING: Duplicate user 'bob' found on line 4. "
        "u.acl:5: Unmatched parenthesis in selector definition."
        "'u.acl:6: username '\x0b' contains invalid characters. "
        "WARNING: ACL errors detected, no change to the previously active ACL rules was performed"
    )
    assert users.lines() == before


def test_the_lines_of_a_configuration(users: Users) -> None:
    off = users.define([(b"bob", b">p", b"(+get", b"~a)"), (b"default", b"on", b">q", b"+@all")])
    assert off == [b"bob"]
    assert users.lines() == [
        b"user bob off sanitize-payload #%b resetchannels -@all (~a resetchannels -@all +get)" % hashed(b"p"),
        b"user default on sanitize-payload #%b resetchannels +@all" % hashed(b"q"),
    ]


def test_errors_of_a_configuration_repeat_no_password(users: Users) -> None:
    with pytest.raises(UsersError) as caught:
        users.define([(b"bob", b"<secret")])
    assert "secret" not in str(caught.value) and "'<(redacted)' for the user named 'bob'" in str(caught.value)
    for rule in (b"<secret", b"#secret )", b"(~a >secret)", b"(>secret)"):
        with pytest.raises(UsersError, match="redacted") as caught:
            users.set(b"bob", [rule])
        assert "secret" not in str(caught.value)
    with pytest.raises(UsersError, match="Spaces not allowed in ACL usernames"):
        users.define([(b"b b",)])
    with pytest.raises(UsersError, match="Unmatched parenthesis"):
        users.define([(b"bob", b"(a")])


def test_new_users_may_hear_everything_if_the_operator_says_so(users: Users) -> None:
    users.opens_channels = True
    users.set(b"bob", [b"()"])
    assert users.lines()[0] == b"user bob off sanitize-payload &* -@all (&* -@all)"


def test_who_has_a_certificate_is_its_first_user_that_is_on(users: Users) -> None:
    users.set(b"off", [b"off"])
    users.set(b"alice", [b"on", b">p"])
    users.set(b"bob", [b"on"])
    identity = users.certified([b"none", b"off", b"alice", b"bob"])
    assert identity is not None and identity.name == b"alice" and identity.proof is Proof.CERTIFICATE
    assert identity.is_authenticated
    assert users.certified([b"none", b"off"]) is None and users.certified([]) is None
