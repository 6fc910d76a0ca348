"""Chooses the code generator of each unit: Spark for batch units, the native engine for streams."""

from __future__ import annotations

from collections.abc import Mapping

from ghcm.spg.graph import Program, Unit


def engine_of(unit: Unit) -> str:
    """The engine that runs a unit: `native` or `spark`.

    >>> from ghcm.source import Origin
    >>> engine_of(Unit("u", "batch", False, (), None, (), Origin("p", 1, 1)))
    'spark'
    """
    return "spark" if unit.kind == "batch" else "native"


def module_path(unit: Unit) -> str:
    """Where the generated module of a unit stands in the bundle."""
    return f"{engine_of(unit)}/{unit.name}.py"


def generate(program: Program) -> Mapping[str, str]:
    """The generated modules of all units of an (optimised) program, by their path in the bundle."""
    return {module_path(unit): _code(program, unit) for unit in program.units}


def _code(program: Program, unit: Unit) -> str:
    from ghcm.codegen import native, spark

    return spark.generate(program, unit) if engine_of(unit) == "spark" else native.generate(program, unit)
