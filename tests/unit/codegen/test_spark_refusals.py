"""What only Spark cannot do is refused when the program is compiled, with the place and what to write."""

from __future__ import annotations

from pathlib import Path

import pytest

from ghcm.driver import compile
from ghcm.errors import GhcmError

PROGRAM = """program refused

record R {{ k: string, at: timestamp, xs: list<float> }}

sink out = files("out", format = json, mode = replace)

{kind} u {{
  rows = files("a.json", format = json).as(R)
  rows{steps}.to(out)
}}
"""


@pytest.mark.parametrize(
    ("steps", "code", "said"),
    [
        (
            '.map_to_pair(r => (r.k, r.at)).reduce_by_key((a, b) => if hour(a, "Asia/Tokyo") > 3 then a else b,'
            " order = v => v)",
            "GHCM-525",
            "a time zone cannot stand in a reduce_by_key of your own on Spark",
        ),
        (".map(r => r.xs.map(x => to_string(x)))", "GHCM-525", '"to_string" of a float cannot stand in a function of'),
        (".map(r => r.xs.map(x => to_json(x)))", "GHCM-525", '"to_json" cannot stand in a function of the items'),
    ],
)
def test_a_batch_unit_is_refused_what_spark_cannot(steps: str, code: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "refused.istream"
    path.write_text(PROGRAM.format(kind="batch", steps=steps))
    with pytest.raises(GhcmError) as caught:
        compile(path, engine="spark")
    assert (caught.value.code, said in caught.value.message) == (code, True)
    place = caught.value.place
    assert place is not None and place.origin.line == 9
    assert place.text == f"  rows{steps}.to(out)"
    path.write_text(PROGRAM.format(kind="stream", steps=steps).replace("replace", "append"))
    compile(path)


def test_pipelines_that_write_to_one_sink_have_one_type(tmp_path: Path) -> None:
    path = tmp_path / "refused.istream"
    other = '\n  rows.map(r => { n: if r.n > 7 then r.n else null, s: r.s }).named("other").to(out)'
    path.write_text(
        'program two\nrecord R { n: int, s: string }\nsink out = parquet("out")\nbatch u {\n'
        f'  rows = files("in.json").as(R)\n  rows.to(out){other}\n}}\n'
    )
    with pytest.raises(GhcmError, match='records of several types to the sink "out"') as caught:
        compile(path, engine="spark")
    assert caught.value.code == "GHCM-523"


def test_a_batch_unit_is_refused_topics_exactly_once(tmp_path: Path) -> None:
    path = tmp_path / "refused.istream"
    text = PROGRAM.format(kind="batch", steps="").replace('files("out", format = json, mode = replace)', 'kafka("out")')
    path.write_text(text)
    with pytest.raises(GhcmError, match='each record once to the topic of the sink "out"') as caught:
        compile(path, engine="spark")
    assert caught.value.code == "GHCM-523"
    assert "delivery = at_least_once" in caught.value.hint
    path.write_text(text.replace('"out"', '"out", delivery = at_least_once'))
    compile(path, engine="spark")
