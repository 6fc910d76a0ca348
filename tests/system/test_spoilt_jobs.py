"""What one bundle in the store of a daemon breaks is its own job: the daemon starts and serves the others."""

import json
import shutil
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ghcm.driver import build
from ghcm.runtime.daemon.state import StateDirectory
from ghcm.runtime.jobs.store import JobState, open_store
from ghcm.runtime.pubsub.envelope import Instruction
from tests.system.running import Running, running, until

pytestmark = pytest.mark.system

PROGRAM = """program {name}

responsive stream find(word: string) {{
  files("words.txt", format = text).filter(line => line.text == word).reply()
}}
"""


def flip(bundle: Path) -> None:
    data = bytearray(bundle.read_bytes())
    data[len(data) // 2] ^= 1
    bundle.write_bytes(data)


def pack_otherwise(bundle: Path) -> None:
    """As a zip file without a seal, in which a method stands that no zip file has."""
    with zipfile.ZipFile(bundle, "w") as archive:
        archive.writestr("manifest.json", "{}")
    data = bytearray(bundle.read_bytes())
    data[data.find(b"PK\1\2") + 10] = 77
    bundle.write_bytes(data)


def make_a_folder_that_is_wrong(bundle: Path) -> None:
    with zipfile.ZipFile(bundle) as archive:
        archive.extractall(bundle.with_suffix(".new"))
    bundle.unlink()
    bundle.with_suffix(".new").rename(bundle)
    spg = json.loads((bundle / "spg.json").read_text())
    spg["units"][0]["tasks"] = {"decimal": "x"}
    (bundle / "spg.json").write_text(json.dumps(spg))


def forget_the_folder(bundle: Path) -> None:
    bundle.with_suffix(".base").write_bytes(b"\xff\xfe")


SPOILT: dict[str, tuple[Callable[[Path], object], str]] = {
    "flipped": (flip, "it is damaged"),
    "packed": (pack_otherwise, "packed in a way that bundles are not"),
    "wrong": (make_a_folder_that_is_wrong, '"spg.json" cannot be read'),
    "cut": (lambda bundle: bundle.write_bytes(bundle.read_bytes()[:-1000]), "is no bundle"),
    "empty": (lambda bundle: bundle.write_bytes(b""), "is no bundle"),
    "gone": (Path.unlink, "there is no such file"),
    "lost": (forget_the_folder, "it is not known in which folder"),
}


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A daemon on what another has left: jobs that run, all but one with a bundle that is spoilt, each with a call."""
    folder = tmp_path_factory.mktemp("spoilt")
    state = StateDirectory(folder / ".ghcm")
    (folder / "words.txt").write_text("a\nb\n")
    with closing(open_store(state.store)) as store:
        for name in (*SPOILT, "sound"):
            source = folder / f"{name}.istream"
            source.write_text(PROGRAM.format(name=name))
            bundle = state.bundle(f"{name}-1")
            bundle.parent.mkdir(exist_ok=True)
            shutil.copyfile(build(source), bundle)
            state.base(f"{name}-1").write_text(str(folder))
            store.jobs.submit(f"{name}-1", name, str(bundle))
            store.jobs.move(f"{name}-1", JobState.RUNNING)
            store.calls.accept(Instruction(f"call-{name}", name, "find", {"word": "a"}))
            if name in SPOILT:
                SPOILT[name][0](bundle)
    with running(folder) as daemon:
        yield daemon


@pytest.mark.parametrize("name", SPOILT)
def test_a_job_whose_bundle_is_spoilt_fails_with_the_reason(daemon: Running, name: str) -> None:
    job = daemon.job(f"{name}-1")
    assert job["state"] == "failed" and SPOILT[name][1] in job["reason"]
    assert job["error"]["code"] in ("GHCM-610", "GHCM-735") and job["error"]["hint"]


def test_the_others_are_served(daemon: Running) -> None:
    until(lambda: daemon.job("sound-1")["state"] == "running", "the job that is sound")
    answer = daemon.post("/programs/sound/units/find/calls?wait=60", {"word": "a"})
    assert answer.status == 200 and answer.json["state"] == "done", answer.text
    assert [program["name"] for program in daemon.get("/programs").json] == ["sound"]


def test_open_calls_of_the_spoilt_are_answered_and_those_of_the_others_run(daemon: Running) -> None:
    def calls() -> dict[str, Any]:
        found: Any = daemon.control.ask("calls")["calls"]
        return {call["id"]: call for call in found if call["id"].startswith("call-")}

    until(lambda: all(call["state"] in ("done", "failed") for call in calls().values()), "every answer")
    assert calls().pop("call-sound")["state"] == "done"
    failed = [call["feedback"]["error"] for name, call in calls().items() if name != "call-sound"]
    assert len(failed) == len(SPOILT) and {error["code"] for error in failed} == {"GHCM-745"}
    assert all(any(said in error["message"] for _, said in SPOILT.values()) for error in failed)
