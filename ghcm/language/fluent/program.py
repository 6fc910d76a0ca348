"""Programs in Python: msg caches, sinks and units, and the syntax tree that they make together."""

import linecache
import re
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar, overload

from ghcm.errors import GhcmError, ProgramError
from ghcm.language import ast
from ghcm.language.fluent import positions
from ghcm.language.fluent.connectors import Cache, Sink, declare_store
from ghcm.language.fluent.pipelines import Pipeline
from ghcm.language.fluent.positions import caller, here, keep, mistake, report
from ghcm.language.fluent.records import OneOf, Record, declare, declare_enum, declare_union, is_enum, is_union, made_in
from ghcm.language.fluent.units import Function, OwnFunction, Unit, declare_function, declare_unit
from ghcm.language.fluent.values import name_of, resolve, targets
from ghcm.source import Span

_T = TypeVar("_T", bound="Cache | Sink | OwnFunction | Unit")


class Program:
    """A program in Python.

    >>> from ghcm.language.fluent.connectors import files
    >>> words = Program("words")
    >>> @words.stream
    ... def monitor():
    ...     lines = files("books/*.txt", format="text")
    >>> [each.name.text for each in words.tree().declarations]
    ['monitor']
    """

    def __init__(self, name: str) -> None:
        self.span = here()
        self.name = name
        self._namespace = caller().f_globals
        self._own: list[Cache | Sink | OwnFunction | Unit] = []

    def _keep(self, made: _T) -> _T:
        self._own.append(made)
        return made

    def cache(self, connector: Pipeline, *, name: str | None = None) -> Cache:
        """Declare a msg cache: `calls = program.cache(kafka("traffic.rebuild"))`."""
        return self._keep(Cache(_connector(connector), name))

    def sink(self, connector: Pipeline, *, name: str | None = None) -> Sink:
        """Declare a sink: `shares = program.sink(redis("traffic:share", key=lambda r: r.key))`."""
        return self._keep(Sink(_connector(connector), name))

    def function(self, function: Function, /) -> OwnFunction:
        """Declare a function: a decorator of a typed, pure function that lambdas call."""
        return self._keep(OwnFunction(function, here()))

    @overload
    def stream(self, function: Function, /) -> Unit: ...

    @overload
    def stream(
        self, *, responsive: bool = False, on: Cache | None = None, parallelism: int | None = None
    ) -> Callable[[Function], Unit]: ...

    def stream(
        self,
        function: Function | None = None,
        *,
        responsive: bool = False,
        on: Cache | None = None,
        parallelism: int | None = None,
    ) -> Unit | Callable[[Function], Unit]:
        """Declare a unit that runs for ever: a decorator of a function that describes its pipelines. `parallelism` is
        how many instances each of its tasks has that can be divided.
        """
        return self._unit("stream", function, responsive, on, parallelism=parallelism)

    @overload
    def batch(self, function: Function, /) -> Unit: ...

    @overload
    def batch(
        self, *, responsive: bool = False, on: Cache | None = None, engine: str | None = None
    ) -> Callable[[Function], Unit]: ...

    def batch(
        self,
        function: Function | None = None,
        *,
        responsive: bool = False,
        on: Cache | None = None,
        engine: str | None = None,
    ) -> Unit | Callable[[Function], Unit]:
        """Declare a unit that ends: a decorator of a function that describes its pipelines. `engine` is who runs it,
        `native`, `spark` or `auto`, which takes the native engine where the input is small.
        """
        return self._unit("batch", function, responsive, on, engine)

    def _unit(
        self,
        kind: Any,
        function: Function | None,
        responsive: bool,
        on: Cache | None,
        engine: str | None = None,
        parallelism: int | None = None,
    ) -> Unit | Callable[[Function], Unit]:
        span = here()

        def declared(function: Function) -> Unit:
            return self._keep(Unit(kind, function, responsive, on, span, engine, parallelism))

        return declared if function is None else declared(function)

    def tree(self) -> ast.Program:
        """The syntax tree: the functions of the units are called now. Raises `ProgramError` with all mistakes."""
        program = None
        with positions.collecting() as problems:
            stores_first = sorted(self._own, key=lambda each: (isinstance(each, Unit), isinstance(each, OwnFunction)))
            classes = (*made_in(self._namespace, OneOf), *made_in(self._namespace, Record))
            declarations = _declarations([*stores_first, *classes])
            with positions.noting():
                name = name_of(self.name, self.span)
                program = resolve(ast.Program(name, tuple(declarations), span=self.span), _name_of_target)
        problems.check()
        assert program is not None, "a program without mistakes has a tree"
        return program


def _declarations(waiting: list[object]) -> list[ast.Declaration]:
    """What these declare, and the classes that they mention, as they were made; mistakes are noted."""
    found: list[tuple[int, ast.Declaration]] = []
    seen: set[object] = set()
    for each in waiting:
        if each in seen:
            continue
        seen.add(each)
        with positions.noting():
            order, declaration = _declared(each)
            found.append((order, declaration))
            waiting += [target for target in targets(declaration) if isinstance(target, type)]
    return [declaration for _, declaration in sorted(found, key=lambda each: each[0])]


def _declared(what: Any) -> tuple[int, ast.Declaration]:
    """When something was made, and its declaration. Raises `ProgramError`."""
    match what:
        case Cache() | Sink():
            return what.order, declare_store(what)
        case OwnFunction():
            return what.order, declare_function(what)
        case Unit():
            return what.__ghcm_unit__.order, declare_unit(what)
        case _ if is_union(what):
            return what.__ghcm_made__.order, declare_union(what)
        case _ if is_enum(what):
            return -1, declare_enum(what)
        case _:  # the only other class that a declaration mentions
            return what.__ghcm_made__.order, declare(what)


def _connector(connector: object) -> Pipeline:
    if isinstance(connector, Pipeline):
        return connector
    report("GHCM-132", "this is no connector", here(), hint='write redis("..."), parquet("...") or kafka("...")')
    return Pipeline(ast.Ref("redis"), here())


def _name_of_target(target: object, span: Span | None) -> str | ast.Expr:
    match target:
        case Cache() | Sink():
            return target.name
        case Unit():
            return target.__ghcm_unit__.name
        case OwnFunction():
            return target.name
        case type():
            return target.__name__
        case Pipeline():
            return target.expr
        case _:
            raise mistake("GHCM-132", f'a "{type(target).__name__}" has no name in the program', span)


def load_python(path: Path) -> ast.Program:
    """The program of a Python module, which is executed. Raises `ProgramError` with all that is wrong with it."""
    tree = None
    with positions.collecting() as problems, _importing(path) as module, positions.noting():
        tree = None if module is None else _program(path, module).tree()
    problems.check()
    assert tree is not None, "a program without mistakes has a tree"
    return tree


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
    message, detail, hint = f'"{path.name}" cannot be imported', positions.said(error), ""
    if isinstance(error, ModuleNotFoundError):
        hint = "install it, or put it beside the program"
    elif found := re.match(r"cannot import name '(\w+)' from 'ghcm'", str(error)):
        detail = f'"ghcm" has no "{found[1]}".'
        hint = f'functions of the language stand in fn: write "from ghcm import fn", then fn.{found[1]}(...)'
    report("GHCM-138", message, _position(path, error), detail=detail, hint=hint)


def _position(path: Path, error: BaseException) -> Span:
    return positions.innermost(error.__traceback__, str(path)) or positions.at_line(positions.source_of(str(path)), 1)


def _syntax(path: Path, error: SyntaxError) -> None:
    source = positions.source_of(error.filename or str(path))
    line = error.lineno or 1
    span = positions.at_line(source, line)
    if error.offset is not None and source.line(line):
        start = source.offset(line, error.offset)
        span = Span(source, start, max(start + 1, min(_end(error, start, source.offset(line, 1)), span.end)))
    report("GHCM-137", f"Python cannot read this: {error.msg}", span)


def _end(error: SyntaxError, start: int, line_start: int) -> int:
    same_line = error.end_lineno == error.lineno and error.end_offset is not None
    return line_start + error.end_offset - 1 if same_line and error.end_offset is not None else start + 1


def _program(path: Path, module: ModuleType) -> Program:
    """The one program that a module holds."""
    found = {id(value): (name, value) for name, value in vars(module).items() if isinstance(value, Program)}
    start = positions.at_line(positions.source_of(str(path)), 1)
    if not found:
        hint = f'write program = Program("{path.stem}")'
        raise mistake("GHCM-136", f'"{path.name}" has no program', start, hint=hint)
    programs = [program for _, program in found.values()]
    if len(programs) > 1:
        detail = f"They are {', '.join(name for name, _ in found.values())}."
        message, hint = f'"{path.name}" has several programs', "put each into a module of its own"
        raise mistake("GHCM-136", message, programs[1].span, detail=detail, hint=hint)
    return programs[0]
