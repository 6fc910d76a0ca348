"""Packages of Maven for the tests, which Spark's Ivy fetches once."""

import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pyspark

from ghcm.runtime.pubsub.services import JARS

SPARK = Path(str(pyspark.__file__)).parent / "jars"
HADOOP = next(SPARK.glob("hadoop-client-api-*.jar")).stem.rpartition("-")[2]
"""The version of Hadoop that Spark has."""


def fetched(name: str, alone: Sequence[tuple[str, str, str]], whole: Sequence[tuple[str, str, str]] = ()) -> Path:
    """The folder of packages; of the `whole` ones also what they need."""
    folder = JARS.parent / name
    if folder.exists():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    own = Path.home() / ".ivy2" / "ivysettings.xml"
    with tempfile.TemporaryDirectory(prefix="fetching-", dir=folder.parent) as work:
        for package in (*alone, *whole):
            line = ["java", "-jar", str(next(SPARK.glob("ivy-*.jar")))]
            line += ["-settings", str(own)] if own.exists() else []
            how = ["-notransitive", "-confs", "master"] if package in alone else ["-confs", "master,compile,runtime"]
            line += ["-cache", f"{work}/ivy", *how, "-dependency", *package]
            line += ["-retrieve", f"{work}/jars/[artifact]-[revision].[ext]"]
            subprocess.run(line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True)
        with suppress(OSError):  # another was faster
            Path(work, "jars").rename(folder)
    return folder
