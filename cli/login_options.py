"""The options by which our own clients log in at the nodes that they ask."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


def login_options(command: Command) -> Command:
    """Give a click command `--user` and `--password`; it gets them as `user` and `password`, empty where not given."""
    with_password = click.option(
        "--password",
        default="",
        envvar="PYREPL_PASSWORD",
        help="The password of that user, for every node that is asked. PYREPL_PASSWORD in the environment hides"
        " it from `ps`.",
    )
    with_user = click.option("--user", default="", help="The user to log in as; empty: the default user.")
    return with_user(with_password(command))
