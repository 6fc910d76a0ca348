"""All sets of foreign cases, and the table of them in the documentation."""

from __future__ import annotations

from tests.conformance.foreign.arroyo import ARROYO
from tests.conformance.foreign.beam import BEAM
from tests.conformance.foreign.cases import CaseSet
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
unit over the same files, and on Spark.
"""


def table() -> str:
    """Every case by engine: whether it agrees, or what it waits for."""
    return "\n".join([_HEAD, *(line for each in SETS for line in _of(each))])


def _of(cases: CaseSet) -> list[str]:
    written = cases.written
    lines = [f"## {cases.title}", "", f"{len(written)} of {len(written) + len(cases.waits)} cases agree.", ""]
    lines += ["| case | reference | native | spark |", "|---|---|---|---|"]
    for name in written:
        native = f"waits for {cases.partly[name]}" if name in cases.partly else "agrees"
        lines.append(
            f"| [{name}](../tests/conformance/foreign/{cases.name}/{name}.istream) | agrees | {native} | agrees |"
        )
    reasons: dict[str, list[str]] = {}
    for name, reason in sorted(cases.waits.items()):
        reasons.setdefault(reason, []).append(name)
    if reasons:
        lines += ["", "| waits | for |", "|---|---|"]
        lines += [f"| {', '.join(names)} | {reason} |" for reason, names in sorted(reasons.items())]
    return [*lines, ""]
