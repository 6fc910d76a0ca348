"""Breaks the long lines of generated Python, so that templates and emitters need not count columns.

Each line must be a whole statement (or a comment); strings of several lines are not understood. Meaning never
changes: lines are broken inside brackets only, and one trailing comma is added where a list of items is broken.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

_OPEN, _CLOSE = "([{", ")]}"
_WORDS = (
    (" else ",),
    (" if ",),
    (" or ",),
    (" and ",),
    (" | ",),
    (" & ",),
    (" == ", " != ", " <= ", " >= ", " < ", " > "),
    (" + ", " - "),
    (" * ", " / "),
)


WIDTH = 120
"""Columns of a line, as many as in the sources of GHCM."""


def format_python(text: str, width: int = WIDTH, *, texts: bool = False) -> str:
    """The text with its long lines broken over several, where that can be done; with `texts`, long texts too."""
    lines = [piece for line in text.split("\n") for piece in _fit(line, width)]
    if texts:
        lines = [piece for line in _filled(lines, width) for piece in _cut(line, width)]
    return "\n".join(line.rstrip() for line in lines)


_SHORT = re.compile(r" +(?:[\w.*=()]+|r?f?\"[^\"\\ ]*\"|Step\([^()]*\)),")
"""A short argument on a line of its own."""
_SHORTS = re.compile(f"(?:{_SHORT.pattern})+")


def _filled(lines: list[str], width: int) -> list[str]:
    """The lines with short arguments that follow one another on as few lines as hold them. Import sorters want what is
    imported on lines of its own.
    """
    filled: list[str] = []
    imports = False
    for line in lines:
        imports = line.endswith("import (") or (imports and not line.startswith(")"))
        before = filled[-1] if filled else ""
        indent = len(line) - len(line.lstrip())
        alike = (
            not imports
            and _SHORT.fullmatch(line)
            and before.endswith(",")
            and before[:indent].isspace()
            and before[indent] != " "
        )
        if alike and len(before) + len(line) - indent + 1 <= width and _SHORTS.fullmatch(before):
            filled[-1] = f"{before} {line.lstrip()}"
        else:
            filled.append(line)
    return filled


_TEXT = re.compile(r"""( +(?:"[^"]*": )?)(r?f?)"((?:[^"\\]|\\.)*)"(,?)""")


def _cut(line: str, width: int) -> list[str]:
    """A line that is a long text between brackets as several texts, those behind the first indented."""
    found = _TEXT.fullmatch(line)
    if len(line) <= width or found is None:
        return [line]
    before, prefix, text, comma = found[1], found[2], found[3], found[4]
    indent = " " * (len(before) - len(before.lstrip()) + 4)
    lines: list[str] = []
    while len(before) + len(prefix) + len(text) + len(comma) + 2 > width:
        room = width - len(before) - len(prefix) - 2
        cut = _break_before(text, room)
        if cut <= 0:
            break
        lines.append(f'{before}{prefix}"{text[:cut]}"')
        before, text = indent, text[cut:]
    return [*lines, f'{before}{prefix}"{text}"{comma}']


def _break_before(text: str, room: int) -> int:
    """Where a text is cut so that at most so much of it stands before: behind a space, if need be within a word."""
    cut = text.rfind(" ", 0, room) + 1
    return cut if cut > 0 else 0


@dataclass(frozen=True, slots=True)
class _Brackets:
    start: int
    end: int


def _fit(line: str, width: int, *, whole: bool = True) -> list[str]:
    """The line broken until it fits. `whole`: it closes the brackets that it opens."""
    code = line.strip()
    if len(line) <= width or not code or code.startswith("#"):
        return [line]
    indent = line[: len(line) - len(line.lstrip())]
    pairs = [pair for pair in _outer_brackets(code) if pair.end - pair.start > 1]
    if not pairs:
        return (_in_parentheses(code, indent, width) if whole else None) or [line]
    pair = max(pairs, key=lambda each: each.end - each.start)
    head, body, tail = code[: pair.start + 1], code[pair.start + 1 : pair.end], code[pair.end :]
    lopsided = len(body) * 2 < len(code) or len(indent) + len(head) > width
    if whole and lopsided and (wrapped := _in_parentheses(code, indent, width)):
        return wrapped
    inner = _broken_body(body, indent + "    ", width, comma=_takes_comma(body))
    return [*_fit(indent + head, width, whole=False), *inner, *_fit(indent + tail, width, whole=whole)]


def _in_parentheses(code: str, indent: str, width: int) -> list[str] | None:
    """`x = a or b` as `x = (`, `a`, `or b`, `)`."""
    for start in ("return ", "yield ", "if ", "elif ", "while "):
        if code.startswith(start):
            end = ":" if code.endswith(":") else ""
            value = code[len(start) : len(code) - len(end)]
            break
    else:
        cut = next((offset for offset in _top_level(code, (" = ", " += ")) if offset), None)
        if cut is None:
            return None
        start, value, end = code[: cut + 3], code[cut + 3 :], ""
        if start.endswith("+="):
            start, value = start + " ", value.lstrip()
    parts = _by_operators(value)
    if len(parts) < 2:
        return None
    return [
        f"{indent}{start}(",
        *(piece for part in parts for piece in _fit(f"{indent}    {part}", width)),
        f"{indent}){end}",
    ]


def _broken_body(body: str, indent: str, width: int, *, comma: bool) -> list[str]:
    if clauses := _clauses(body):
        return [piece for clause in clauses for piece in _fit(indent + clause, width)]
    items = _split(body, ", ")
    if len(items) == 1 and not body.endswith(","):
        if len(indent) + len(body) <= width:
            return [indent + body]
        parts = _by_operators(body)
        return [piece for part in parts for piece in _fit(indent + part, width)]
    ends = [","] * (len(items) - 1) + ["," if comma and not items[-1].endswith(",") else ""]
    return [piece for item, end in zip(items, ends, strict=True) for piece in _fit(indent + item + end, width)]


def _clauses(body: str) -> list[str]:
    """A comprehension cut before its `for`s and the `if`s behind them; nothing for anything else."""
    offsets = list(_top_level(body, (" for ",)))
    if not offsets:
        return []
    conditions = [offset for offset in _top_level(body, (" if ",)) if offset > offsets[0]]
    cuts = [0, *(offset + 1 for offset in sorted([*offsets, *conditions])), len(body)]
    return [body[start:end].strip() for start, end in pairwise(cuts)]


def _takes_comma(body: str) -> bool:
    """Whether a comma may stand behind the last argument: not behind `**options`."""
    return not body.lstrip().startswith("**")


def _by_operators(code: str) -> list[str]:
    """The code cut before its loosest operators."""
    if any(True for _ in _top_level(code, ("lambda ", " for "))):
        return [code]
    for words in _WORDS:
        offsets = list(_top_level(code, words))
        if words == (" else ",) and offsets:
            offsets = sorted([*offsets, *_top_level(code, (" if ",))])
        if offsets:
            cuts = [0, *(offset + 1 for offset in offsets), len(code)]
            return [code[start:end].strip() for start, end in pairwise(cuts)]
    return [code]


def _split(code: str, separator: str) -> list[str]:
    offsets = list(_top_level(code, (separator,)))
    starts = [0, *(offset + len(separator) for offset in offsets)]
    return [code[start:end] for start, end in zip(starts, [*offsets, len(code)], strict=True)]


_TEXTS = r'"(?:[^"\\]|\\.)*"?|\'(?:[^\'\\]|\\.)*\'?'
_TOKENS = rf"{_TEXTS}|#|[{re.escape(_OPEN + _CLOSE)}]"
"""What depth depends on; a comment ends what there is to see."""
_BRACKETS = re.compile(_TOKENS)


@lru_cache
def _tokens_and(words: tuple[str, ...]) -> re.Pattern[str]:
    """What depth depends on, and nothing before each of the words, none of which begins with such."""
    return re.compile(f"{_TOKENS}|(?={'|'.join(map(re.escape, words))})")


def _top_level(code: str, words: tuple[str, ...]) -> Iterator[int]:
    """Where one of the words stands outside of brackets and strings."""
    depth = 0
    for found in _tokens_and(words).finditer(code):
        token = found[0]
        if token == "#":
            return
        if not token and depth == 0:
            yield found.start()
        depth += _step(token)


def _outer_brackets(code: str) -> list[_Brackets]:
    found: list[_Brackets] = []
    start = depth = 0
    for each in _BRACKETS.finditer(code):
        if each[0] == "#":
            break
        step = _step(each[0])
        if step > 0 and depth == 0:
            start = each.start()
        if step < 0 and depth == 1:
            found.append(_Brackets(start, each.start()))
        depth += step
    return found


def _step(token: str) -> int:
    """How much deeper it is behind a token."""
    if len(token) != 1:
        return 0
    return (token in _OPEN) - (token in _CLOSE)
