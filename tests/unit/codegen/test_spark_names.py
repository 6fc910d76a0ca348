"""Functions that Spark jobs are put together from: two of one name in a job would be one."""

import re
from collections import Counter
from pathlib import Path

import ghcm.codegen

TEMPLATES = Path(ghcm.codegen.__file__).parent / "templates" / "spark"


def test_no_two_functions_of_spark_jobs_share_a_name() -> None:
    names = [name for path in TEMPLATES.rglob("*.j2") for name in re.findall(r"(?m)^def (\w+)\(", path.read_text())]
    assert [name for name, count in Counter(names).items() if count > 1] == []
