"""The scripts of our own pages: what they never do, whatever data say."""

import re
from pathlib import Path

import pytest

from ghcm.supervisor import pages

SCRIPTS = sorted((Path(pages.__file__).parent / "dashboard").glob("*.js"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_a_script_makes_no_text_code_and_takes_no_name_of_a_property_from_data(script: Path) -> None:
    text = script.read_text(encoding="utf-8")
    doing = r"\b(innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval|Function|onmessage|\w+Storage)\b"
    assert re.findall(rf"{doing}|['\"]message['\"]|\w\[[^\]]*\] ?=[^=]", text) == []
