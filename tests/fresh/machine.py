"""A root of Debian as a machine of its own: with systemd, and a network of nothing but its neighbour.

`Machine(root, name, log)` boots it, `connect` lays a cable between two. It has namespaces of its own for processes,
mounts, network, names and control groups; what it shares with this machine is the kernel. It ends by `lose`, and with
this process.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Final

from tests.fresh.root import environment
from tests.peers.lab import die_with_parent, wait_until

NEEDED: Final = "systemd systemd-sysv dbus iproute2 openssh-server openssh-client"
"""Debian's packages without which a root is no machine."""
CABLE: Final = "cable"
"""What each end of a cable is called."""
BOOT_S: Final = 60.0
COMMAND_S: Final = 900.0

_GROUP: Final = """
root=$1 group=$2 name=$3 inside=$4
mount -t cgroup2 cgroup2 "$root/mnt"
mkdir -p "$root/mnt/$group"
echo $$ >"$root/mnt/$group/cgroup.procs"
umount "$root/mnt"
exec unshare --pid --net --uts --ipc --cgroup --fork --kill-child bash -euc "$inside" bash "$root" "$name"
"""
"""A control group comes first: systemd takes it for the whole, and so leaves the processes of this machine alone."""

_BOOT: Final = """
hostname "$2"
mount --bind "$1" "$1"
cd "$1"
mount -t proc proc proc
mount --bind proc/sys proc/sys
mount -o remount,bind,ro proc/sys
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs -o mode=1777 tmpfs tmp
mount -t tmpfs -o mode=755 tmpfs dev
for name in null zero full random urandom tty; do
    touch "dev/$name"
    mount --bind "/dev/$name" "dev/$name"
done
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
mkdir -p left
pivot_root . left
umount -l /left
exec env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd
"""
"""Its /dev has no disks and no terminals, and nobody writes to its /proc/sys: both are this machine's."""

_GROUP_GOES: Final = """
mount -t cgroup2 cgroup2 /mnt
find "/mnt/$1" -depth -type d -exec rmdir {} +
"""


class CommandFailed(AssertionError):
    """A command in a machine ended with another status than 0; the text has the command and what it printed."""


class Machine:
    """One that runs in `root`, which is used up. `log` gets what is run there, and what that prints."""

    def __init__(self, root: Path, name: str, log: Path) -> None:
        """Raises LabError if it does not come up."""
        self.root, self.name, self.log = root, name, log
        self._group = f"pyrepl-fresh-{os.getpid()}-{name}"
        command = ["unshare", "--mount", "bash", "-euc", _GROUP, "bash", str(root), self._group, name, _BOOT]
        with log.open("ab") as out:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, preexec_fn=die_with_parent
            )
        try:
            wait_until(f"{name} is up", self._is_up, BOOT_S, every_s=0.2)
        except BaseException:
            self.lose()
            raise

    def lose(self) -> None:
        """All its processes are killed at once, as by a power cut. What is on its disk stays, for whoever reads it."""
        first = self._first()
        self._process.kill()
        self._process.wait()
        wait_until(f"{self.name} has ended", lambda: not first or not Path(f"/proc/{first}").exists(), BOOT_S)
        subprocess.run(["unshare", "--mount", "bash", "-euc", _GROUP_GOES, "bash", self._group], check=False)

    def run(self, script: str, *, is_online: bool = False) -> str:
        """Run it there by bash, in the checkout; what it printed.

        `is_online` lends it the network of this machine, in which the registries are. Raises CommandFailed,
        TimeoutExpired.
        """
        done = self._entered(f"cd /srv/pyrepl\n{script}", is_online)
        with self.log.open("a") as out:
            out.write(f"{self.name}# {script}\n{done.stdout}")
        if done.returncode:
            raise CommandFailed(f"{self.name}# {script}\nstatus {done.returncode}:\n{done.stdout}")
        return done.stdout

    def connect(self, other: Machine, mine: str, theirs: str) -> None:
        """Lay a cable to it, with an address at each end. A cable goes with the machine that is lost."""
        self._ip("link", "add", CABLE, "type", "veth", "peer", "name", CABLE, "netns", other._first())
        for machine, address in ((self, mine), (other, theirs)):
            machine._ip("address", "add", f"{address}/24", "dev", CABLE)
            machine._ip("link", "set", CABLE, "up")

    def _ip(self, *words: str) -> None:
        subprocess.run(["nsenter", "--target", self._first(), "--net", "ip", *words], check=True)

    def _entered(self, script: str, is_online: bool) -> subprocess.CompletedProcess[str]:
        spaces = ["--mount", "--pid", "--uts", "--ipc", "--cgroup", *([] if is_online else ["--net"])]
        return subprocess.run(
            ["nsenter", "--target", self._first(), *spaces, "bash", "-euo", "pipefail", "-c", script],
            env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            errors="replace", check=False, preexec_fn=die_with_parent, timeout=COMMAND_S,
        )  # fmt: skip

    def _first(self) -> str:
        """The number of its first process, as this machine counts; empty if there is none."""
        pid = self._process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children")
        return children.read_text().strip() if children.exists() else ""

    def _is_up(self) -> bool:
        """Has it started all that it starts at boot? Until systemd runs it has the root of this machine still."""
        first = self._first()
        is_booted = bool(first) and Path(f"/proc/{first}/comm").read_text() == "systemd\n"
        return is_booted and self._entered("systemctl is-active -q multi-user.target", False).returncode == 0
