"""The library of Spark jobs as a bundle carries it: a zip of ordinary modules, as the package `ghcm_spark`.

Nothing of it is imported here, so that the compiler needs no pyspark.
"""

import ast
import re
from functools import cache
from pathlib import Path

import ghcm
from ghcm.codegen.backend import zipped
from ghcm.codegen.spark import library
from ghcm.version import __version__

PACKAGE = "ghcm_spark"
_VENDORED = "vendored"
"""The part of the package with what the library needs of GHCM, under the names that it has there."""
_NEEDED = (
    *(
        "durable.py",
        "errors.py",
        "fence.py",
        "places.py",
        "source.py",
        "hdfs.py",
        "stores.py",
        "topics.py",
        "types.py",
        "unification.py",
        "version.py",
    ),
    *("formats/*.py", "schemas/__init__.py", "schemas/arrow.py", "schemas/records.py", "tables/*.py", "values/*.py"),
)


@cache
def library_modules() -> dict[str, str]:
    """The texts of the library's modules as they stand in the zip, by their names."""
    home, root = Path(library.__file__).parent, Path(ghcm.__file__).parent
    found = {str(path.relative_to(home).with_suffix("")): _text(path) for path in sorted(home.rglob("*.py"))}
    found[f"{_VENDORED}/__init__"] = f'"""What the library needs of GHCM {__version__}."""\n'
    for path in (path for pattern in _NEEDED for path in sorted(root.glob(pattern))):
        found[f"{_VENDORED}/{path.relative_to(root).with_suffix('')}"] = _text(path)
    return found


def _text(path: Path) -> str:
    """A module whose imports name the package instead of GHCM."""
    text = path.read_text(encoding="utf-8").replace(library.__name__, PACKAGE)
    return re.sub(r"(?m)^( *(?:>>> )?(?:from|import)) ghcm(?=[. ])", rf"\1 {PACKAGE}.{_VENDORED}", text)


@cache
def library_zip() -> bytes:
    """The bytes of the zip, which are the same wherever it is made."""
    return zipped({f"{PACKAGE}/{name}.py": text.encode() for name, text in library_modules().items()})


@cache
def library_names() -> dict[str, str]:
    """Where each name of the library is defined: its module, as a job imports it."""
    found: dict[str, str] = {}
    modules = {name: text for name, text in library_modules().items() if not name.startswith(_VENDORED)}
    for module, text in modules.items():
        for node in ast.parse(text).body:
            found |= dict.fromkeys(_bound(node), f"{PACKAGE}.{module.replace('/', '.')}")
    return found


def _bound(node: ast.stmt) -> list[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.Assign(targets=targets):
            return [each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)]
        case _:  # imports and documentation bind nothing of the library's own
            return []
