"""What is told of each subcommand beside its own words and options: the task it is for, examples, exit statuses.

One row for each; helping.py shows it in `--help`, manual.py in the manual pages and in docs/command-line.md.
"""

from __future__ import annotations

from typing import Final, NamedTuple

OK: Final = 0
TROUBLE: Final = 1
UNREACHABLE: Final = 2
IMPOSSIBLE: Final = 2
WRONG_USE: Final = 2
"""click's, of every subcommand, for a command line that it does not understand."""
NOT_TO_BE_HAD: Final = 3
INTERRUPTED: Final = 130

RUN: Final = "Run a node"
LOOK: Final = "See how nodes and machines are"
FOLLOW: Final = "Follow changes"
JUDGE: Final = "Find out what replication cost"
SHELL: Final = "Set up your shell"
TASKS: Final = (RUN, LOOK, FOLLOW, JUDGE, SHELL)


class Page(NamedTuple):
    """Of one subcommand."""

    task: str
    """One of TASKS."""
    examples: tuple[str, ...]
    """Command lines that work as they stand, but for addresses and paths."""
    exits: dict[int, str]
    """When it ends with which status."""


_NODE_EXITS: Final = {
    OK: "ended by SHUTDOWN or a signal",
    TROUBLE: "could not start; the last line says why",
}

PAGES: Final[dict[str, Page]] = {
    "": Page(
        RUN,
        (
            "pyrepl doctor",
            "pyrepl master --port 6379",
            "pyrepl replica --master 127.0.0.1:6379 --port 6380",
            "pyrepl status 127.0.0.1:6379",
        ),
        {},
    ),
    "master": Page(
        RUN,
        (
            "pyrepl master --config conf/master.conf",
            'pyrepl master --port 6380 --save "" --requirepass secret',
        ),
        _NODE_EXITS,
    ),
    "replica": Page(
        RUN,
        (
            "pyrepl replica --master 127.0.0.1:6379 --port 6380",
            "pyrepl replica --master 10.0.0.1:6379 --masterauth secret --repl-diskless-load swapdb",
        ),
        _NODE_EXITS,
    ),
    "doctor": Page(
        LOOK,
        (
            "pyrepl doctor",
            "sudo -u pyrepl pyrepl doctor --config /etc/pyrepl/pyrepl.conf",
        ),
        {
            OK: "no problem, though there may be advice",
            TROUBLE: "a problem, or a configuration that cannot be read",
        },
    ),
    "status": Page(
        LOOK,
        (
            "pyrepl status 127.0.0.1:6379",
            "pyrepl status 127.0.0.1:6379 --watch",
            "pyrepl status rediss://user:password@db1.example:6379 --json",
        ),
        {
            OK: "all is in sync",
            TROUBLE: "something is not in sync",
            UNREACHABLE: "the node at HOST:PORT cannot be asked",
        },
    ),
    "mailbox": Page(LOOK, (), {}),
    "mailbox status": Page(
        LOOK,
        ("pyrepl mailbox status 127.0.0.1:6379",),
        {
            OK: "every member is linked, and no change has waited for one longer than --max-lag",
            TROUBLE: "a member is not linked or lags, or this node is apart, or a disk refuses the mail of a user or"
            " all Maildirs",
            UNREACHABLE: "the node cannot be asked",
        },
    ),
    "mailbox check": Page(
        LOOK,
        ("pyrepl mailbox check alice --socket /run/pyrepl/mailbox",),
        {
            OK: "all members that can be reached have all changes",
            TROUBLE: "they have not, within --timeout",
            UNREACHABLE: "the node cannot be asked",
        },
    ),
    "mailbox compare": Page(
        LOOK,
        (
            "pyrepl mailbox compare 10.0.0.1:6379 10.0.0.2:6379",
            "pyrepl mailbox compare 10.0.0.1:6379 10.0.0.2:6379 --only alice",
            "pyrepl mailbox compare imaps://alice@mail1.example.org imaps://alice@mail2.example.org",
            "pyrepl mailbox compare 127.0.0.1:6379 imap://alice@127.0.0.1",
        ),
        {
            OK: "nothing differs",
            TROUBLE: "something differs, a line for each difference",
            UNREACHABLE: "a node cannot be asked, or keeps no mailboxes",
        },
    ),
    "tail": Page(
        FOLLOW,
        (
            "pyrepl tail 127.0.0.1:7379 --match 'user:*'",
            "pyrepl tail 127.0.0.1:7379 --save-token keys.token",
            "pyrepl tail 127.0.0.1:7379 --stream commands --to changes/ --format parquet",
        ),
        {
            OK: "ended by Ctrl-C, SIGTERM or --count",
            TROUBLE: "something is wrong, and standard error says what",
            NOT_TO_BE_HAD: "the changes after the token cannot be had any more",
        },
    ),
    "metrics": Page(
        JUDGE,
        (
            "pyrepl metrics /var/log/redis",
            "pyrepl metrics /var/log/redis --out report --since 7d",
            "pyrepl metrics --out report --sql 'SELECT cause, count(*) FROM syncs GROUP BY cause'",
        ),
        {
            OK: "done, whatever the logs tell; or --follow was stopped by Ctrl-C or SIGTERM",
            IMPOSSIBLE: "it cannot be done: no such log, no Java, something is not installed",
            INTERRUPTED: "interrupted by Ctrl-C",
        },
    ),
    "completion": Page(
        SHELL,
        (
            "pyrepl completion bash >~/.local/share/bash-completion/completions/pyrepl",
            "pyrepl completion zsh >~/.pyrepl.zsh; echo source ~/.pyrepl.zsh >>~/.zshrc",
            "pyrepl completion fish >~/.config/fish/completions/pyrepl.fish",
        ),
        {OK: "printed"},
    ),
}
