"""The HDFS of the tests: a name node and a data node in one process, of the packages that Hadoop has for that."""

import socket
import subprocess
import tempfile
import uuid
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tenacity import Retrying, retry_if_result, stop_after_delay, wait_fixed

from ghcm.places import Remote
from tests.java_packages import HADOOP, SPARK, fetched

_PACKAGES = (
    ("org.apache.hadoop", "hadoop-client-minicluster", HADOOP),
    ("org.junit.jupiter", "junit-jupiter-api", "5.11.4"),
)
"""Spark has all else that a server needs, of this version."""
_JAVA = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


@contextmanager
def hdfs_server() -> Generator[Remote]:
    """A new HDFS, by its URL. Its name node allows its own user everything, and others what files say."""
    with tempfile.TemporaryDirectory(prefix="ghcm-hdfs-") as folder:
        with socket.create_server(("127.0.0.1", 0)) as found:
            port = found.getsockname()[1]
        jars = ":".join([*map(str, fetched(f"hadoop-minicluster-{HADOOP}", _PACKAGES).glob("*.jar")), f"{SPARK}/*"])
        command = ["java", *_JAVA, "-cp", jars, "org.apache.hadoop.test.MiniDFSClusterManager"]
        command += ["-format", "-nnport", str(port), "-datanodes", "1", "-writeConfig", "ready.xml"]
        command += ["-D", "dfs.namenode.file.close.num-committed-allowed=1"]  # else closing a file takes half a second
        with Path(folder, "log").open("wb") as log:
            process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            for attempt in Retrying(
                retry=retry_if_result(lambda ready: not ready), stop=stop_after_delay(120), wait=wait_fixed(0.1)
            ):
                with attempt:
                    assert process.poll() is None, Path(folder, "log").read_text()[-2000:]
                    ready = Path(folder, "ready.xml").exists()
                attempt.retry_state.set_result(ready)
            yield Remote(f"hdfs://127.0.0.1:{port}")
        finally:
            process.kill()
            process.wait()


def new_folder(server: Remote) -> Remote:
    """A folder that no other test has."""
    return server / uuid.uuid4().hex
