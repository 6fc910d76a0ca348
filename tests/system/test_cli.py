"""The command line as a user types it: what is printed, where, and the exit code; never a traceback."""

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.conftest import ROOT, Golden
from tests.system.running import clean_environment, ghcm

pytestmark = pytest.mark.system

GOLDEN = Path(__file__).resolve().parent.parent / "golden" / "cli"
WRONG = """\
program wrong

record Visit { at: timestamp, page: string }

stream watch {
  visits = files("visits.jsonl", format = json).as(Vist)
  pages = files("visits.jsonl", format = json).as(Visit).map_to_pair(v => (v.pag, 1)).reduce_by_key((a, b) => a + b)
}
"""
EVENTS = """\
{"ts": 1767323045.5, "id.orig_h": "a", "geo": {"x": 1}, "tags": ["t"], "mixed": 1, "cost": null}
{"ts": 1767323046.5, "id.orig_h": "b", "geo": {"x": 1.5, "y": null}, "tags": [], "mixed": "one"}
no record
"""
COMMANDS = {
    "help": ["--help"],
    "no command": [],
    "unknown command": ["chekc"],
    "unknown option": ["check", "visits.istream", "--jsno"],
    "missing argument": ["check"],
    "wrong value": ["supervise", "--port", "many"],
    "check": ["check", "visits.istream", "--laws"],
    "check json": ["check", "visits.istream", "--json"],
    "check wrong": ["check", "wrong.istream"],
    "check wrong json": ["check", "wrong.istream", "--json"],
    "check several": ["check", "visits.istream", "wrong.istream"],
    "check nothing there": ["check", "vists.istream"],
    "check no program": ["check", "visits.jsonl"],
    "fmt check": ["fmt", "--check", "visits.istream", "untidy.istream"],
    "fmt python": ["fmt", "program.py"],
    "fmt wrong syntax": ["fmt", "broken.istream"],
    "explain wrong": ["explain", "wrong.istream"],
    "explain nothing": ["explain"],
    "explain svg of nothing": ["explain", "--svg", "x.svg"],
    "explain a pass": ["explain", "visits.istream", "--pass", "compress-tasks", "--without", "required-columns"],
    "explain no pass": ["explain", "visits.istream", "--until", "compress-task"],
    "explain a pass left out": ["explain", "visits.istream", "--pass", "compress-tasks", "--until", "required-columns"],
    "explain a pass and code": ["explain", "visits.istream", "--pass", "compress-tasks", "--code"],
    "explain engines and code": ["explain", "visits.istream", "--engines", "--code"],
    "explain operator": ["explain", "--operator", "filter"],
    "explain operator and aggregate": ["explain", "--operator", "count"],
    "explain operator json": ["explain", "--operator", "reply", "--json"],
    "explain function": ["explain", "--function", "split"],
    "explain aggregate": ["explain", "--function", "quantile"],
    "explain foreign operator": ["explain", "--operator", "where"],
    "explain other case": ["explain", "--function", "LENGTH"],
    "explain symbol": ["explain", "--function", "//"],
    "explain unknown operator": ["explain", "--operator", "fliter"],
    "explain unknown function": ["explain", "--function", "frobnicate"],
    "explain error": ["explain", "--error", "GHCM-732"],
    "explain error json": ["explain", "--error", "207", "--json"],
    "explain unknown error": ["explain", "--error", "ghcm-999"],
    "build wrong": ["build", "wrong.istream"],
    "build into a folder": ["build", "visits.istream", "-o", "folder"],
    "check folder": ["check", "folder"],
    "run nothing there": ["run", "none.istream"],
    "run no bundle there": ["run", "none.ghcm"],
    "submit both ways": ["submit", "visits.istream", "--resume", "--fresh"],
    "run no bundle": ["run", "broken.ghcm"],
    "run no directory": ["run", "visits.istream", "-C", "nowhere"],
    "submit without daemon": ["submit", "visits.istream"],
    "ps without daemon": ["ps"],
    "logs without daemon": ["logs", "visits"],
    "stop without daemon": ["stop", "visits"],
    "stop nothing": ["stop"],
    "call without daemon": ["call", "visits.most_visited"],
    "call no unit": ["call", "visits"],
    "sinks of nothing": ["sinks", "visits"],
    "sinks never written": ["sinks", "visits.istream"],
    "read help": ["read", "--help"],
    "read unknown sink": ["read", "visits.istream", "per_windw"],
    "read never written": ["read", "visits.istream", "per_window"],
    "read where": ["read", "visits.istream", "per_window", "--where", "valu > 1"],
    "sql help": ["sql", "--help"],
    "sql wrong": ["sql", "select * from per_windw", "visits.istream"],
    "dead help": ["dead", "--help"],
    "dead none": ["dead", "visits.istream"],
    "dead unknown unit": ["dead", "visits.istream", "--unit", "wtch"],
    "init there already": ["init", "--name", "visits"],
    "init bad name": ["init", "new", "--name", "9 lives"],
    "schema infer": ["schema", "infer", "visits.jsonl", "--name", "Visit"],
    "schema infer python": ["schema", "infer", "events.log", "--python"],
    "schema infer json": ["schema", "infer", "events.log", "--json"],
    "schema infer text": ["schema", "infer", "program.py"],
    "schema infer no format": ["schema", "infer", "visits.jsonl", "--format", "xml"],
    "schema infer bad name": ["schema", "infer", "visits.jsonl", "--name", "my visits"],
    "wrong settings": ["ps", "--state", "other"],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cli")
    assert ghcm("init", "--name", "visits", cwd=folder).returncode == 0
    (folder / "wrong.istream").write_text(WRONG)
    (folder / "broken.istream").write_text("program broken\n\nstream s {\n  a = files(\n}\n")
    (folder / "untidy.istream").write_text("program untidy\nrecord A{a:int}\n")
    (folder / "broken.ghcm").write_text("no zip file")
    (folder / "program.py").write_text("")
    (folder / "events.log").write_text(EVENTS)
    (folder / "folder").mkdir()
    return folder


@pytest.mark.parametrize("name", COMMANDS)
def test_what_is_said(folder: Path, name: str, golden: Golden) -> None:
    environment = {"GHCM_HTTP_PORT": "many", "GHCM_REDSI": "x"} if name == "wrong settings" else {}
    done = ghcm(*COMMANDS[name], cwd=folder, **environment)
    assert "Traceback" not in done.stdout + done.stderr
    asked = " ".join(("$ ghcm", *COMMANDS[name]))
    said = f"{asked}\n{done.stdout}--- standard error\n{done.stderr}--- exit code {done.returncode}\n"
    golden(GOLDEN / f"{name.replace(' ', '_')}.txt", said.replace(str(folder), "<folder>"))


def test_init_writes_a_program_that_checks_and_is_canonical(folder: Path) -> None:
    assert ghcm("check", "visits.istream", cwd=folder).returncode == 0
    assert ghcm("fmt", "--check", "visits.istream", cwd=folder).returncode == 0


def test_fmt_rewrites_files_and_reads_standard_input(tmp_path: Path) -> None:
    untidy = "program untidy\nrecord A{a:int}\n"
    (tmp_path / "untidy.istream").write_text(untidy)
    assert ghcm("fmt", "untidy.istream", cwd=tmp_path).returncode == 0
    tidy = (tmp_path / "untidy.istream").read_text()
    assert tidy == "program untidy\n\nrecord A { a: int }\n"
    assert os.listdir(tmp_path) == ["untidy.istream"]
    piped = subprocess.run(
        [sys.executable, "-m", "ghcm.cli", "fmt", "-"], input=untidy, capture_output=True, text=True, check=True
    )
    assert piped.stdout == tidy


def test_a_bundle_that_cannot_be_written_leaves_nothing_behind(folder: Path) -> None:
    before = set(os.listdir(folder))
    assert ghcm("build", "visits.istream", "-o", "folder", cwd=folder).returncode == 2
    assert set(os.listdir(folder)) == before


def test_explain_shows_both_graphs_and_draws_them(folder: Path, tmp_path: Path) -> None:
    picture = tmp_path / "graph.svg"
    done = ghcm("explain", "visits.istream", "--svg", picture, "--code", cwd=folder)
    assert done.returncode == 0, done.stderr
    for heading in ("as written", "as optimised", "what compress-tasks did", "operator calls", "native/watch.py"):
        assert f"--- {heading} ---" in done.stdout
    root = ElementTree.parse(picture).getroot()
    before, after = [each for each in root if each.tag.endswith("}svg")]
    assert float(after.attrib["x"]) == float(before.attrib["width"])
    document = json.loads(ghcm("explain", "visits.istream", "--json", cwd=folder).stdout)
    assert {each["name"] for each in document["units"]} == {"watch", "most_visited"}
    assert document["before"] != document["after"]


def test_build_writes_a_bundle_and_says_where(folder: Path, tmp_path: Path) -> None:
    done = ghcm("build", "visits.istream", "-o", tmp_path / "out.ghcm", "--json", cwd=folder)
    assert json.loads(done.stdout)["bundle"] == str(tmp_path / "out.ghcm")
    assert (tmp_path / "out.ghcm").stat().st_size == json.loads(done.stdout)["bytes"]


def test_a_reader_that_goes_away_is_no_error(folder: Path) -> None:
    line = f"{sys.executable} -m ghcm.cli explain visits.istream | head -1"
    done = subprocess.run(["bash", "-c", line], cwd=folder, capture_output=True, text=True, check=True)
    assert done.stderr == ""


def test_a_state_directory_that_cannot_be_made_is_told(folder: Path) -> None:
    (folder / "file").write_text("")
    done = ghcm("supervise", "--port", "0", "--state", "file/state", cwd=folder)
    assert done.returncode == 1
    assert "file/state" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_bug_of_ours_becomes_a_message_and_a_log(folder: Path, tmp_path: Path) -> None:
    """A standard library that fails stands for the bug."""
    (tmp_path / "sitecustomize.py").write_text(
        "import ghcm.driver\n\ndef fail(path):\n    raise LookupError('the cat')\n\nghcm.driver.check_engines = fail\n"
    )
    done = ghcm("check", "visits.istream", cwd=folder, PYTHONPATH=str(tmp_path))
    assert done.returncode == 1
    assert "GHCM has a bug that stopped this command" in done.stderr
    assert "Traceback" not in done.stderr
    [place] = [word for word in done.stderr.split() if "ghcm-error" in word]
    log = folder / place.rstrip(".")
    assert "LookupError: the cat" in log.read_text()
    log.unlink()


def test_ctrl_c_while_modules_are_imported_shows_no_traceback(folder: Path, tmp_path: Path) -> None:
    """A typer that takes its time stands for a slow disk."""
    (tmp_path / "typer.py").write_text("import time\n\nprint('importing', flush=True)\ntime.sleep(60)\n")
    line = [sys.executable, "-m", "ghcm.cli", "check", "visits.istream"]
    environment = clean_environment()
    environment["PYTHONPATH"] = os.pathsep.join([str(tmp_path), environment.get("PYTHONPATH", str(ROOT))])
    pipe = subprocess.PIPE
    with subprocess.Popen(line, cwd=folder, stdout=pipe, stderr=pipe, text=True, env=environment) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "importing\n"
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (-signal.SIGINT, "")


def test_a_terminal_gets_colours_and_a_pipe_does_not(folder: Path) -> None:
    piped = ghcm("check", "wrong.istream", cwd=folder).stderr
    main, other = pty.openpty()
    line = [sys.executable, "-m", "ghcm.cli", "check", "wrong.istream"]
    environment = clean_environment(TERM="xterm-256color")
    environment.pop("NO_COLOR", None)
    with subprocess.Popen(line, cwd=folder, stderr=other, stdout=subprocess.DEVNULL, env=environment) as process:
        assert process.wait(60) == 2
    os.close(other)
    shown = os.read(main, 65536).decode()
    os.close(main)
    assert "\x1b[" not in piped
    assert "\x1b[1;31merror[" in shown
