"""The row form of a chain: one loop over tuples in which a record goes through every step before the next record comes.

Columns live in local variables; a `try` stands only around steps that can fail, and the record given to `dead` is
rebuilt only there.
"""

import re
from dataclasses import dataclass, field
from typing import assert_never

from ghcm.codegen.blocks import Step, columns_of
from ghcm.codegen.native.chains import Chain, operator_name
from ghcm.codegen.native.names import RESERVED, Names, identifier
from ghcm.codegen.native.rows.expressions import RowScope
from ghcm.codegen.native.rows.lines import Lines, bind_record, catch, record_of, row_function
from ghcm.codegen.native.rows.text import Binding, Code, targets_text, tuple_text
from ghcm.codegen.native.sections import Module
from ghcm.codegen.native.snippets import COMPARE, OR, quoted
from ghcm.expr import Each, Expr, ForEach, Lambda, Let, MakeStruct, Param, Var
from ghcm.failing import can_fail
from ghcm.spg import ops, windows
from ghcm.spg.notation.types import print_type
from ghcm.spg.stages import event_time_of
from ghcm.types import Struct, is_nullable


@dataclass
class _Writer:
    chain: Chain
    scope: RowScope
    out: Lines
    columns: dict[str, Code]
    functions: list[str] = field(default_factory=list[str])


def row_chain(chain: Chain, name: str, module: Module) -> tuple[str, tuple[str, ...]]:
    """The text of the function `<name>_rows`, and the user's functions that it is handed."""
    names = Names(RESERVED | set(module.names.taken))
    scope = RowScope(module, names)
    first = columns_of(chain.steps[0].taken)
    columns = {part.name: Code(names.new(part.name), simple=True) for part in first.fields}
    heads = [code.text for code in columns.values()]
    writer = _Writer(chain, scope, Lines(depth=2), columns)
    for index, step in enumerate(chain.steps):
        writer.out.add(f"# {step.origin}  {operator_name(step.op)}")
        _step(writer, step, last=index == len(chain.steps) - 1)
    further = ", functions: Sequence[Function]" + (
        "" if event_time_of(chain.task.op) is None else ", clock: PartitionClock"
    )
    text = row_function(scope, f"{name}_rows", heads, writer.out, "Row", timed=chain.timed, further=further)
    return text, tuple(writer.functions)


def _step(writer: _Writer, step: Step, *, last: bool) -> None:
    match step.op:
        case ops.Filter(predicate=predicate):
            _filter(writer, step, predicate)
        case ops.Map(function=function) | ops.MapToPair(function=function):
            _map(writer, step, function, last=last)
        case ops.FlatMap(function=function):
            _flat_map(writer, step, function, last=last)
        case ops.MapValues(function=function):
            _map_values(writer, step, function, last=last)
        case ops.KeyBy(function=function):
            _key_by(writer, step, function, last=last)
        case ops.EventTime():
            _event_time(writer, step, step.op)
        case ops.PythonCall(module=module, function=name):
            _python(writer, step, f"{module}:{name}")
        case ops.Window(assigner=assigner, allowed_lateness_us=lateness):
            match assigner:
                case windows.Tumbling():
                    _window(writer, step, assigner, lateness)
                case windows.TumblingBy(size=size):
                    _window_by(writer, step, size)
                case windows.Sliding() | windows.Cumulating():
                    _overlapping(writer, step, assigner, lateness)
                case _:
                    assert_never(assigner)
        case _:
            assert_never(step.op)
    if last:
        hidden = ["time", "watermark"] if writer.chain.task.collection.timed else []
        values = [*(writer.columns[name].inner for name in columns_of(step.given).names), *hidden]
        writer.out.add(f"emit({tuple_text(values)})")


def _record(writer: _Writer, step: Step) -> str:
    """The record that a step takes, as `dead` wants it."""
    return record_of(step.taken, writer.columns).whole().inner


def _filter(writer: _Writer, step: Step, predicate: Lambda) -> None:
    bind_record(writer.scope, predicate, writer.columns)
    lines: list[str] = []
    body = writer.scope.opened(predicate.body, lines)
    lines += writer.scope.share(body)
    test = writer.scope.truth(body)
    if can_fail(predicate.body):
        keep = writer.scope.names.new("keep")
        catch(writer.out, step.id, _record(writer, step), *lines, f"{keep} = {test.inner}")
        test = Code(keep, simple=True)
    else:
        writer.out.add(*lines)
    writer.out.block(f"if not {test.at(COMPARE)}:", "continue")


def _assign(
    writer: _Writer, step: Step, wanted: list[tuple[str, Expr]], *, last: bool, around: Expr | None = None
) -> dict[str, Code]:
    """The codes of new columns; what is not cheap to repeat gets a variable, unless it is only emitted. `around`: what
    the columns are parts of, where values that it keeps by `let` come first.
    """
    fails = any(can_fail(expr) for _, expr in wanted) if around is None else can_fail(around)
    record = _record(writer, step)
    result: dict[str, Code] = {}
    lines: list[str] = []
    if around is not None:
        writer.scope.opened(around, lines)
    lines += writer.scope.share(*(expr for _, expr in wanted))
    bindings = dict(writer.scope.bindings)
    for name, expr in wanted:
        code = writer.scope.value(writer.scope.opened(expr, lines))
        writer.scope.bindings = dict(bindings)  # a name that one column binds is not another's
        if not code.simple and (fails or not last):
            local = writer.scope.names.new(name)
            lines.append(f"{local} = {code.inner}")
            code = Code(local, simple=True)
        result[name] = code
    if fails:
        catch(writer.out, step.id, record, *lines)
    else:
        writer.out.add(*lines)
    return result


def _map(writer: _Writer, step: Step, function: Lambda, *, last: bool) -> None:
    bind_record(writer.scope, function, writer.columns)
    body = function.body
    inner = body
    while isinstance(inner, Let):
        inner = inner.body
    if isinstance(step.given, Struct) and isinstance(inner, MakeStruct):
        wanted = list(zip(step.given.names, inner.values, strict=False))
        writer.columns = _assign(writer, step, wanted, last=last, around=body)
    elif isinstance(step.given, Struct) and isinstance(body, Var) and body.name == function.parameters[0].name:
        old = writer.scope.bindings[body.name].columns
        writer.columns = dict(zip(step.given.names, old.values(), strict=False))
    else:
        _made(writer, step, body, last=last)


def _made(writer: _Writer, step: Step, body: Expr, *, last: bool) -> None:
    """The columns of what a step gives, which an expression makes as a whole."""
    if not isinstance(step.given, Struct):
        writer.columns = _assign(writer, step, [("value", body)], last=last)
        return
    whole = _assign(writer, step, [("record", body)], last=False)["record"]
    writer.columns = _parts(whole.text, step.given)


def _parts(whole: str, type_: Struct) -> dict[str, Code]:
    return {name: Code(f"{whole}[{index}]", simple=True) for index, name in enumerate(type_.names)}


def _flat_map(writer: _Writer, step: Step, function: Lambda, *, last: bool) -> None:
    bind_record(writer.scope, function, writer.columns)
    lines: list[str] = []
    body = writer.scope.opened(function.body, lines)
    made = _made_of_items(body)
    listed = body if made is None else made.list
    lines += writer.scope.share(listed)
    items = writer.scope.value(listed)
    if can_fail(function.body):
        name = writer.scope.names.new("items")
        catch(writer.out, step.id, _record(writer, step), *lines, f"{name} = {items.inner}")
        items = Code(name, simple=True)
    else:
        writer.out.add(*lines)
    if made is not None:
        _loop_over(writer, step, items, made, last=last)
        return
    text = f"{items.at(OR)} or ()" if is_nullable(function.body.type) else items.inner
    given = columns_of(step.given)
    wishes = given.names if isinstance(step.given, Struct) else (_singular(items.text),)
    locals_ = [writer.scope.names.new(wish) for wish in wishes]
    targets = targets_text(locals_) if isinstance(step.given, Struct) else ", ".join(locals_)
    writer.out.add(f"for {targets} in {text}:")
    writer.out.depth += 1
    writer.columns = {name: Code(local, simple=True) for name, local in zip(given.names, locals_, strict=True)}


def _made_of_items(body: Expr) -> ForEach | None:
    """The lambda that makes the records, where it can be the loop's own body: no record can fail in it."""
    fits = isinstance(body, ForEach) and body.kind is Each.MAP and not is_nullable(body.list.type)
    return body if fits and isinstance(body, ForEach) and not can_fail(body.body) else None


def _loop_over(writer: _Writer, step: Step, items: Code, made: ForEach, *, last: bool) -> None:
    """A loop over the items, in which each becomes a record."""
    local = writer.scope.names.new(made.item.name)
    writer.out.add(f"for {local} in {items.inner}:")
    writer.out.depth += 1
    writer.scope.bindings[made.item.name] = Binding(value=Code(local, simple=True))
    if isinstance(step.given, Struct) and isinstance(made.body, MakeStruct):
        wanted = list(zip(step.given.names, made.body.values, strict=True))
        writer.columns = _assign(writer, step, wanted, last=last)
    else:
        _made(writer, step, made.body, last=last)


def _singular(text: str) -> str:
    return text[:-1] if re.fullmatch(r"[a-z]+s", text) and len(text) > 3 else "item"


def _map_values(writer: _Writer, step: Step, function: Lambda, *, last: bool) -> None:
    writer.scope.bind(function.parameters[0], Binding(value=writer.columns["value"]))
    writer.columns = writer.columns | _assign(writer, step, [("value", function.body)], last=last)


def _key_by(writer: _Writer, step: Step, function: Lambda, *, last: bool) -> None:
    bind_record(writer.scope, function, writer.columns)
    whole = record_of(columns_of(step.given).fields[1].type, writer.columns).whole()
    key = _assign(writer, step, [("key", function.body)], last=last)["key"]
    if not last and not whole.simple:
        local = writer.scope.names.new("value")
        writer.out.add(f"{local} = {whole.text}")
        whole = Code(local, simple=True)
    writer.columns = {"key": key, "value": whole}


def _event_time(writer: _Writer, step: Step, op: ops.EventTime) -> None:
    bind_record(writer.scope, op.time, writer.columns)
    lines: list[str] = []
    body = writer.scope.opened(op.time.body, lines)
    lines += writer.scope.share(body)
    code = writer.scope.value(body)
    moment = code.text if code.simple and not can_fail(body) else "moment"
    lines += [f"moment = {code.inner}"] if moment == "moment" else []
    if can_fail(op.time.body):
        catch(writer.out, step.id, _record(writer, step), *lines)
    else:
        writer.out.add(*lines)
    if is_nullable(op.time.body.type):
        record = _record(writer, step)
        null = f'dead("{step.id}", {record}, Failure.NULL_TIME, "the event time is null")'
        writer.out.block(f"if {moment} is None:", null, "continue")
    writer.out.add(f"time, watermark = {moment}, clock.before({moment})")


def _python(writer: _Writer, step: Step, function: str) -> None:
    index = len(writer.functions)
    writer.functions.append(function)
    text = f"python.call({quoted(print_type(step.taken))}, {quoted(print_type(step.given))})"
    call = writer.scope.module.constant(f"_{identifier(function.split(':')[1])}", text)
    outcome = writer.scope.names.new("outcome")
    record = _record(writer, step)
    catch(writer.out, step.id, record, f"{outcome} = {call}(functions[{index}], {record})")
    writer.columns = (
        _parts(outcome, step.given) if isinstance(step.given, Struct) else {"value": Code(outcome, simple=True)}
    )


def _window(writer: _Writer, step: Step, assigner: windows.Tumbling, lateness: int) -> None:
    size = assigner.size_us
    into = f"(time - {assigner.offset_us:_})" if assigner.offset_us else "time"
    start = writer.scope.names.new("start")
    limits = f"{start}, {start} + {size:_}, {start} + {size + lateness:_}, watermark"
    writer.out.add(f"{start} = time - {into} % {size:_}")
    writer.out.block(
        f"if not checked.on_time({limits}):",
        f'dead("{step.id}", {_record(writer, step)}, *checked.too_late({start}, {start} + {size:_}, watermark))',
        "continue",
    )
    window = writer.scope.names.new("window")
    writer.out.add(f"{window} = ({start}, {start} + {size:_})")
    writer.columns = writer.columns | {"window": Code(window, simple=True)}


def _window_by(writer: _Writer, step: Step, size: Param) -> None:
    """The window of a size that the call says, in a batch unit, in which none is late."""
    length, window = writer.scope.value(size).text, writer.scope.names.new("window")
    catch(writer.out, step.id, _record(writer, step), f"{window} = checked.window_of(time, {length})")
    writer.columns = writer.columns | {"window": Code(window, simple=True)}


def _overlapping(writer: _Writer, step: Step, assigner: windows.Sliding | windows.Cumulating, lateness: int) -> None:
    """The record in each of its windows that is open, or once in its pane."""
    size, every = assigner.size_us, assigner.every_us
    prefix = "growing_" if isinstance(assigner, windows.Cumulating) else ""
    offset = f", {assigner.offset_us:_}" if assigner.offset_us else ""
    limits = f"time, {size:_}, {every:_}, {lateness:_}, watermark{offset}"
    between = size if isinstance(assigner, windows.Cumulating) else every
    none_open = f"time, {size:_}, {between:_}, watermark{offset}"
    window = writer.scope.names.new("window")
    found = window if writer.chain.panes is not None else writer.scope.names.new("windows")
    call = "pane" if writer.chain.panes is not None else "open_windows"
    writer.out.add(f"{found} = checked.{prefix}{call}({limits})")
    writer.out.block(
        f"if not {found}:", f'dead("{step.id}", {_record(writer, step)}, *checked.none_open({none_open}))', "continue"
    )
    if writer.chain.panes is None:
        writer.out.add(f"for {window} in {found}:")
        writer.out.depth += 1
    writer.columns = writer.columns | {"window": Code(window, simple=True)}
