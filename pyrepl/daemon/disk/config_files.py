"""Reads the configuration file at the start, and rewrites it for CONFIG REWRITE. The room `config` knows what the lines
mean; this module touches the disk."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from pyrepl.config.loading import Loaded, load
from pyrepl.config.parser import Line, read_argv, read_file
from pyrepl.config.render import rewrite
from pyrepl.config.settings import Settings
from pyrepl.daemon.disk.files import remove_leftovers, sync_directory
from pyrepl.errors import ConfigError
from pyrepl.temporary import PRIVATE, create


def load_settings(
    config_file: Path | None, argv: Sequence[bytes], extra: Sequence[Line] = ()
) -> tuple[Settings, Loaded]:
    """Settings from a file, then the command line, then `extra`; where they differ, the later one wins.

    Raises ConfigError naming file, line and directive of the first thing that cannot be accepted.
    """
    lines: list[Line] = []
    if config_file is not None:
        try:
            content = config_file.read_bytes()
        except OSError as error:
            raise ConfigError(f"cannot read the configuration file {config_file}: {error.strerror}") from None
        lines.extend(read_file(content, str(config_file), read_included))
    lines.extend(read_argv(argv, read_included))
    lines.extend(extra)
    settings = Settings()
    return settings, load(settings, lines)


def read_included(path: str) -> list[tuple[str, bytes]]:
    """(path, content) of the files that an `include` names; a pattern may name none, a plain path must exist."""
    found = sorted(glob.glob(path)) if glob.has_magic(path) else [path]
    return [(name, Path(name).read_bytes()) for name in found]


def remove_unfinished(path: Path) -> None:
    """Unlink the temporary files that `rewrite_file` leaves beside the file at `path` when its process is killed."""
    with suppress(OSError):
        remove_leftovers(path.absolute().parent, re.compile(rf"{re.escape(path.name)}\.(\d+)\.tmp"))


def rewrite_file(path: Path, settings: Settings) -> None:
    """Write the settings in force into the configuration file. The file is replaced in one step, so that a reader sees
    the old file or the new one, never a part. Raises OSError.
    """
    content = path.read_bytes() if path.exists() else b""
    replace_file(path, rewrite(content, settings), path.stat().st_mode & 0o7777 if path.exists() else PRIVATE)


def replace_file(path: Path, content: bytes, mode: int) -> None:
    """Give a file another content in one step, and these permissions. Raises OSError."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        # The file holds passwords, so no other user may read it even for a moment.
        with create(temporary) as file:
            os.fchmod(file.fileno(), mode)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        sync_directory(path.absolute().parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
