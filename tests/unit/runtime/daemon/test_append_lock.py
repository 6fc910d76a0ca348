"""One job at a time appends to a folder, unless others are meant to."""

import resource
from pathlib import Path

import pytest

from ghcm.errors import GhcmError
from ghcm.runtime.daemon.locks import AppendLocks
from ghcm.spg.connectors import Mode
from ghcm.spg.graph import Program
from ghcm.spg.ops import To
from ghcm.types import Int, pair_of
from tests.unit.runtime.small_operators import sink, task, unit

PAIR = pair_of(Int(), Int())


def writing(name: str, path: str, mode: Mode = Mode.APPEND, *, unused: str = "") -> Program:
    sinks = [sink("lake", path, PAIR, mode)] + ([sink("unused", unused, PAIR)] if unused else [])
    return Program(name, (), tuple(sinks), (unit("main", task("to", To("lake"), PAIR, "read")),))


def test_a_second_appender_is_refused_and_told_who_is_first(tmp_path: Path) -> None:
    one, other = AppendLocks(tmp_path / "one"), AppendLocks(tmp_path / "other")
    one.take("first-1", writing("first", "out/lake"), tmp_path)
    with pytest.raises(GhcmError) as refused:
        other.take("second-1", writing("second", "out/lake"), tmp_path)
    assert refused.value.code == "GHCM-757"
    assert refused.value.message == 'sink "lake" is being appended to by program "first"'
    assert 'job "first-1"' in refused.value.detail and str(tmp_path / "out/lake") in refused.value.detail
    assert f"ghcm stop first-1 --state {tmp_path / 'one'}" in refused.value.hint
    assert "--beside" in refused.value.hint

    assert other.take("second-1", writing("second", "out/lake"), tmp_path, beside=True) == []
    one.drop("first-1")
    assert other.take("second-1", writing("second", "out/lake"), tmp_path) == [tmp_path / "out/lake"]


def test_the_same_folder_by_another_name_is_the_same(tmp_path: Path) -> None:
    (tmp_path / "linked").symlink_to(tmp_path / "out")
    one = AppendLocks(tmp_path)
    one.take("first-1", writing("first", "out/lake"), tmp_path)
    for path in ("linked/lake", "out/../out/lake", str(tmp_path / "out/lake")):
        with pytest.raises(GhcmError, match="GHCM-757"):
            one.take("second-1", writing("second", path), tmp_path)


def test_what_is_separate_goes_on(tmp_path: Path) -> None:
    one = AppendLocks(tmp_path)
    one.take("first-1", writing("first", "out/lake", unused="out/unused"), tmp_path)
    one.take("second-1", writing("second", "out/sea"), tmp_path)
    one.take("third-1", writing("third", "out/lake", Mode.REPLACE), tmp_path)
    one.take("fourth-1", writing("fourth", "out/unused"), tmp_path)
    one.take("fifth-1", writing("fifth", "out/lake"), tmp_path / "elsewhere")
    assert one.take("first-1", writing("first", "out/lake"), tmp_path) == []  # it has it


def test_a_refused_job_holds_nothing(tmp_path: Path) -> None:
    one = AppendLocks(tmp_path)
    one.take("first-1", writing("first", "b"), tmp_path)
    both = Program(
        "second",
        (),
        (sink("a", "a", PAIR), sink("b", "b", PAIR)),
        (unit("main", task("to_a", To("a"), PAIR, "read"), task("to_b", To("b"), PAIR, "read")),),
    )
    with pytest.raises(GhcmError, match='"b"'):
        one.take("second-1", both, tmp_path)
    one.take("third-1", writing("third", "a"), tmp_path)


def test_a_folder_that_cannot_be_made_is_left_to_its_writer(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file")
    assert AppendLocks(tmp_path).take("first-1", writing("first", "out/lake"), tmp_path) == []


def test_a_folder_without_room_is_refused_and_given_back(tmp_path: Path) -> None:
    one, other = AppendLocks(tmp_path / "one"), AppendLocks(tmp_path / "other")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))  # nothing can be written, as on a full disk
    try:
        with pytest.raises(GhcmError) as refused:
            one.take("first-1", writing("first", "out/lake"), tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert refused.value.code == "GHCM-730"
    assert refused.value.message == f'"{tmp_path / "out/lake/.appending"}" cannot be locked: File too large'
    assert other.take("second-1", writing("second", "out/lake"), tmp_path) == [tmp_path / "out/lake"]
