"""A root of Debian or Ubuntu in a folder, as bare as debootstrap makes it, and commands that run in a copy of it.

Debian's read packages from the mirror that this machine uses, Ubuntu's from where debootstrap knows them, and packages
of Python come as on this machine: what tells programs where those are (resolver, certificates, pip's settings) is
carried over, and nothing else.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final, NamedTuple

from tests.peers import debian

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

_INSIDE: Final = """
mount --bind "$1" "$1"
cd "$1"
mount -t proc proc proc
mount --rbind /dev dev
mount --rbind /sys sys
mkdir -p left
pivot_root . left
umount -l /left
rmdir /left
exec /bin/bash -euo pipefail -c "$2"
"""
"""It becomes the root, and not by chroot, in which the kernel gives no user namespaces; tests of Dovecot need them."""


class Suite(NamedTuple):
    """A release as debootstrap calls it, what of its archive is used, and the file of its keys, if not Debian's own."""

    name: str
    components: str = "main"
    keys: str = ""
    like: str = ""
    """An older release that debootstrap knows, to be made by its rules."""


SUITES: Final = {
    suite.name: suite
    for suite in (
        Suite("bookworm"),
        Suite("trixie"),
        Suite("noble", "main,universe", "ubuntu-archive-keyring.gpg", "jammy"),
    )
}
"""Debian 12 and 13, Ubuntu 24.04 LTS."""
UBUNTU_KEYS: Final = "ubuntu-keyring"
"""Debian's package that has them."""


class CannotBeMade(Exception):
    """A root could not be made; the text says why."""


def base(suite: Suite, folder: Path) -> Path:
    """The root of that suite, made once and kept below `folder`. Raises CannotBeMade, PeerMissing."""
    done, making = folder / f"{suite.name}.root", folder / f"{suite.name}.making"
    if done.exists():
        return done
    if os.geteuid() != 0:
        raise CannotBeMade("only root can make roots of Debian: run it as root")
    debian.install(["debootstrap"])
    folder.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(making, ignore_errors=True)
    tell(f"making a root of {suite.name}")
    command = ["debootstrap", "--variant=minbase", f"--include={','.join(BARE)}", f"--components={suite.components}"]
    if suite.keys:
        debian.unpack([UBUNTU_KEYS], "trixie", folder / "keys")
        command += [f"--keyring={folder}/keys/usr/share/keyrings/{suite.keys}", suite.name, str(making), "", suite.like]
    else:
        command += [suite.name, str(making), mirror()]
    made = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if made.returncode:
        raise CannotBeMade(f"debootstrap cannot make {suite.name}: {made.stdout.strip().splitlines()[-1]}")
    making.rename(done)
    return done


def mirror() -> str:
    """Where this machine gets its own packages from, as apt says. Raises CannotBeMade."""
    command = ["apt-get", "indextargets", "--format", "$(SITE)", "Created-By: Packages", "Origin: Debian"]
    site = next((site for site in _said(command).split() if not site.rstrip("/").endswith("-security")), None)
    if site is None:
        raise CannotBeMade("apt names no mirror of Debian on this machine: apt-get update")
    return site


def _said(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def copy(root: Path, target: Path) -> None:
    """A root to be used up, with what programs need to reach the registries."""
    shutil.rmtree(target, ignore_errors=True)
    subprocess.run(["cp", "-a", "--reflink=auto", str(root), str(target)], check=True)
    carried = {name: name for name in CARRIED} | {str(Path.home() / ".config/pip"): f"{HOME}/.config/pip"}
    old_lists = target / "etc/apt/apt.conf.d/90-old-lists"
    old_lists.write_text(_said(["apt-config", "dump", OLD_LISTS]))
    for name, inside in carried.items():
        source, place = Path(name), target / inside.lstrip("/")
        if source.is_dir():
            shutil.copytree(source, place, dirs_exist_ok=True)
        elif source.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, place)


def run(root: Path, script: str, log: Path) -> int:
    """Run it there by bash, to its end; the exit status. All that it started ends with it, and with us."""
    environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    environment |= {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": HOME, "LC_ALL": "C.UTF-8"}
    environment |= {"DEBIAN_FRONTEND": "noninteractive"}
    apart = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]
    command = [*apart, "bash", "-euc", _INSIDE, "bash", str(root), script]
    with log.open("ab") as out:
        return subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, check=False
        ).returncode


def tell(text: str) -> None:
    """A line of progress."""
    print(text, file=sys.stderr, flush=True)
