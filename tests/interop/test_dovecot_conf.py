"""The sample for the Dovecot that is here says what this Dovecot understands."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from tests.peers import finder

CONF = Path(__file__).resolve().parents[2] / "conf"
FIRST = {"2.3": "ssl = no\n", "2.4": "dovecot_config_version = 2.4.0\ndovecot_storage_version = 2.4.0\nssl = no\n"}
"""What stands before it in the configuration of either version."""
SETTINGS = {"2.3": 3, "2.4": 5}


def test_dovecot_reads_the_sample(tmp_path: Path) -> None:
    version = finder.version(finder.DOVECOT)[:3]
    sample = (CONF / f"dovecot-{version}-mailboxes.conf").read_text()
    everything = re.sub(r"^#(?=[a-z])", "", sample, flags=re.MULTILINE)
    conf = tmp_path / "conf"
    conf.write_text(FIRST[version] + everything)
    command = [str(finder.dovecot()), "-c", str(conf), "-a"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    wanted = [line.rstrip() for line in everything.splitlines() if line and not line.startswith("#")]
    assert len(wanted) == SETTINGS[version] and [line for line in wanted if line not in map(str.rstrip, said)] == []


def test_dovecot_reads_the_sample_with_users(tmp_path: Path) -> None:
    version = finder.version(finder.DOVECOT)[:3]
    conf = tmp_path / "conf"
    conf.write_text(FIRST[version] + (CONF / f"dovecot-{version}-users.conf").read_text())
    command = [str(finder.dovecot()), "-c", str(conf), "-n"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "/etc/dovecot/users" in said and "/var/vmail/" in said and "passwd-file" in said
