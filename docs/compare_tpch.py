"""Shows the 22 queries of TPC-H in `docs/tpch.md` as they stand in `examples/tpch`, beside the length of their SQL.

python docs/compare_tpch.py writes the table of lengths and the queries; the rest of the page is written by hand.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

DOCS = Path(__file__).parent
PAGE = "tpch.md"
PROGRAM = DOCS.parent / "examples" / "tpch" / "tpch.istream"
SQL = DOCS.parent / "tests" / "conformance" / "tpch.sql"
MARKS = {name: (f"<!-- {name}: python docs/compare_tpch.py -->", "<!-- end -->") for name in ("lengths", "queries")}

_UNIT = re.compile(r"^# (?P<asks>[^\n]+)\n(?P<text>batch (?P<name>\w+) \{\n.*?^\})", re.MULTILINE | re.DOTALL)
_WORD = re.compile(r"""'[^']*'|"[^"]*"|[\w.]*\d[\w.]*|\w+""")


class Query(NamedTuple):
    """A query: what it asks, and its unit beside its SQL."""

    asks: str
    unit: str
    sql: str

    @property
    def texts(self) -> tuple[str, str]:
        """The unit's body without its sink, and the SQL."""
        return self.unit.partition("{")[2].rpartition(".to(")[0], self.sql

    @property
    def words(self) -> tuple[int, int]:
        """Names, words of the language, numbers and texts of either."""
        ours, others = (len(_WORD.findall(text)) for text in self.texts)
        return ours, others

    @property
    def signs(self) -> tuple[int, int]:
        """Letters and signs of either, without white space."""
        ours, others = (len("".join(text.split())) for text in self.texts)
        return ours, others


def queries() -> Mapping[str, Query]:
    """All queries by the name of the unit, in order."""
    statements = dict(re.findall(r"^-- (\w+)\n(.*?);$", SQL.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL))
    found = _UNIT.finditer(PROGRAM.read_text(encoding="utf-8"))
    return {each["name"]: Query(each["asks"], each["text"], statements[each["name"]]) for each in found}


def page() -> str:
    """The page with both parts made anew."""
    text, found = (DOCS / PAGE).read_text(encoding="utf-8"), queries()
    for name, made in (("lengths", _lengths(found)), ("queries", _shown(found))):
        begin, end = MARKS[name]
        head, _, rest = text.partition(begin)
        text = f"{head}{begin}\n\n{made}\n\n{end}{rest.partition(end)[2]}"
    return text


def _lengths(found: Mapping[str, Query]) -> str:
    lines = ["| | query | words | of its SQL | | characters | of its SQL |", "|--:|---|--:|--:|--:|--:|--:|"]
    for number, (name, each) in enumerate(found.items(), 1):
        lines.append(f"| {number} | [{name}](#{name}) | {_row(each.words, each.signs)}")
    words, signs = (
        (sum(each[0] for each in pairs), sum(each[1] for each in pairs))
        for pairs in ([each.words for each in found.values()], [each.signs for each in found.values()])
    )
    return "\n".join([*lines, f"| | all | {_row(words, signs)}"])


def _row(words: tuple[int, int], signs: tuple[int, int]) -> str:
    return f"{words[0]} | {words[1]} | {words[0] / words[1] - 1:+.0%} | {signs[0]} | {signs[1]} |"


def _shown(found: Mapping[str, Query]) -> str:
    parts = [
        f'<a id="{name}"></a>\n\n### {number}. `{name}`\n\n{each.asks}\n\n```istream\n{each.unit}\n```\n\n'
        f"<details><summary>The same in SQL</summary>\n\n```sql\n{each.sql};\n```\n\n</details>"
        for number, (name, each) in enumerate(found.items(), 1)
    ]
    return "\n\n".join(parts)


def main() -> None:
    """Write the page."""
    made = page()
    (DOCS / PAGE).write_text(made, encoding="utf-8")


if __name__ == "__main__":
    main()
