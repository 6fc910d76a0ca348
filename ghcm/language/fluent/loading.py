"""Python programs by path: import the module, find its one program, and show what goes wrong at the user's own line."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Generator
from contextlib import contextmanager
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from ghcm.errors import GhcmError, ProgramError
from ghcm.language import ast
from ghcm.language.fluent.positions import at_line, collecting, innermost, keep, report, source_of
from ghcm.language.fluent.program import Program
from ghcm.source import Span


def load_python(path: Path) -> ast.Program:
    """The program of a Python module, which is executed. Raises `ProgramError` with all that is wrong with it."""
    with collecting() as problems, _importing(path) as module:
        found = _program(path, module)
        tree = None if found is None else _tree(found)
    problems.check()
    assert tree is not None, "a program without mistakes has a tree"
    return tree


def _tree(program: Program) -> ast.Program | None:
    try:
        return program.tree()
    except ProgramError as error:
        keep(error)
        return None


@contextmanager
def _importing(path: Path) -> Generator[ModuleType | None]:
    """The module under its own name, with its folder on the path while it and its units are executed."""
    linecache.checkcache(str(path))
    folder = str(path.resolve().parent)
    before = sys.modules.get(path.stem)
    sys.path.insert(0, folder)
    try:
        yield _module(path)
    finally:
        sys.path.remove(folder)
        if before is not None:
            sys.modules[path.stem] = before
        else:
            sys.modules.pop(path.stem, None)


def _module(path: Path) -> ModuleType | None:
    spec = spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise GhcmError(f'"{path}" is no Python module', code="GHCM-601")
    module = module_from_spec(spec)
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except ProgramError as error:
        keep(error)
    except SyntaxError as error:
        _syntax(path, error)
    except FileNotFoundError as error:
        if error.filename != str(path):
            _failed(path, error)
        else:
            raise GhcmError(f'there is no program "{path}"', code="GHCM-602") from None
    except Exception as error:  # whatever the user's own module raises is the user's to read, where it stands
        _failed(path, error)
    except SystemExit as error:
        report("GHCM-138", f'"{path.name}" ends the process while it is imported', _position(path, error))
    else:
        return module
    return None


def _failed(path: Path, error: Exception) -> None:
    said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    hint = "install it, or put it beside the program" if isinstance(error, ModuleNotFoundError) else ""
    report("GHCM-138", f'"{path.name}" cannot be imported', _position(path, error), detail=said, hint=hint)


def _position(path: Path, error: BaseException) -> Span:
    return innermost(error.__traceback__, str(path)) or at_line(source_of(str(path)), 1)


def _syntax(path: Path, error: SyntaxError) -> None:
    source = source_of(error.filename or str(path))
    line = error.lineno or 1
    span = at_line(source, line)
    if error.offset is not None and source.line(line):
        start = source.offset(line, error.offset)
        span = Span(source, start, max(start + 1, min(_end(error, start, source.offset(line, 1)), span.end)))
    report("GHCM-137", f"Python cannot read this: {error.msg}", span)


def _end(error: SyntaxError, start: int, line_start: int) -> int:
    same_line = error.end_lineno == error.lineno and error.end_offset is not None
    return line_start + error.end_offset - 1 if same_line and error.end_offset is not None else start + 1


def _program(path: Path, module: ModuleType | None) -> Program | None:
    """The one program that a module holds."""
    if module is None:
        return None
    found = {id(value): (name, value) for name, value in vars(module).items() if isinstance(value, Program)}
    start = at_line(source_of(str(path)), 1)
    if not found:
        hint = f'write program = Program("{path.stem}")'
        report("GHCM-136", f'"{path.name}" has no program', start, hint=hint)
        return None
    if len(found) > 1:
        names = ", ".join(name for name, _ in found.values())
        second = list(found.values())[1][1]
        hint = "put each into a module of its own"
        report("GHCM-136", f'"{path.name}" has several programs', second.span, detail=f"They are {names}.", hint=hint)
        return None
    return next(iter(found.values()))[1]
