"""The parameters of a call as its instruction gives them, read into the values that the unit's tasks compute with."""

from __future__ import annotations

from collections.abc import Mapping

from ghcm.errors import GhcmError
from ghcm.spg.graph import Unit
from ghcm.values import from_json


def read_parameters(unit: Unit, given: Mapping[str, object]) -> dict[str, object]:
    """Canonical values of all parameters, defaults included; GhcmError says what does not fit."""
    names = {parameter.name for parameter in unit.parameters}
    for name in given:
        if name not in names:
            raise _wrong(unit, f'it has no parameter "{name}"')
    values: dict[str, object] = {}
    for parameter in unit.parameters:
        if parameter.name in given:
            try:
                values[parameter.name] = from_json(given[parameter.name], parameter.type)
            except ValueError as error:
                raise _wrong(unit, f'parameter "{parameter.name}": {error}') from None
        elif parameter.required:
            raise _wrong(unit, f'parameter "{parameter.name}" is missing')
        else:
            values[parameter.name] = parameter.default
    return values


def _wrong(unit: Unit, what: str) -> GhcmError:
    known = ", ".join(f'"{parameter.name}"' for parameter in unit.parameters)
    detail = f"Its parameters are {known}." if known else "It has none."
    return GhcmError(f'cannot call unit "{unit.name}": {what}', code="GHCM-320", detail=detail)
