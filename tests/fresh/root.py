"""Commands that run in a copy of a root of Debian or Ubuntu (tests/peers/roots.py), as on a machine without anything.

Packages of Python come as on this machine: what tells programs where those are (resolver, certificates, pip's settings)
is carried over, and nothing else.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

from tests.peers.lab import die_with_parent
from tests.peers.roots import entering

CARRIED: Final = (
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pip.conf",
    "/etc/xdg/pip",
)
HOME: Final = "/srv"
"""Of who runs the steps; pip's settings of who runs us are carried there."""
PASSED_ON: Final = ("PIP_CERT", "PIP_DEFAULT_TIMEOUT", "SSL_CERT_FILE", "http_proxy", "https_proxy", "no_proxy")
BARE: Final = ("ca-certificates",)
"""What a root has besides the packages without which Debian is none."""

OLD_LISTS: Final = "Acquire::Check-Valid-Until"
"""apt's setting for a mirror whose lists are older than they say they may be; as on this machine."""


def copy(root: Path, target: Path) -> None:
    """A root to be used up, with what programs need to reach the registries."""
    shutil.rmtree(target, ignore_errors=True)
    subprocess.run(["cp", "-a", "--reflink=auto", str(root), str(target)], check=True)
    carried = {name: name for name in CARRIED} | {str(Path.home() / ".config/pip"): f"{HOME}/.config/pip"}
    said = subprocess.run(["apt-config", "dump", OLD_LISTS], capture_output=True, text=True, check=True).stdout
    (target / "etc/apt/apt.conf.d/90-old-lists").write_text(said)
    for name, inside in carried.items():
        source, place = Path(name), target / inside.lstrip("/")
        if source.is_dir():
            shutil.copytree(source, place, dirs_exist_ok=True)
        elif source.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, place)


LIMIT_S: Final = 3 * 3600
"""Longer than any step takes; beyond, it hangs."""


def environment() -> dict[str, str]:
    """What commands there find set."""
    ours = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    path = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
    return {**ours, "PATH": path, "HOME": HOME, "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}


def run(root: Path, script: str, log: Path) -> int:
    """Run it there by bash, to its end; the exit status. All that it started ends with it, and with us.

    Raises TimeoutExpired.
    """
    apart = ["unshare", "--pid", "--fork", "--kill-child"]
    command = [*apart, *entering(root), "bash", "-euo", "pipefail", "-c", script]
    with log.open("ab") as out:
        return subprocess.run(
            command, env=environment(), stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, check=False,
            preexec_fn=die_with_parent, timeout=LIMIT_S,
        ).returncode  # fmt: skip
