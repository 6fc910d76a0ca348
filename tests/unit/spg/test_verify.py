"""The verifier: a sound program passes, and each broken law is told with its place."""
# ruff: noqa: E501    lines of the notation are long

from dataclasses import replace
from pathlib import Path

import pytest

from ghcm.expr import Lambda, Literal, Var
from ghcm.spg.graph import Program, Task, Unit
from ghcm.spg.ops import Filter
from ghcm.spg.text import parse_program
from ghcm.spg.verify import verify
from ghcm.types import Int

TEXT = (Path(__file__).parent / "traffic.spg").read_text(encoding="utf-8")


def test_a_sound_program_breaks_no_law() -> None:
    assert verify(parse_program(TEXT)) == []


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("busy x4 =", "flows x4 =", 'unit "monitor": task "flows" exists twice'),
        ("<- edge1, edge2", "<- edge1, later", 'task "union": no task before it is called "later"'),
        ("<- windows hash(key)", "<- windows", 'task "share": records come from "windows"'),
        ("<- windows hash(key)", "<- windows hash(nothing)", 'names columns that "windows" has not'),
        ("<- host hash(key)", "<- host global", "it has 2 instances, but all of its records have to meet"),
        ("union x4 =", "union x5 =", "it has more instances than there are before it"),
        ("<- alarm global", "<- alarm", 'task "alarm.alarms": records come from "alarm"'),
        ("f.bytes > 0)", "f.bytes > 0.5)", 'gt does not take (int, float)'),
        ("=> f.bytes > 0", "=> f.bytes", 'task "busy": a function gives "int" and should give "bool"'),
        ("(f.proto, f.bytes)", "(f.proto, f.proto)", 'its element is "{key: string, value: int}" and should be'),
        ("builtin(sum, int)) <- host", "builtin(all, int)) <- host", 'all of "int" does not reduce "int"'),
        ("table<{key: string, value: int}> bounded named", "stream<{key: string, value: int}> bounded", "groups by key"),
        ('to("shares")', 'to("alarms")', 'to "alarms", which holds "Alarm"'),
        ('to("shares")', 'to("nowhere")', 'there is no sink "nowhere"'),
        ('call_template("rebuild"', 'call_template("talkers"', '"talkers" takes no "since"'),
        ('("since", aggregate', '("until", aggregate', '"rebuild" needs "since"'),
        ("policy(every_records = 1000)", "policy()", "its policy says when in 0 ways"),
        ('"alarm.alarms") <- alarm global', '"hosts") <- alarm global', 'it waits for "hosts", which writes nothing'),
        ('read_table("monitor", "hosts"', 'read_table("monitor", "share"', 'there is no table "share" in "monitor"'),
        ("$n, (h:", "$since, (h:", 'parameter "since" is "None"'),
        ("on rebuild_calls", "on no_calls", 'there is no cache "no_calls"'),
        ("depth: int = 3", "depth: int = true", 'the default of "depth" is no value of "int"'),
        (" upsert key (s: {key: string, value: int}) => s.key", " upsert", 'sink "steps": it keeps records by key and has none'),
        ("tumbling(10000000), 0) <- pairs", "tumbling(10000000), 0) <- host", 'no task before it is called "host"'),
        ("10000000) <- union", "none) <- union", ""),
        ("bounded timed named calls 2", "bounded named calls 2", "timed is False and should be True"),
        ("files(\"flows/edge1/*.json\", format(\"json\"))", 'redis("x")', "Redis is read through a sink"),
    ],
)  # fmt: skip
def test_a_broken_law_is_told(old: str, new: str, problem: str) -> None:
    assert TEXT.count(old) >= 1
    found = verify(parse_program(TEXT.replace(old, new, 1)))
    assert any(problem in each for each in found) if problem else found == []


def test_variables_and_literals_keep_to_their_types() -> None:
    program = parse_program(TEXT)
    monitor = program.units[0]
    wrong = Lambda((Var("f", monitor.task("flows").collection.element),), Literal("yes", Int()))
    assert any("'yes' is no value of \"int\"" in each for each in verify(_with(program, monitor, "busy", wrong)))
    other = Lambda(wrong.parameters, Var("g", Int()))
    assert any('variable "g" is "None", not "int"' in each for each in verify(_with(program, monitor, "busy", other)))


def _with(program: Program, unit: Unit, id: str, predicate: Lambda) -> Program:
    def changed(task: Task) -> Task:
        return replace(task, op=Filter(predicate)) if task.id == id else task

    new = replace(unit, tasks=tuple(map(changed, unit.tasks)))
    return replace(program, units=tuple(new if each is unit else each for each in program.units))


def test_units_do_not_call_each_other_in_a_circle() -> None:
    text = (
        TEXT
        + '  again = publish(call_template("rebuild", [("since", $since)]), policy(on = "completion"), none) <- recent global : stream<Alarm> bounded\n'
    )
    text = text.replace("responsive stream talkers", "responsive stream other")
    lines = text.splitlines()
    again = lines.pop()
    place = next(index for index, line in enumerate(lines) if line.startswith("responsive stream"))
    lines.insert(place - 1, again)
    assert 'unit "rebuild" calls itself in a circle' in verify(parse_program("\n".join(lines) + "\n"))
