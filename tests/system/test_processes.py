"""Processes as a user meets them: runs to the end, daemons that are killed and started again, nothing left behind."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psutil
import pytest

from ghcm.runtime.jobs.store import open_store
from ghcm.runtime.pubsub.envelope import Instruction
from tests.system.running import PATIENCE, Running, clean_environment, ghcm, gone, running, until

pytestmark = pytest.mark.system


@pytest.fixture(scope="module")
def initial(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `ghcm init` writes."""
    folder = tmp_path_factory.mktemp("initial")
    assert ghcm("init", "--name", "visits", cwd=folder).returncode == 0
    return folder


@pytest.fixture
def folder(initial: Path, tmp_path: Path) -> Path:
    """A folder with the program that `ghcm init` writes."""
    shutil.copytree(initial, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.fixture(scope="module")
def shared_daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A daemon for tests that end none."""
    with running(tmp_path_factory.mktemp("shared")) as daemon:
        yield daemon


@pytest.fixture
def daemon(shared_daemon: Running, folder: Path) -> Iterator[Running]:
    """It, for the program in the folder, which has a name of its own: that of the folder."""
    program = folder / "visits.istream"
    text = program.read_text()
    assert "program visits\n" in text
    program.write_text(text.replace("program visits\n", f"program {folder.name}\n"))
    seen = shared_daemon.seen_from(folder)
    yield seen
    seen.cli("stop", folder.name)


def pages(folder: Path) -> Counter[str]:
    return Counter(json.loads(line)["page"] for line in (folder / "visits.jsonl").read_text().splitlines())


def windows(folder: Path) -> Counter[str]:
    """What the sink of the program holds: per page, the counts of all windows summed."""
    found: Counter[str] = Counter()
    for line in windows_rows(folder):
        row = json.loads(line)
        found[row["key"]] += row["value"]
    return found


def windows_rows(folder: Path) -> list[str]:
    return [line for path in (folder / "out/per_window").glob("part-*") for line in path.read_text().splitlines()]


def test_run_reads_everything_and_ends_with_0_and_appends_when_it_is_run_again(folder: Path) -> None:
    done = ghcm("run", "visits.istream", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "profile: embedded" in done.stderr
    assert "per_window" in done.stdout
    assert windows(folder) == pages(folder)
    rows = len(windows_rows(folder))

    done = ghcm("run", "visits.istream", "--json", cwd=folder)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, done.stderr
    assert events[0]["event"] == "start"
    assert events[-1]["event"] == "end"
    assert events[-1]["sinks"] == {"per_window": rows}
    assert windows(folder) == Counter({page: 2 * count for page, count in pages(folder).items()})


def test_a_run_beside_a_job_that_appends_to_the_same_sink_is_refused(folder: Path) -> None:
    with running(folder) as daemon:
        job = daemon.submit("visits.istream")
        until(lambda: daemon.job(job)["inputs_done"], "the inputs to be read")
        refused = ghcm("run", "visits.istream", cwd=folder)
        assert refused.returncode == 1
        assert 'error[GHCM-757]: sink "per_window" is being appended to by program "visits"' in refused.stderr
        assert f'job "{job}"' in refused.stderr and f"ghcm stop {job}" in refused.stderr
        assert windows(folder) == pages(folder)

        daemon.kill()  # a lock of who is dead is none, and who goes on finds it as it was
        daemon.start()
        assert ghcm("run", "visits.istream", cwd=folder).returncode == 1
        assert ghcm("run", "visits.istream", "--beside", cwd=folder).returncode == 0
        assert windows(folder) == pages(folder) + pages(folder)
        assert daemon.cli("stop", "visits").returncode == 0
        assert ghcm("run", "visits.istream", cwd=folder).returncode == 0


def test_run_takes_a_bundle(folder: Path) -> None:
    assert ghcm("build", "visits.istream", cwd=folder).returncode == 0
    done = ghcm("run", "visits.ghcm", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert windows(folder) == pages(folder)


def test_run_tells_of_records_that_failed(folder: Path) -> None:
    with (folder / "visits.jsonl").open("a") as file:
        file.write('{"at": "yesterday", "page": "/"}\nno json\n')
    done = ghcm("run", "visits.istream", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "2 records of watch failed: see" in done.stderr


def test_run_of_a_wrong_program_ends_with_2(folder: Path) -> None:
    text = (folder / "visits.istream").read_text().replace("v.page", "v.pge")
    (folder / "visits.istream").write_text(text)
    done = ghcm("run", "visits.istream", cwd=folder)
    assert done.returncode == 2
    assert 'did you mean "page"?' in done.stderr
    assert "Traceback" not in done.stderr


def test_run_that_fails_ends_with_1_and_the_reason(folder: Path) -> None:
    (folder / "visits.jsonl").unlink()
    done = ghcm("run", "visits.istream", cwd=folder)
    assert done.returncode == 1, done.stdout
    assert "visits.jsonl" in done.stderr
    assert "Traceback" not in done.stderr


def start_run(folder: Path, *words: str) -> subprocess.Popen[str]:
    """A run that serves, once it says so."""
    line = [sys.executable, "-m", "ghcm.cli", "run", "visits.istream", "--keep", "--json", *words]
    process = subprocess.Popen(line, cwd=folder, stdout=subprocess.PIPE, text=True, env=clean_environment())
    assert process.stdout is not None
    for text in process.stdout:
        if json.loads(text)["event"] == "complete":
            return process
    raise AssertionError("the run ended")


def test_a_run_that_serves_ends_with_ctrl_c(folder: Path) -> None:
    with start_run(folder) as process:
        below = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
    assert gone(below), below


def test_a_run_that_is_killed_leaves_no_process(folder: Path) -> None:
    with start_run(folder) as process:
        below = psutil.Process(process.pid).children(recursive=True)
        assert len(below) >= 4, below  # daemon, Redis, HTTP, engine
        process.kill()
        process.wait(PATIENCE)
    assert gone(below), below


def test_a_job_from_submit_to_stop(folder: Path) -> None:
    with running(folder) as daemon:
        job = daemon.submit("visits.istream")
        until(lambda: daemon.job(job)["inputs_done"], "the inputs to be read")
        listed = json.loads(daemon.cli("ps", "--json").stdout)
        assert [each["id"] for each in listed["jobs"]] == [job]
        assert {each["name"] for each in listed["processes"]} == {"redis", "http", job}
        tasks = json.loads(daemon.cli("top", "-n", "1", "--json").stdout)["tasks"]
        assert {(each["job"], each["unit"]) for each in tasks} == {(job, "watch")}
        assert all(each["in"] != "0" and each["failed"] == "0" for each in tasks), tasks
        assert 'unit "watch"' in daemon.cli("logs", "visits", "-n", "50").stdout
        called = daemon.cli("call", "visits.most_visited", "n=1", "--wait", "--json")
        [most] = pages(folder).most_common(1)
        assert json.loads(called.stdout)["data"] == [{"key": most[0], "value": most[1]}]
        refused = daemon.cli("submit", "visits.istream")
        assert refused.returncode == 1
        assert "runs already" in refused.stderr
        assert daemon.cli("stop", "visits").stdout == "visits: stopped\n"
        assert json.loads(daemon.cli("ps", "--json").stdout)["jobs"] == []
        assert daemon.job(job)["state"] == "stopped"


def test_what_has_run_before_appends_nothing_twice_unless_that_is_asked_for(folder: Path, daemon: Running) -> None:
    job = daemon.submit("visits.istream")
    until(lambda: daemon.job(job)["inputs_done"], "the inputs to be read")
    assert daemon.cli("stop", folder.name).returncode == 0
    refused = daemon.cli("submit", "visits.istream")
    assert refused.returncode == 2
    assert f'has run before, as job "{job}" (stopped)' in refused.stderr
    assert '"per_window"' in refused.stderr and "--resume" in refused.stderr
    assert daemon.cli("submit", "visits.istream", "--resume", "--fresh").returncode == 2

    resumed = daemon.cli("submit", "visits.istream", "--resume", "--wait", "--json")
    assert json.loads(resumed.stdout)["id"] == job
    until(lambda: daemon.job(job)["inputs_done"], "the job to be where it was")
    called = daemon.post(f"/programs/{folder.name}/units/most_visited/calls?wait=60", {"n": 1})
    assert called.json["data"] == [{"key": "/", "value": pages(folder)["/"]}]
    assert windows(folder) == pages(folder)

    assert daemon.cli("stop", folder.name).returncode == 0
    fresh = json.loads(daemon.cli("submit", "visits.istream", "--fresh", "--wait", "--json").stdout)["id"]
    assert fresh != job
    until(lambda: daemon.job(fresh)["inputs_done"], "the inputs to be read again")
    assert windows(folder) == pages(folder) + pages(folder)


def test_what_has_failed_before_it_wrote_anything_may_be_submitted_again(folder: Path, daemon: Running) -> None:
    (folder / "visits.jsonl").rename(folder / "later.jsonl")
    failed = json.loads(daemon.cli("submit", "visits.istream", "--json").stdout)["id"]
    until(lambda: daemon.job(failed)["state"] == "failed", "the job to miss its file")
    assert "no file matches" in daemon.job(failed)["reason"]
    (folder / "later.jsonl").rename(folder / "visits.jsonl")
    job = daemon.submit("visits.istream")
    until(lambda: daemon.job(job)["inputs_done"], "the inputs to be read")
    assert windows(folder) == pages(folder)


def test_a_changed_program_is_not_resumed(folder: Path, daemon: Running) -> None:
    nothing = daemon.cli("submit", "visits.istream", "--resume")
    assert nothing.returncode == 2
    assert "no earlier job" in nothing.stderr
    daemon.submit("visits.istream")
    assert daemon.cli("stop", folder.name).returncode == 0
    text = (folder / "visits.istream").read_text()
    (folder / "visits.istream").write_text(text.replace("tumbling(10s)", "tumbling(20s)"))
    refused = daemon.cli("submit", "visits.istream", "--resume")
    assert refused.returncode == 2
    assert "the program has changed since" in refused.stderr
    (folder / "visits.istream").write_text("# a comment changes nothing\n" + text)
    assert daemon.cli("submit", "visits.istream", "--resume").returncode == 0


def test_a_second_daemon_on_the_same_state_is_refused(folder: Path, daemon: Running) -> None:
    assert daemon.process is not None
    second = daemon.cli("supervise", "--port", "0")
    assert second.returncode == 1
    assert f"another daemon (process {daemon.process.pid}) owns the state directory" in second.stderr


def test_a_port_that_is_taken_is_told(folder: Path, daemon: Running) -> None:
    port = daemon.url.rpartition(":")[2]
    second = ghcm("supervise", "--port", port, "--state", "other", cwd=folder)
    assert second.returncode == 1
    assert f"cannot listen on 127.0.0.1:{port}" in second.stderr


def test_a_daemon_that_was_killed_goes_on_where_it_was(folder: Path) -> None:
    with running(folder) as daemon:
        job = daemon.submit("visits.istream")
        until(lambda: daemon.job(job)["inputs_done"], "the inputs to be read")
        daemon.kill()
        daemon.start()
        until(lambda: daemon.job(job)["inputs_done"], "the job to run again")
        assert daemon.job(job)["state"] == "running"
        called = daemon.post("/programs/visits/units/most_visited/calls?wait=60", {"n": 1})
        assert called.json["data"] == [{"key": "/", "value": pages(folder)["/"]}]
        assert windows(folder) == pages(folder)


def test_a_daemon_that_ends_leaves_its_jobs_and_their_calls_to_the_next(folder: Path) -> None:
    with running(folder, GHCM_RETRY_ATTEMPTS="1") as daemon:
        job = daemon.submit("visits.istream")
        assert daemon.process is not None
        assert daemon.cli("stop", "--daemon").stdout == "daemon: stopped\n"
        assert daemon.process.wait(PATIENCE) == 0
        assert not daemon.state.control.exists()
        with closing(open_store(daemon.state.store)) as store:  # it ran when the daemon ended
            store.calls.started(Instruction("cut-off", "visits", "most_visited", {"n": 1}), "engine-before")
        daemon.start()
        until(lambda: daemon.job(job)["state"] == "running", "the job to run again")
        found = "/programs/visits/units/most_visited/calls/cut-off?wait=60"
        assert daemon.get(found).json["state"] == "done", daemon.get(found).text


@pytest.mark.parametrize("name", ["http", "redis", "engine"])
def test_what_is_killed_is_running_again(folder: Path, daemon: Running, name: str) -> None:
    job = daemon.submit("visits.istream")
    until(lambda: daemon.job(job)["inputs_done"], "the inputs to be read")
    process = job if name == "engine" else name
    pid = daemon.pid(process)
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    called = daemon.post(f"/programs/{folder.name}/units/most_visited/calls?wait=60", {"n": 1})
    assert called.json["state"] == "done", called.text + daemon.log(job)
    until(lambda: daemon.pid(process) not in (None, pid), f"{name} to run again")
    assert windows(folder) == pages(folder)


def test_what_hangs_is_shown_and_started_again(folder: Path) -> None:
    with running(folder, GHCM_RESTARTS_HANG="15s") as daemon:
        job = daemon.submit("visits.istream")
        names = ("http", "redis", job)

        def health() -> dict[str, tuple[str, str]]:
            listed: Any = daemon.control.ask("status")["processes"]
            return {each["name"]: (each["health"], each["reason"]) for each in listed}

        until(lambda: {each for each, _ in health().values()} == {"ok"}, "all to be there")
        pids = {name: daemon.pid(name) for name in names}
        for pid in pids.values():
            assert pid is not None
            os.kill(pid, signal.SIGSTOP)
        until(lambda: all(health()[name][0] == "silent" for name in names), "all to be missed")
        os.kill(pids["http"] or 0, signal.SIGCONT)  # for it is asked of the others
        unready = daemon.get("/ready")
        parts = {each["name"]: (each["state"], each["reason"]) for each in unready.json["parts"]}
        assert unready.status == 503
        assert unready.json["message"] == 'calls cannot be served just now: see "redis", "engine visits"'
        assert parts["engine visits"][0] == "silent" and "has said nothing for" in parts["engine visits"][1], parts
        assert [parts[name] for name in ("daemon", "store", "disk")] == [("ok", "")] * 3
        os.kill(pids["http"] or 0, signal.SIGSTOP)
        until(lambda: health()["http"][0] == "silent", "HTTP to be missed again")
        shown = daemon.cli("ps").stdout
        assert shown.count("silent") == 3 and shown.count("it has said nothing for") == 3, shown
        until(lambda: all(daemon.pid(name) not in (None, pids[name]) for name in names), "all to be started again")
        called = daemon.post("/programs/visits/units/most_visited/calls?wait=60", {"n": 1})
        assert called.json["state"] == "done", called.text
        until(lambda: daemon.get("/ready").status == 200, "all to be served again")
        until(lambda: health()["redis"] == ("ok", "the one before said nothing for 16 s and was killed"), "the reason")


def test_the_system_is_told_that_the_daemon_listens_lives_and_ends(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as system:
        system.bind(str(tmp_path / "notify"))
        system.settimeout(PATIENCE)
        with running(tmp_path, NOTIFY_SOCKET=str(tmp_path / "notify"), WATCHDOG_USEC="100000"):
            assert [system.recv(100) for _ in range(3)] == [b"READY=1", b"WATCHDOG=1", b"WATCHDOG=1"]
        said = b""
        while said != b"STOPPING=1":
            said = system.recv(100)


def test_a_job_that_keeps_dying_is_failed_with_the_reason(folder: Path) -> None:
    with running(folder, GHCM_RESTARTS_LIMIT="3") as daemon:
        job = daemon.submit("visits.istream")
        open_call = accept_while_dead(daemon, job)
        found = daemon.job(job)
        assert found["state"] == "failed"
        assert "died 3 times in a row, the last time killed by SIGKILL" in found["reason"]
        until(lambda: daemon.get(open_call).json["state"] == "failed", "the call to be answered")
        listed = daemon.cli("ps", "--all").stdout
        assert "failed" in listed


def accept_while_dead(daemon: Running, job: str) -> str:
    """Kill the engine whenever it runs until the job has failed; a call that was made meanwhile."""
    link = ""
    while daemon.job(job)["state"] != "failed":
        pid = daemon.pid(job)
        if pid is None:
            continue
        # Stopped first, so that it cannot answer the call before it is killed.
        os.kill(pid, signal.SIGSTOP)
        answer = daemon.post("/programs/visits/units/most_visited/calls")
        link = answer.json["links"]["self"] if answer.status == 202 else link
        os.kill(pid, signal.SIGKILL)
        until(lambda pid=pid: daemon.pid(job) != pid, "the process to be missed")  # type: ignore[misc]
    assert link
    return link


def test_edited_code_of_a_bundle_is_used_and_told(folder: Path) -> None:
    assert ghcm("build", "visits.istream", cwd=folder).returncode == 0
    with zipfile.ZipFile(folder / "visits.ghcm") as archive:
        archive.extractall(folder / "opened")
    code = folder / "opened/native/watch.py"
    code.write_text(code.read_text().replace("emit((page, 1, window", "emit((page, 2, window"))
    done = ghcm("run", "opened", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "native/watch.py was edited" in done.stderr
    assert windows(folder) == Counter({page: 2 * count for page, count in pages(folder).items()})
