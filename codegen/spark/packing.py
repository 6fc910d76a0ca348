"""The library of Spark jobs as a bundle carries it: a zip of ordinary modules, as the package `ghcm_spark`.

Nothing of it is imported here, so that the compiler needs no pyspark.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from ghcm.codegen.backend import zipped
from ghcm.codegen.spark import library

PACKAGE = "ghcm_spark"


@cache
def library_modules() -> dict[str, str]:
    """The texts of the library's modules as they stand in the zip, by their names."""
    files = sorted(Path(library.__file__).parent.glob("*.py"))
    return {path.stem: path.read_text(encoding="utf-8").replace(library.__name__, PACKAGE) for path in files}


@cache
def library_zip() -> bytes:
    """The bytes of the zip, which are the same wherever it is made."""
    return zipped({f"{PACKAGE}/{name}.py": text.encode() for name, text in library_modules().items()})


@cache
def library_names() -> dict[str, str]:
    """Where each name of the library is defined: its module, as a job imports it."""
    found: dict[str, str] = {}
    for module, text in library_modules().items():
        for node in ast.parse(text).body:
            found |= dict.fromkeys(_bound(node), f"{PACKAGE}.{module}")
    return found


def _bound(node: ast.stmt) -> list[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.Assign(targets=targets):
            return [each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)]
        case _:  # imports and documentation bind nothing of the library's own
            return []
