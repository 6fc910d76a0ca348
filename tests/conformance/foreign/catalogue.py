"""All sets of foreign cases, and the table of them in the documentation."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tests.conformance.foreign.arroyo import ARROYO
from tests.conformance.foreign.beam import BEAM
from tests.conformance.foreign.cases import CaseSet, Difference
from tests.conformance.foreign.ksql import KSQL
from tests.conformance.foreign.nexmark import NEXMARK
from tests.conformance.foreign.risingwave import RISINGWAVE

__all__ = ["SETS", "table"]

SETS: tuple[CaseSet, ...] = (NEXMARK, ARROYO, BEAM, RISINGWAVE, KSQL)

_HEAD = """# Foreign cases

Made by `tests/conformance/foreign` (`pytest tests/conformance/foreign --accept`); do not edit.

Inputs and results that other projects publish, and programs of ours that have to give the same. The programs stand in
`tests/conformance/foreign/<set>/<case>.istream`, each with what it asks in its first lines; the data does not belong to
this repository. Each runs on the reference, on the native engine in its row form and in its columnar form, as a stream
unit over the same files, and on Spark: those that meet together all that the programs do whenever the tests run, all in
longer campaigns. All rows are compared, and how many dead letters there are. Where ours gives
other rows than the source, the tests name each of them. A program that is refused has the message beside it.
"""


def table() -> str:
    """Every case by engine: whether it agrees, or what it waits for."""
    return "\n".join([_HEAD, *(line for each in SETS for line in _of(each))])


def _of(cases: CaseSet) -> list[str]:
    ran, differing = cases.run, len(cases.differs)
    whole = len(cases.written) + len(cases.waits)
    told = [f"{len(ran) - differing} agree"]
    told += [f"{differing} but for rows that are named" if differing else ""]
    told += [
        f"{len(cases.refused)} are refused" if cases.refused else "",
        f"{len(cases.waits)} wait" if cases.waits else "",
    ]
    lines = [f"## {cases.title}", "", f"Of {whole} cases {', '.join(filter(None, told))}.", ""]
    lines += ["| case | reference | native | spark |", "|---|---|---|---|"]
    lines += [_row(cases, name) for name in ran]
    lines += _reasons("agrees but for", {name: _named(each) for name, each in cases.differs.items()})
    lines += _reasons("refused", cases.refused, lambda name: f"[{name}]({_place(cases, name)})")
    lines += _reasons("waits", cases.waits)
    return [*lines, ""]


def _row(cases: CaseSet, name: str) -> str:
    agrees = "agrees but for" if name in cases.differs else "agrees"
    spark = "knows no late records" if name in cases.late else agrees
    return f"| [{name}]({_place(cases, name)}) | {agrees} | {agrees} | {spark} |"


def _place(cases: CaseSet, name: str) -> str:
    return f"../tests/conformance/foreign/{cases.name}/{name}.istream"


def _named(difference: Difference) -> str:
    """The rows of a difference beside its reason."""
    told = [
        f"{len(rows)} {'row' if len(rows) == 1 else 'rows'} {which}"
        for rows, which in ((difference.more, "more"), (difference.less, "less"))
        if rows
    ]
    return f"{' and '.join(told)}: {difference.reason}"


def _reasons(head: str, reasons: Mapping[str, str], shown: Callable[[str], str] = str) -> list[str]:
    """A table of what applies to which cases, those with one reason in one line."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in sorted(reasons.items()):
        by_reason.setdefault(reason, []).append(shown(name))
    if not by_reason:
        return []
    lines = [f"| {', '.join(names)} | {reason} |" for reason, names in sorted(by_reason.items())]
    return ["", f"| {head} | for |" if head == "waits" else f"| {head} | why |", "|---|---|", *lines]
