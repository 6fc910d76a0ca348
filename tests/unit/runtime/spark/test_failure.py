"""What a failure on Spark is taken for."""

import pytest

from ghcm.runtime.spark.failure import spark_failure
from tests.unit.runtime.small_operators import unit


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("job aborted\nCaused by: java.io.IOException: No space left on device\n\tat java.base", "GHCM-731"),
        ("java.nio.file.FileSystemException: /tmp/blockmgr/0c: No space left on device", "GHCM-731"),
        ("OSError: [Errno 122] Disk quota exceeded: '/tmp/x'", "GHCM-731"),
        ("ValueError: the user's quota exceeded its limit", "GHCM-751"),
    ],
)
def test_a_full_disk_is_told_from_other_failures(said: str, code: str) -> None:
    assert spark_failure(unit("u"), RuntimeError(said), lambda _: "").code == code
