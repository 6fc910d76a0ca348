"""The user's own Python code that a bundle takes along, and the packages that it needs where the bundle runs."""

import ast
import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import packages_distributions
from importlib.util import find_spec
from pathlib import Path

from ghcm.spg.graph import Program, all_tasks
from ghcm.spg.ops import Fused, PythonOp
from ghcm.spg.sequences import Process


def called_modules(program: Program) -> set[str]:
    """The modules that its `python(...)` and `process(...)` calls name."""
    ops = [task.op for unit in program.units for task in all_tasks(unit)]
    ops += [stage.op for op in ops if isinstance(op, Fused) for stage in op.stages]
    return {op.module for op in ops if isinstance(op, PythonOp | Process)}


def python_files(program: Program, folder: Path) -> Mapping[str, str]:
    """The modules beside the program that its `python(...)` calls name, and those that they import from there."""
    wanted = called_modules(program)
    files: dict[str, str] = {}
    while wanted:
        module = wanted.pop()
        for relative in _module_files(module):
            path = folder / relative
            if path.is_file() and relative not in files:
                files[relative] = path.read_text(encoding="utf-8")
                wanted |= set(_imports(relative, files[relative]))
    return dict(sorted(files.items()))


def _module_files(module: str) -> list[str]:
    """Where a module may stand: its own file and the files that make its parents packages."""
    parts = module.split(".")
    parents = ["/".join([*parts[:count], "__init__.py"]) for count in range(1, len(parts) + 1)]
    return [*parents, "/".join(parts) + ".py"]


def requirements(program: Program, files: Mapping[str, str]) -> tuple[str, ...]:
    """The packages that the user's modules are from or import, by the names under which they are installed; a module
    that is of no package here goes by its own name, unless it is found all the same.
    """
    own = {path.split("/")[0].removesuffix(".py") for path in files}
    named = {module.split(".")[0] for module in called_modules(program)}
    imported = {name.split(".")[0] for path, text in files.items() for name in _imports(path, text)}
    foreign = sorted((named | imported) - own - sys.stdlib_module_names - {"ghcm"})
    return tuple(sorted(set(_packages(foreign)))) if foreign else ()


def _imports(path: str, text: str) -> Iterator[str]:
    """The modules that a module may mean by what it imports; what does not parse is told when it runs."""
    package = path.split("/")[:-1]
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (each.name for each in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                above = package[: len(package) - level + 1] if level else []
                home = ".".join([*above, *([module] if module else [])])
                yield from (name for name in (home, *(f"{home}.{each.name}" for each in names)) if name.strip("."))
            case _:
                continue


def _packages(modules: Iterable[str]) -> Iterator[str]:
    known = packages_distributions()
    for module in modules:
        if module in known:
            yield known[module][0]
        elif find_spec(module) is None:
            yield module
