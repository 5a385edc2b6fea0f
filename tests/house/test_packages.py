"""What is installed: our packages, all of them, and nothing that would take another's name."""

from __future__ import annotations

import configparser
import tomllib

from tests.house.source import ROOT, python, shown


def _setup() -> configparser.ConfigParser:
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg")
    return parser


def test_every_room_is_installed() -> None:
    folders = {shown(path.parent).replace("/", ".") for path in python("pyrepl", "cli")}
    rooms = {f"pyrepl_{folder}" if folder.split(".")[0] == "cli" else folder for folder in folders}
    assert set(_setup()["options"]["packages"].split()) == rooms


def test_no_top_level_name_but_ours() -> None:
    tops = {name.split(".")[0] for name in _setup()["options"]["packages"].split()}
    assert tops == {"pyrepl", "pyrepl_cli"}


def test_every_room_has_an_init() -> None:
    folders = {path.parent for path in python("pyrepl", "cli")}
    assert [shown(folder) for folder in folders if not (folder / "__init__.py").exists()] == []


def test_changelog_names_the_version() -> None:
    import pyrepl

    assert f"## {pyrepl.VERSION} " in (ROOT / "CHANGELOG.md").read_text()


def test_every_extra_is_told_of() -> None:
    extras = set(_setup()["options.extras_require"]) - {"bench", "test"}
    page = (ROOT / "docs" / "howto" / "service.md").read_text()
    assert {name for name in extras if f"\n| `{name}` | " not in page} == set()


def test_every_change_of_the_next_release_is_of_a_kind() -> None:
    kinds = {
        kind["directory"] for kind in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["towncrier"]["type"]
    }
    names = {path.name for path in (ROOT / "changelog.d").iterdir()} - {"README.md"}
    assert {
        name for name in names if name[0] != "+" or name.split(".")[1:] not in [[kind, "md"] for kind in kinds]
    } == set()
