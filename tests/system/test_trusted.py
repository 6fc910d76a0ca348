"""A daemon that trusts keys runs what they have signed, and nothing else: neither submitted, nor left in its store."""

import json
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ghcm.driver import build
from ghcm.runtime.daemon.state import StateDirectory
from ghcm.runtime.jobs.store import JobState, open_store
from tests.system.running import Running, ghcm, running, until

pytestmark = pytest.mark.system

PROGRAM = """program {name}

responsive stream find(word: string) {{
  files("words.txt", format = text).filter(line => line.text == word).reply()
}}
"""


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A daemon that trusts `ours`, on what one that trusted everybody has left: a job whose bundle is not signed."""
    folder = tmp_path_factory.mktemp("trusted")
    (folder / "words.txt").write_text("a\nb\n")
    for name in ("ours", "theirs"):
        assert ghcm("key", "create", name, cwd=folder).returncode == 0
    for name in ("left", "mine"):
        (folder / f"{name}.istream").write_text(PROGRAM.format(name=name))
    state = StateDirectory(folder / ".ghcm")
    with closing(open_store(state.store)) as store:
        state.bundle("left-1").parent.mkdir()
        shutil.copyfile(build(folder / "left.istream"), state.bundle("left-1"))
        state.base("left-1").write_text(str(folder))
        store.jobs.submit("left-1", "left", str(state.bundle("left-1")))
        store.jobs.move("left-1", JobState.RUNNING)
    with running(folder, GHCM_TRUSTED="ours.pub") as daemon:
        yield daemon


def test_what_was_taken_from_anybody_before_fails_alone(daemon: Running) -> None:
    job = daemon.job("left-1")
    assert (job["state"], job["error"]["code"]) == ("failed", "GHCM-625")


def test_only_what_is_signed_by_who_is_trusted_runs_or_replaces_what_runs(daemon: Running) -> None:
    for words in ((), ("--sign", "theirs.key")):
        assert daemon.cli("build", "mine.istream", *words).returncode == 0
        for submitted in ("mine.ghcm", "mine.istream"):
            done = daemon.cli("submit", submitted, "--json")
            assert done.returncode == 2 and json.loads(done.stdout)["errors"][0]["code"] == "GHCM-625"
    built = daemon.cli("build", "mine.istream", "--sign", "ours.key")
    assert built.returncode == 0, built.stderr
    id = daemon.submit("mine.ghcm")
    program = daemon.folder / "mine.istream"
    program.write_text(program.read_text().replace("line.text == word", "line.text != word"))
    changed = daemon.cli("submit", "mine.istream")
    assert changed.returncode == 2 and "GHCM-625" in changed.stderr
    until(lambda: daemon.job(id)["state"] == "running", "the job")
    answer = daemon.post("/programs/mine/units/find/calls?wait=60", {"word": "a"}).json
    assert [row["text"] for row in answer["data"]] == ["a"]


def test_a_daemon_whose_keys_cannot_be_read_does_not_start(tmp_path: Path) -> None:
    done = ghcm("supervise", "--port", "0", "--trusted", "missing.pub", cwd=tmp_path)
    assert done.returncode == 2 and "GHCM-626" in done.stderr
