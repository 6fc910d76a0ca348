"""Cases of lists."""

from __future__ import annotations

from ghcm.signatures import INT, STRING
from ghcm.types import List, Map, Nullable
from tests.conformance.functions.case import Case, case
from tests.conformance.functions.maps import KEYED, MAPS

__all__ = ["CASES"]

CASES: tuple[Case, ...] = (
    case("get", List(INT), INT), case("get", List(Nullable(INT)), INT), case("get", List(STRING), INT),
    *(case("get", type_, type_.key, values=(MAPS[type_], KEYED[type_])) for type_ in MAPS if isinstance(type_, Map)),
)  # fmt: skip
