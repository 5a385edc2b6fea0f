"""`pyrepl tail`: its end, words for what goes wrong, options that do not go together."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from cli.commands import cli
from cli.tail import follow as tail
from pyrepl.address import Address
from pyrepl.changes.client import Connected, Lost
from tests.unit.changes.fake_node import REPLID, FakeNode

ROOT = Path(__file__).parents[4]


def test_connections_are_told_but_not_again_and_again(capsys: pytest.CaptureFixture[str]) -> None:
    telling = tail.Telling(1)
    address = Address("h", 1)
    for _ in range(5):
        telling(Connected(address, "node-a", "abc"))
        telling(Lost(address, "Connection refused", 0.1))
    telling(Lost(address, "the node ended it: TOOOLD 5", None))
    assert capsys.readouterr().err.splitlines() == [
        "pyrepl tail: h:1: connected to node-a, history abc",
        "pyrepl tail: h:1: Connection refused; trying again",
    ]
    assert telling.not_said("TOOOLD 5") == "TOOOLD 5", "the last line says it, with what to do"


def test_each_of_several_nodes_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    telling = tail.Telling(2)
    telling(Lost(Address("h", 1), "the node ended it: TOOOLD 5", 0.0))
    telling(Lost(Address("h", 2), "the node ended it: FORKED 3", None))
    assert capsys.readouterr().err.splitlines() == [
        "pyrepl tail: h:1: the node ended it: TOOOLD 5; trying the next node",
        "pyrepl tail: h:2: the node ended it: FORKED 3",
    ]
    assert telling.not_said("TOOOLD 5") == "none of the nodes goes on with this"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["tail"], "Missing argument 'HOST:PORT...'"),
        (["tail", "nowhere"], "expected HOST:PORT, for example 127.0.0.1:7379"),
        (["tail", "h:1", "--from", "yesterday"], "expected NOW, a token"),
        (["tail", "h:1", "--format", "parquet"], "give --to DIR"),
        (["tail", "h:1", "--to", "x", "--format", "table"], "json or parquet"),
        (["tail", "h:1", "--to", "x", "--count", "5"], "--save-token and --count cannot be given"),
        (["tail", "h:1", "--to", "x", "--roll-bytes", "much"], "is not a memory size"),
        (["tail", "h:1", "--to", "x", "--roll-bytes", "0"], "expected at least 1 byte"),
    ],
)
def test_bad_options(arguments: list[str], words: str) -> None:
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 2
    assert words in " ".join(result.output.replace("│", " ").split())


def test_certificates_that_are_none(tmp_path: Path) -> None:
    path = tmp_path / "ca.pem"
    path.write_text("no certificate")
    result = CliRunner().invoke(cli, ["tail", "h:1", "--tls", "--cacert", str(path)])
    assert result.exit_code == 2 and "expected certificates in PEM form" in result.output


def run(node: FakeNode, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "pyrepl_cli.main", "tail", node.address, *arguments]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


async def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = await asyncio.to_thread(process.communicate, None, 120)
    return process.returncode, out, err


def test_count_tokens_and_ctrl_c(tmp_path: Path) -> None:
    file = tmp_path / "token"

    async def conversation() -> None:
        async with FakeNode([(5, [[0, "a", "set"]]), (9, [[0, "b", "set"]]), (12, [[0, "c", "set"]])]) as node:
            options = ("--from", "0", "--save-token", str(file), "--quiet")
            assert await ended(run(node, *options, "--count", "2")) == (0, '5 [0,"a","set"]\n9 [0,"b","set"]\n', "")
            assert file.read_text() == f"9@{REPLID}\n"
            process = run(node, *options)
            async with asyncio.timeout(120):
                while file.read_text() != f"12@{REPLID}\n":
                    await asyncio.sleep(0.02)
            process.send_signal(signal.SIGINT)
            assert await ended(process) == (0, '12 [0,"c","set"]\n', "")

    asyncio.run(conversation())


@pytest.mark.parametrize(
    ("oldest", "history", "status", "words"),
    [
        (50, REPLID, 3, ["TOOOLD 50", "repl-backlog-size"]),
        (0, "another", 3, ["FORKED"]),
    ],
)
def test_what_ends_it(oldest: int, history: str, status: int, words: list[str]) -> None:
    async def conversation() -> tuple[int, str, str]:
        async with FakeNode() as node:
            node.oldest, node.history = oldest, history
            return await ended(run(node, "--from", f"5@{REPLID}"))

    code, out, err = asyncio.run(conversation())
    assert (code, out) == (status, "")
    for word in words:
        assert err.count(word) == 1, err


@pytest.mark.parametrize("option", ["--to", "--save-token"])
def test_where_the_place_is_kept_is_what_must_be_left(option: str, tmp_path: Path) -> None:
    """A saved token comes before --from, so advice that names --from alone would not help."""
    path = tmp_path / "kept"
    if option == "--to":
        path.mkdir()
        (path / ".keys.token").write_text(f"5@{REPLID}\n")
    else:
        path.write_text(f"5@{REPLID}\n")

    async def conversation() -> tuple[int, str, str]:
        async with FakeNode() as node:
            node.oldest = 50
            return await ended(run(node, option, str(path), "--from", "NOW"))

    code, _, err = asyncio.run(conversation())
    said = "give --to another one" if option == "--to" else f"remove {path} to begin anew"
    assert code == 3 and said in err


def test_whoever_read_along_has_gone() -> None:
    async def conversation() -> tuple[int, str, str]:
        async with FakeNode([(n, [[0, "k" * 500, "set"]]) for n in range(1, 400)]) as node:
            process = run(node, "--from", "0", "--quiet")
            assert process.stdout is not None
            process.stdout.close()
            process.stdout = None
            return await ended(process)

    assert asyncio.run(conversation())[::2] == (0, "")


def test_a_folder_that_cannot_be(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("")

    async def conversation() -> tuple[int, str, str]:
        async with FakeNode() as node:
            return await ended(run(node, "--to", str(path / "sub")))

    code, _, err = asyncio.run(conversation())
    assert code == 1 and err == (
        f"pyrepl tail: cannot write to the folder {path / 'sub'}: Not a directory."
        " Give --to a folder that this user may make and write to\n"
    )


def test_a_token_file_in_no_folder(tmp_path: Path) -> None:
    async def conversation() -> tuple[int, str, str]:
        async with FakeNode([(5, [[0, "a", "set"]])]) as node:
            return await ended(run(node, "--from", "0", "--save-token", str(tmp_path / "no" / "token")))

    code, out, err = asyncio.run(conversation())
    assert (code, out) == (1, "")
    assert err == f"pyrepl tail: cannot keep the token in {tmp_path}/no/token: there is no folder {tmp_path}/no\n"
