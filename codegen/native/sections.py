"""What a generated module holds: constants, sort keys among them, above its functions, and of each task a section."""

from dataclasses import dataclass, field

from ghcm import types
from ghcm.codegen.expressions import plainly_ordered
from ghcm.codegen.native.names import Names
from ghcm.spg.graph import Task, Unit


class Module:
    """What stands above the functions of a generated module: constants such as compiled patterns, made once each."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.constants: dict[str, str] = {}

    def constant(self, wish: str, text: str) -> str:
        """The name of a module constant of that text."""
        for name, known in self.constants.items():
            if known == text:
                return name
        name = self.names.new(wish)
        self.constants[name] = text
        return name

    def order(self, type_: types.Type) -> str:
        """The name of the sort key of a type."""
        text = order_text(type_)
        return text if "(" not in text else self.constant("_order", text)


@dataclass(frozen=True, slots=True)
class Place:
    """The task that code is written for; `name` begins the names of its functions."""

    task: Task
    unit: Unit
    name: str
    module: Module

    def input(self, ordinal: int = 0) -> types.Collection:
        """What the task takes from the input of this number."""
        return self.unit.task(self.task.inputs[ordinal].producer).collection


@dataclass(frozen=True, slots=True)
class Section:
    """What the module holds of one task: its functions, its entry in `TASKS`, and why a form is missing."""

    task: Task
    functions: list[str]
    entry: str
    missing: list[str] = field(default_factory=list[str])


def entry(kind: str, **parts: str | None) -> str:
    """An entry in `TASKS`; what is None is not said."""
    return f"{kind}({', '.join(f'{name}={text}' for name, text in parts.items() if text is not None)})"


def order_text(type_: types.Type) -> str:
    """The sort key of a type, as a call of `ghcm.runtime.native.order`."""
    if plainly_ordered(type_) and not isinstance(type_, types.List | types.Struct):
        return "order.plain"
    match type_:
        case types.Nullable(of=of):
            return f"order.nullable({order_text(of)})"
        case types.Float():
            return "order.floating"
        case types.List(item=item):
            return f"order.items({order_text(item)})"
        case types.Struct(fields=fields):
            return f"order.struct({', '.join(order_text(part.type) for part in fields)})"
        case types.Map(key=key, value=value):
            return f"order.pairs({order_text(key)}, {order_text(value)})"
        case _:  # Python orders the rest as the language does
            return "order.plain"
