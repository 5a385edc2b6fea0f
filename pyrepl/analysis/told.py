"""What the user has told Spark already: by spark-submit, PYSPARK_SUBMIT_ARGS, spark-defaults.conf or --conf.

Settings of ours (pyrepl.metrics.session) stand back behind all of these. As they are needed before Java starts, nobody
can be asked for them but the files and variables that Spark itself reads then (docs: configuration, submitting
applications).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from pyrepl.analysis.failures import CannotRun

DEFAULTS: Final = "spark-defaults.conf"
GATEWAY: Final = "PYSPARK_GATEWAY_PORT"
"""Set by spark-submit for the program that it runs."""
MASTER: Final = "spark.master"
PACKAGES: Final = "spark.jars.packages"
_LINE: Final = re.compile(r"\s*([^#\s=:]+)\s*[=:\s]\s*(.*)")
_OPTIONS: Final = {
    "--master": MASTER,
    "--driver-memory": "spark.driver.memory",
    "--driver-java-options": "spark.driver.extraJavaOptions",
    "--packages": PACKAGES,
}
"""Options of spark-submit that stand for a setting of ours."""


def told(environment: Mapping[str, str], home: Path) -> dict[str, str]:
    """Settings by name, those that Spark would prefer last. `home` is Spark's folder. Raises CannotRun for a file that
    cannot be read."""
    return {**_in_file(_defaults(environment, home)), **_in_words(environment.get("PYSPARK_SUBMIT_ARGS", ""))}


def pairs(settings: Sequence[str]) -> dict[str, str]:
    """`k=v` of --conf, each once or more often; the last one counts. Raises CannotRun."""
    found = {}
    for setting in settings:
        name, is_pair, value = setting.partition("=")
        if not is_pair or not name.strip():
            raise CannotRun(f"--conf {setting}: expected NAME=VALUE, as spark.executor.memory=4g")
        found[name.strip()] = value.strip()
    return found


def _defaults(environment: Mapping[str, str], home: Path) -> Path:
    folder = environment.get("SPARK_CONF_DIR", "")
    return (Path(folder) if folder else Path(environment.get("SPARK_HOME", "") or home) / "conf") / DEFAULTS


def _in_file(path: Path) -> dict[str, str]:
    """Lines `name value` or `name=value`, as of a Java properties file; # begins a comment."""
    try:
        lines = path.read_text().splitlines()
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise CannotRun(f"{path}, Spark's settings, cannot be read: {error}") from None
    return {match[1]: match[2].strip() for line in lines if (match := _LINE.match(line))}


def _in_words(arguments: str) -> dict[str, str]:
    found = {}
    words = iter(shlex.split(arguments))
    for word in words:
        option, has_value, value = word.partition("=")
        if option in ("--conf", "-c"):
            name, _, setting = (value if has_value else next(words, "")).partition("=")
            found[name] = setting
        elif option in _OPTIONS:
            found[_OPTIONS[option]] = value if has_value else next(words, "")
    return found
