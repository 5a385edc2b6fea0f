"""What is compared with the specification, and that each way to differ from it is seen."""

from __future__ import annotations

import pytest

from tests.scenario.mailbox.spec_lines import differing, is_said, unmet, words_of

GIVE = "a>b g1 GIVE alice #INBOX token=4.18 uid=58 modseq=302 held=a:901,b:12"


def test_words_have_names() -> None:
    line = "a>b 7 SAVE alice INBOX uid=57 .. at=a:901 {1204}"
    assert words_of(line) == {
        "way": "a>b",
        "tag": "a tag",
        "verb": "SAVE",
        "user": "alice",
        "box": "INBOX",
        "uid": "57",
        "at": "a:901",
        "text": "{1204}",
    }
    assert words_of("b>m2 NO Timeout while waiting") == {
        "way": "b>m2",
        "verb": "NO",
        "reason": "Timeout",
        "words": "while waiting",
    }
    with pytest.raises(ValueError, match="expected a verb"):
        words_of("a>b 7 uid=57")


@pytest.mark.parametrize(
    "spec",
    [
        "a>b 3 GIVE alice INBOX token=4.18 uid=58 modseq=302 held=a:901,b:12",
        "a>b GIVE",
        "a>b 3 GIVE .. uid=58 token=4.18",
        "a>b 3 GIVE alice .. held=a:901,..",
    ],
)
def test_what_is_the_same(spec: str) -> None:
    assert differing(spec, GIVE) == set()


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("b>a 3 GIVE alice INBOX", "way"),
        ("a>b * GIVE alice INBOX", "tag"),
        ("a>b 3 TAKE alice INBOX", "verb"),
        ("a>b 3 GIVE bob INBOX", "user"),
        ("a>b 3 GIVE alice Archive", "box"),
        ("a>b 3 GIVE .. uid=5", "uid"),
        ("a>b 3 GIVE .. uid=580", "uid"),
        ("a>b 3 GIVE .. hops=1", "hops"),
        ("a>b 3 GIVE .. held=b:12,..", "held"),
        ("a>b 3 GIVE alice INBOX {4}", "text"),
    ],
)
def test_what_differs(spec: str, name: str) -> None:
    assert differing(spec, GIVE) == {name}


def test_what_is_said_has_a_way() -> None:
    assert is_said(GIVE) and is_said("m1>a 1 LOCK alice INBOX")
    assert not is_said("! hold a>b") and not is_said("= a INBOX next=1") and not is_said(f"# spec: {GIVE}")


@pytest.mark.parametrize(
    "notes",
    [
        "# spec: a>b 3 GIVE .. uid=58",
        "# spec: a>b 3 GIVE .. uid=58\n# It has come.",
        "# spec: a>b * GIVE .. uid=59\n# differs: tag: it is answered\n# differs: uid: one less",
        "# spec: a>b * GIVE .. uid=59\n# differs: tag uid: it is answered",
        "# spec: a>b 3 TAKE\n# differs: all: nobody takes",
        "# differs: more: the specification knows no GIVE",
    ],
)
def test_what_is_met(notes: str) -> None:
    assert unmet(f"{notes}\n{GIVE}\n") == []


@pytest.mark.parametrize(
    ("notes", "why"),
    [
        ("# spec: a>b 3 GIVE .. uid=59", "differs in uid"),
        ("# spec: a>b * GIVE .. uid=59\n# differs: uid: one less", "differs in tag"),
        ("# spec: a>b 3 GIVE .. uid=58\n# differs: uid: it differed once", "differs in uid"),
        ("# spec: a>b 3 GIVE .. uid=58\n! look", "nothing is said below"),
        ("# spec: a>b 3 GIVE\n# differs: all: nobody gives", "is said"),
        ("# spec: a>b * GIVE\n# differs: tag:", "expected names, a colon and a reason"),
        ("# spec: a>b * GIVE\n# differs: because it is answered", "expected names, a colon and a reason"),
        ("# differs: tag: it is answered", "below no line of the specification"),
    ],
)
def test_what_is_not_met(notes: str, why: str) -> None:
    assert any(why in each for each in unmet(f"{notes}\n{GIVE}\n"))


def test_a_line_at_the_end_is_above_nothing() -> None:
    assert unmet(f"{GIVE}\n# spec: {GIVE}\n") == [f"nothing is said below: {GIVE}"]
