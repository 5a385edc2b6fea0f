"""The configuration on disk: include, what wins, errors with their place, CONFIG REWRITE in one step."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from pyrepl.config.parser import Line
from pyrepl.config.settings import Settings
from pyrepl.daemon.disk.config_files import load_settings, read_included, remove_unfinished, rewrite_file
from pyrepl.errors import ConfigError


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """The working directory of the test, as `include` is relative to it."""
    here = Path.cwd()
    os.chdir(tmp_path)
    yield tmp_path
    os.chdir(here)


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


class TestLoad:
    def test_the_later_wins(self, folder: Path) -> None:
        path = write(folder / "a.conf", "port 1000\nhz 20\ntimeout 5\n")
        extra = [Line("--master", 0, "hz", [b"40"])]
        settings, loaded = load_settings(path, [b"--port", b"2000", b"--hz", b"30"], extra)
        assert (settings.port, settings.hz, settings.timeout) == (2000, 40, 5)
        assert {"port", "hz", "timeout"} <= loaded.seen

    def test_nothing_is_the_defaults(self) -> None:
        settings, loaded = load_settings(None, [])
        assert settings.port == 6379 and loaded.seen == set()

    def test_a_file_that_is_not_there(self, folder: Path) -> None:
        with pytest.raises(ConfigError, match=r"cannot read the configuration file .*no.conf: No such file"):
            load_settings(folder / "no.conf", [])

    def test_an_error_has_its_place(self, folder: Path) -> None:
        path = write(folder / "a.conf", "# comment\n\nprot 1000\n")
        with pytest.raises(ConfigError, match=r"a.conf, line 3: unknown directive 'prot'; did you mean 'port'\?"):
            load_settings(path, [])


class TestInclude:
    def test_in_its_place(self, folder: Path) -> None:
        write(folder / "b.conf", "hz 20\nport 2000\n")
        path = write(folder / "a.conf", "port 1000\ninclude b.conf\nhz 30\n")
        settings, _ = load_settings(path, [])
        assert (settings.port, settings.hz) == (2000, 30)

    def test_a_pattern_in_order_of_names(self, folder: Path) -> None:
        for name, port in (("20.conf", 2000), ("10.conf", 1000), ("30.txt", 3000)):
            write(folder / name, f"port {port}\n")
        assert [name for name, _ in read_included("*.conf")] == ["10.conf", "20.conf"]
        settings, _ = load_settings(write(folder / "main", "include *.conf\n"), [])
        assert settings.port == 2000

    def test_a_pattern_may_name_nothing_a_path_may_not(self, folder: Path) -> None:
        assert read_included(str(folder / "*.conf")) == []
        path = write(folder / "a", "include no.conf\n")
        with pytest.raises(ConfigError, match=r"a, line 1: include: cannot read no.conf: No such file or directory"):
            load_settings(path, [])

    def test_an_error_names_the_included_file(self, folder: Path) -> None:
        write(folder / "b.conf", "\nhz lots\n")
        with pytest.raises(ConfigError, match=r"b.conf, line 2: hz lots"):
            load_settings(write(folder / "a.conf", "include b.conf\n"), [])

    def test_itself(self, folder: Path) -> None:
        with pytest.raises(ConfigError, match="does it include itself"):
            load_settings(write(folder / "a.conf", "include a.conf\n"), [])

    def test_on_the_command_line(self, folder: Path) -> None:
        path = write(folder / "b.conf", "hz 20\n")
        assert load_settings(None, [b"--include", os.fsencode(path)])[0].hz == 20


class TestRewrite:
    def test_what_is_in_force_and_every_comment(self, folder: Path) -> None:
        path = write(folder / "a.conf", "# mine\nport 1000\n")
        settings, _ = load_settings(path, [b"--hz", b"20"])
        rewrite_file(path, settings)
        text = path.read_text()
        assert text.startswith("# mine\nport 1000\n") and "\nhz 20\n" in text
        assert load_settings(path, [])[0].hz == 20

    @pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
    def test_the_mode_is_kept(self, folder: Path, mode: int) -> None:
        path = write(folder / "a.conf", "port 1000\n")
        path.chmod(mode)
        rewrite_file(path, Settings(port=2000))
        assert path.stat().st_mode & 0o7777 == mode
        assert "port 2000" in path.read_text()

    def test_a_file_that_is_gone_is_made(self, folder: Path) -> None:
        rewrite_file(folder / "a.conf", Settings(port=2000))
        assert load_settings(folder / "a.conf", [])[0].port == 2000

    def test_nothing_else_stays(self, folder: Path) -> None:
        rewrite_file(write(folder / "a.conf", ""), Settings())
        assert os.listdir(folder) == ["a.conf"]

    def test_a_failure_leaves_the_old_file_alone(self, folder: Path) -> None:
        (folder / "a.conf").mkdir()
        with pytest.raises(OSError):
            rewrite_file(folder / "a.conf", Settings())
        with pytest.raises(OSError):
            rewrite_file(folder / "no" / "a.conf", Settings())
        assert os.listdir(folder) == ["a.conf"]


def test_what_a_killed_rewrite_left_goes(folder: Path) -> None:
    path = write(folder / "a.conf", "port 1\n")
    for name in (f"a.conf.{os.getpid()}.tmp", "b.conf.1.tmp", "a.conf.old.tmp"):
        write(folder / name, "")
    remove_unfinished(path)
    assert sorted(file.name for file in folder.iterdir()) == ["a.conf", "a.conf.old.tmp", "b.conf.1.tmp"]
