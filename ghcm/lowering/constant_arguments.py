"""Arguments that must be written out: units of time, time zones, patterns of moments.

The table of functions says which they are and what is wrong with one; here that becomes a message that points at it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ghcm.codes import Code
from ghcm.expr import Call, Literal
from ghcm.functions import FUNCTIONS
from ghcm.lowering.context import Context
from ghcm.source import Span
from ghcm.types import strip


def check_constants(call: Call, spans: Sequence[Span | None], context: Context) -> bool:
    """Whether the constants of a call can be; a report where not. `spans` are those of its arguments."""
    function = FUNCTIONS[call.function]
    if function.bad_constant is None:
        return True
    for place in function.constants:
        if place < len(call.arguments) and not isinstance(call.arguments[place], Literal):
            name = re.findall(r"\w+", function.signature.partition("(")[2])[place]
            context.report(
                Code.NOT_CONSTANT,
                f'the {name} of "{call.function}" is not a constant string',
                spans[place],
                detail="Engines agree on what is checked here, before anything runs.",
            )
            return False
    types = tuple(strip(each.type) for each in call.arguments)
    values = tuple(each.value if isinstance(each, Literal) else None for each in call.arguments)
    bad = function.bad_constant(types, values)
    if bad is None:
        return True
    context.report(Code.BAD_CONSTANT, bad.reason, spans[bad.place], hint=bad.hint)
    return False
