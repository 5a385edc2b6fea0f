"""What a commit must have to be tagged."""

from __future__ import annotations

from pyrepl import VERSION
from release.__main__ import why_wrong_tag

TOLD = f"# Changelog\n\n## {VERSION} (2026-12-01)\n\n- All.\n"


def test_a_commit_without_a_tag_needs_nothing() -> None:
    assert why_wrong_tag([], "", ["a.new.md"]) is None


def test_a_tag_is_that_of_a_version_that_is_told_of() -> None:
    tag = f"v{VERSION}"
    assert why_wrong_tag([tag], TOLD, ["README.md"]) is None
    assert why_wrong_tag(["v9"], TOLD, []) == f"the version is {VERSION}, and the tag v9"
    assert "make changelog" in str(why_wrong_tag([tag], TOLD.replace("2026-12-01", "not released"), []))
    assert why_wrong_tag([tag], TOLD, ["README.md", "a.new.md"]) == (
        "changelog.d has a.new.md, which no release tells of: make changelog"
    )
