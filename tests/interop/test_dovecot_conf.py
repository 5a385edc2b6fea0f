"""The sample for Dovecot says what Dovecot understands."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from tests.peers import finder

SAMPLE = Path(__file__).resolve().parents[2] / "conf" / "dovecot-2.3-mailboxes.conf"


def test_dovecot_reads_the_sample(tmp_path: Path) -> None:
    everything = re.sub(r"^#(?=[a-z])", "", SAMPLE.read_text(), flags=re.MULTILINE)
    conf = tmp_path / "conf"
    conf.write_text(f"ssl = no\n{everything}")
    command = [str(finder.dovecot()), "-c", str(conf), "-a"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    wanted = [line for line in everything.splitlines() if line and not line.startswith("#")]
    assert len(wanted) == 3 and [line for line in wanted if line not in said] == []
