"""What the user has told Spark already, from where Spark itself takes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyrepl.analysis.failures import CannotRun
from pyrepl.analysis.told import pairs, told


def test_settings_of_the_command_line() -> None:
    assert pairs(["a.b=1", "c = x=y ", "a.b=2"]) == {"a.b": "2", "c": "x=y"}
    for wrong in ("a.b", "=1", " =1"):
        with pytest.raises(CannotRun, match="expected NAME=VALUE"):
            pairs([wrong])


def test_nothing_was_told(tmp_path: Path) -> None:
    assert told({}, tmp_path) == {}


def test_the_file_of_defaults(tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "spark-defaults.conf").write_text(
        "# spark.no 1\n\nspark.driver.memory   4g\nspark.master=yarn\n  spark.a.b = x y  \nalone\n"
    )
    expected = {"spark.driver.memory": "4g", "spark.master": "yarn", "spark.a.b": "x y"}
    assert told({}, tmp_path) == told({"SPARK_HOME": str(tmp_path)}, tmp_path / "no") == expected
    assert told({"SPARK_CONF_DIR": str(tmp_path / "conf")}, tmp_path / "no") == expected


def test_words_for_spark_submit_count_more(tmp_path: Path) -> None:
    (tmp_path / "spark-defaults.conf").write_text("spark.driver.memory 4g\nspark.x 1\n")
    words = "--conf spark.y='a b' --driver-memory 8g -c spark.z=1 --packages=g:a:1 --master local[3] pyspark-shell"
    found = told({"SPARK_CONF_DIR": str(tmp_path), "PYSPARK_SUBMIT_ARGS": words}, tmp_path)
    assert found == {
        "spark.driver.memory": "8g", "spark.x": "1", "spark.y": "a b", "spark.z": "1", "spark.jars.packages": "g:a:1",
        "spark.master": "local[3]",
    }  # fmt: skip


def test_defaults_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "spark-defaults.conf").mkdir()
    with pytest.raises(CannotRun, match=r"spark-defaults.conf, Spark's settings, cannot be read"):
        told({"SPARK_CONF_DIR": str(tmp_path)}, tmp_path)
