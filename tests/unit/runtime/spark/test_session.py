"""What Spark needs is looked for before it is started."""

from pathlib import Path

import pytest

from ghcm.errors import GhcmError
from ghcm.runtime.spark.session import find_java


def test_java_is_that_of_its_home_and_else_that_on_the_path(tmp_path: Path) -> None:
    for folder in ("home/bin", "path"):
        (tmp_path / folder).mkdir(parents=True)
        java = tmp_path / folder / "java"
        java.write_text("")
        java.chmod(0o755)
    path = str(tmp_path / "path")
    assert find_java({"JAVA_HOME": str(tmp_path / "home"), "PATH": path}) == tmp_path / "home/bin/java"
    assert find_java({"PATH": path}) == tmp_path / "path/java"


def test_java_that_is_missing_is_said_with_where_it_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(GhcmError, match="nor is java on the path"):
        find_java({"PATH": str(tmp_path)})
    with pytest.raises(GhcmError, match="has no bin/java") as told:
        find_java({"JAVA_HOME": str(tmp_path), "PATH": "/usr/bin"})
    assert "Java 17" in told.value.hint
