"""The warm Spark session: how it is started, for small jobs that must not wait."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ghcm.errors import GhcmError
from ghcm.runtime.settings import Spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_JAVA = "batch units need Java 17 or newer: install it, or set JAVA_HOME to one."

_LOOK_SECONDS = 0.25
"""How often who waits for Spark looks whether that is still wanted."""


class Session:
    """One Spark session, started when it is first asked for and again after it could not start. Safe for threads."""

    def __init__(self, settings: Spark, slots: int, folder: Path) -> None:
        self._settings = settings
        self._slots = slots
        self._folder = folder
        self._lock = threading.Lock()
        self._spark: SparkSession | None = None

    def get(self) -> SparkSession:
        """The session. GhcmError where Spark cannot start: no pyspark, no Java."""
        with self._lock:
            return self._had()

    def get_unless(self, given_up: Callable[[], bool]) -> SparkSession | None:
        """As `get`; None for who has `given_up` while another thread starts it, which takes seconds."""
        while not self._lock.acquire(timeout=_LOOK_SECONDS):
            if given_up():
                return None
        try:
            return self._had()
        finally:
            self._lock.release()

    @property
    def started(self) -> SparkSession | None:
        """The session, or None if it was never asked for."""
        return self._spark

    @property
    def gone(self) -> bool:
        """Whether Spark has ended or is ending: what a job raises then says nothing of the job."""
        spark = self._spark
        if spark is None:
            return False
        context: Any = spark.sparkContext  # it has no public way to this question
        try:
            return bool(context._jsc.sc().isStopped())
        except Exception:  # whatever py4j raises: nobody answers, or it was stopped from here
            return True

    def ask_java(self) -> None:
        """Return when Java has answered, or is not there; a Java that hangs holds this up."""
        spark = self._spark
        if spark is not None:
            with suppress(Exception):  # who misses Java is told in another way
                gateway: Any = spark.sparkContext._gateway  # pyright: ignore[reportPrivateUsage]
                gateway.jvm.System.nanoTime()

    def stop(self) -> None:
        """End Spark with all its jobs. What is only being started ends with this process."""
        if not self._lock.acquire(blocking=False):
            return
        try:
            if self._spark is not None:
                self._spark.stop()
                self._spark = None
        finally:
            self._lock.release()

    def _had(self) -> SparkSession:
        if self._spark is None:
            self._spark = self._start()
        return self._spark

    def _start(self) -> SparkSession:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        if self._settings.home is not None:
            os.environ["SPARK_HOME"] = str(self._settings.home)
        try:
            from pyspark.errors import PySparkRuntimeError
            from pyspark.sql import SparkSession
        except ImportError as error:
            raise GhcmError(
                "batch units need pyspark, which is not installed",
                code="GHCM-750",
                detail=f"{error}.",
                hint='pip install "pyspark[sql]>=4.3,<5"',
            ) from error
        find_java(os.environ)
        builder = SparkSession.builder.appName("ghcm").master(self._settings.master)
        for name, value in self._options().items():
            builder = builder.config(name, value)
        try:
            spark = builder.getOrCreate()
        except (PySparkRuntimeError, OSError) as error:
            raise GhcmError(
                "Spark cannot start", code="GHCM-750", detail=f"{str(error).splitlines()[0].rstrip('.')}.", hint=_JAVA
            ) from error
        _warm(spark)
        return spark

    def _options(self) -> dict[str, str]:
        cores, mirror = str(max(2, os.cpu_count() or 2)), Path.home() / ".ivy2" / "ivysettings.xml"
        return {
            **({"spark.jars.ivySettings": str(mirror)} if os.access(mirror, os.R_OK) else {}),
            "spark.driver.memory": self._settings.memory,
            # Ivy would wait for minutes for a repository that does not answer.
            "spark.driver.defaultJavaOptions": "-Dsun.net.client.defaultConnectTimeout=20000",
            "spark.driver.host": "localhost",
            "spark.driver.bindAddress": "127.0.0.1",
            **({"spark.authenticate": "true"} if self._settings.master.startswith("local") else {}),
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.ui.retainedJobs": "100",
            "spark.ui.retainedStages": "200",
            "spark.sql.ui.retainedExecutions": "50",
            "spark.log.level": "WARN",
            "spark.scheduler.mode": "FAIR",
            "spark.sql.shuffle.partitions": cores,
            "spark.default.parallelism": cores,
            "spark.sql.adaptive.enabled": "true",
            "spark.sql.adaptive.coalescePartitions.parallelismFirst": "false",
            "spark.sql.execution.arrow.pyspark.enabled": "true",
            "spark.sql.warehouse.dir": str(self._folder / "warehouse"),
            "spark.local.dir": str(self._folder / "local"),
            "spark.python.worker.reuse": "true",
            # Calls of one unit may take more loops of stages than the 100 that Spark remembers. It would compile all of
            # them anew in each call, and Java would begin to run them slowly again.
            "spark.sql.codegen.cache.maxEntries": "1000",
            # A session serves calls for weeks. What the parser learns of each text is kept without end otherwise, and
            # each table that is broadcast takes a page, however small it is.
            "spark.sql.parser.manageParserCaches": "true",
            "spark.sql.parser.parserDfaCacheFlushRatio": "10",
            "spark.buffer.pageSize": "2m",
        }


def find_java(variables: Mapping[str, str]) -> Path:
    """The Java that Spark will take: that of JAVA_HOME, else the first on the path. GhcmError if there is none."""
    home = variables.get("JAVA_HOME")
    found = shutil.which(str(Path(home, "bin", "java")) if home else "java", path=variables.get("PATH", ""))
    if found is None:
        where = (
            f'JAVA_HOME is "{home}", which has no bin/java' if home else "JAVA_HOME is not set, nor is java on the path"
        )
        raise GhcmError("Spark cannot start without Java", code="GHCM-750", detail=f"{where}.", hint=_JAVA)
    return Path(found)


def java_process(spark: SparkSession) -> subprocess.Popen[bytes] | None:
    """The Java process that pyspark has started for the session; None where it uses one that was there."""
    gateway = spark.sparkContext._gateway  # pyright: ignore[reportPrivateUsage]  there is no public way to it
    process: subprocess.Popen[bytes] | None = getattr(gateway, "proc", None)
    return process


def _warm(spark: SparkSession) -> None:
    """Have Java load what the first job would wait for."""
    from pyspark.sql import functions as F

    rows = spark.createDataFrame([(number, str(number)) for number in range(100)], "id bigint, name string")
    rows.groupBy("name").agg(F.sum("id").alias("total")).orderBy("total").limit(3).collect()
