"""Who runs a unit is data of the unit; what an engine cannot is refused before it makes anything."""

from dataclasses import replace

import pytest

from ghcm.codegen.engines import BACKENDS, backends_of, generate, module_path
from ghcm.errors import GhcmError
from ghcm.spg.json import from_json, to_json
from ghcm.spg.text import parse_program, print_program
from ghcm.support import RUNS

TEXT = """program engines

sink out: {n: int} = files("out", format("json")) append

batch u engine native
  a = source(files("a.json", format("json"))) : stream<{n: int}> bounded named
  out.to = to("out") <- a : stream<{n: int}> bounded
"""


def test_a_unit_says_who_runs_it() -> None:
    program = parse_program(TEXT)
    (unit,) = program.units
    assert print_program(program).splitlines()[4].startswith("batch u engine native")
    assert from_json(to_json(program)) == program
    (native,) = backends_of(unit)
    assert (native.name, module_path(native, unit)) == ("native", "native/u.py")
    assert list(generate(program).files) == ["native/u.py"]


def test_a_unit_that_leaves_it_open_has_a_form_for_each_engine_that_can_run_it() -> None:
    program = parse_program(TEXT.replace(" engine native", ""))
    made = generate(program)
    assert (list(made.files), made.program) == (["native/u.py", "spark/u.py"], program)
    made = generate(parse_program(TEXT.replace(" engine native", "").replace('files("out"', 'kafka("out"')))
    assert (list(made.files), made.program.units[0].engine) == (["native/u.py"], "native")


def test_an_engine_that_there_is_not_is_refused() -> None:
    unit = replace(parse_program(TEXT).units[0], engine="sparc")
    with pytest.raises(GhcmError, match='there is no engine "sparc" for unit "u"') as caught:
        backends_of(unit)
    assert caught.value.hint == 'did you mean "spark"?'


def test_what_an_engine_cannot_do_is_refused_with_its_line() -> None:
    endless = TEXT.replace('files("a.json", format("json"))', 'socket("h", 9000, format("json"))').replace(
        "> bounded", "> unbounded"
    )
    with pytest.raises(GhcmError, match="never ends: no batch unit can read it") as caught:
        generate(parse_program(endless))
    assert caught.value.code == "GHCM-521"


def test_every_engine_has_a_name_of_its_own() -> None:
    assert len({each.name for each in BACKENDS}) == len(BACKENDS)
    assert {name for names in RUNS.values() for name in names} == {each.name for each in BACKENDS}
