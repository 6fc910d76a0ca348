"""What Spark needs is looked for before it is started."""

from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from ghcm.errors import GhcmError
from ghcm.runtime.settings import Settings
from ghcm.runtime.spark.session import Session, find_java


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


def test_who_gives_up_does_not_wait_until_spark_has_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, end, started = Event(), Event(), object()

    def starts(_session: Session) -> Any:
        begun.set()
        end.wait()
        return started

    monkeypatch.setattr(Session, "_start", starts)
    session = Session(Settings().spark, 1, tmp_path)
    starting = Thread(target=session.get)
    starting.start()
    begun.wait()
    try:
        assert session.get_unless(lambda: True) is None
    finally:
        end.set()
        starting.join()
    assert session.get_unless(lambda: True) is started
