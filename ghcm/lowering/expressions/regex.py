"""Regular expressions: the subset that RE2, Java and Python read alike, and its one spelling.

`canonical` refuses what only some engines know or understand differently, and writes the rest so that no flag matters:
classes and `.` are spelt out in ASCII, groups capture nothing, and every `$` that is left means the end of the text. It
matches nothing itself.
"""

from dataclasses import dataclass

_CLASSES = {"d": "0-9", "w": "0-9A-Za-z_", "s": r"\t-\r "}
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}
_ESCAPED = {char: "\\" + char for char in "\\.+*?()|[]{}^"} | {
    "$": r"\x24", "\n": r"\n", "\t": r"\t", "\r": r"\r", "\f": r"\f", "\v": r"\x0b",
}  # fmt: skip
_ESCAPED_IN_CLASS = {char: "\\" + char for char in "\\[]^-|"} | {
    "$": r"\x24", "&": r"\x26", "~": r"\x7e", "\n": r"\n", "\t": r"\t", "\r": r"\r", "\f": r"\f", "\v": r"\x0b",
}  # fmt: skip
_MOST_REPEATS = 1000
_WORD_EDGE = "engines disagree about where a word ends outside ASCII"


class BadPattern(ValueError):
    """A pattern outside the subset: where (from 0), why, and what to write instead."""

    def __init__(self, position: int, reason: str, hint: str = "") -> None:
        super().__init__(reason)
        self.position = position
        self.reason = reason
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern in its one spelling. `empty`: it may match no character at all. `groups`: how many it captures."""

    text: str
    empty: bool
    groups: int = 0


def canonical(pattern: str, *, capture: bool = False) -> Pattern:
    """The pattern respelt; BadPattern if it is outside the subset. Groups capture only with `capture`.

    >>> canonical(r"(\\d+)\\.x$").text
    '(?:[0-9]+)\\\\.x$'
    """
    reader = _Reader(pattern, capture)
    read = reader.alternatives()
    if reader.at < len(pattern):
        raise BadPattern(reader.at, 'a ")" closes nothing', r'a bracket as a character is written "\)".')
    return Pattern(read.text, read.empty, reader.groups)


@dataclass(slots=True)
class _Reader:
    """A recursive descent over the pattern; `at` is the next character."""

    text: str
    capture: bool = False
    at: int = 0
    groups: int = 0

    def alternatives(self) -> Pattern:
        branches = [self.sequence()]
        while self.peek() == "|":
            self.at += 1
            branches.append(self.sequence())
        return Pattern("|".join(branch.text for branch in branches), any(branch.empty for branch in branches))

    def sequence(self) -> Pattern:
        parts: list[Pattern] = []
        while self.peek() not in ("", "|", ")"):
            parts.append(self.repeated())
        return Pattern("".join(part.text for part in parts), all(part.empty for part in parts))

    def repeated(self) -> Pattern:
        start, first = self.at, self.peek()
        if first in "*+?":
            raise BadPattern(start, f'"{first}" repeats nothing', f'the character itself is written "\\{first}".')
        atom = self.atom()
        quantifier, least = self.quantifier()
        if quantifier and first in "^$":
            raise BadPattern(start, f'"{first}" cannot be repeated')
        return Pattern(atom.text + quantifier, atom.empty or least == 0)

    def quantifier(self) -> tuple[str, int]:
        """The repetition that stands here and its least number; "" and 1 where there is none."""
        sign = self.peek()
        if sign not in ("*", "?", "+", "{"):
            return "", 1
        least = 1 if sign == "+" else 0
        if sign == "{":
            sign, least = self.braces()
        self.at += 1
        if self.peek() == "+":
            raise BadPattern(self.at, "a possessive repetition is known to some engines only")
        if self.peek() in ("*", "{"):
            raise BadPattern(self.at, "a repetition is repeated", "a group makes it one: (?:...)*.")
        if self.peek() == "?":
            self.at += 1
            if self.peek() in ("*", "+", "?", "{"):
                raise BadPattern(self.at, "a repetition is repeated", "a group makes it one: (?:...)*.")
            return sign + "?", least
        return sign, least

    def braces(self) -> tuple[str, int]:
        start, end = self.at, self.text.find("}", self.at)
        low, comma, high = self.text[start + 1 : end].partition(",") if end > 0 else ("", "", "")
        ascii_digits = all(part.isascii() and part.isdigit() for part in (low, high) if part)
        if not low or not ascii_digits:
            raise BadPattern(start, '"{" opens no repetition {n}, {n,} or {n,m}', r'the character is written "\{".')
        if max(int(low), int(high or 0)) > _MOST_REPEATS:
            raise BadPattern(start, f"more than {_MOST_REPEATS} repetitions")
        if high and int(high) < int(low):
            raise BadPattern(start, "the most repetitions are fewer than the least")
        self.at = end
        return "{" + str(int(low)) + comma + (str(int(high)) if high else "") + "}", int(low)

    def atom(self) -> Pattern:
        char = self.peek()
        match char:
            case "(":
                return self.group()
            case "[":
                return Pattern(self.char_class(), False)
            case "\\":
                return self.escape()
            case "{" | "}" | "]":
                raise BadPattern(self.at, f'"{char}" opens or closes nothing', f'the character is written "\\{char}".')
            case _:
                self.at += 1
        if char in "^$":
            return Pattern(char, True)
        return Pattern(r"[^\n]" if char == "." else _ESCAPED.get(char, char), False)

    def group(self) -> Pattern:
        start = self.at
        opening = "(" if self.capture else "(?:"
        self.at += 1
        if self.peek() == "?":
            if self.text[self.at : self.at + 2] != "?:":
                raise BadPattern(start, *_why_no_group(self.text[self.at + 1 :]))
            self.at += 2
            opening = "(?:"
        self.groups += opening == "("
        inner = self.alternatives()
        if self.peek() != ")":
            raise BadPattern(start, 'a "(" is never closed', r'a bracket as a character is written "\(".')
        self.at += 1
        return Pattern(f"{opening}{inner.text})", inner.empty)

    def escape(self) -> Pattern:
        start = self.at
        name = self.text[start + 1 : start + 2]
        if name.lower() in _CLASSES and name:
            self.at += 2
            return Pattern(f"[{'^' if name.isupper() else ''}{_CLASSES[name.lower()]}]", False)
        char = self.escaped_char()
        return Pattern(_ESCAPED.get(char, char), False)

    def escaped_char(self) -> str:
        start = self.at
        name = self.text[start + 1 : start + 2]
        self.at += 2
        if name in _CONTROLS and name:
            return _CONTROLS[name]
        if name == "x":
            digits = self.text[self.at : self.at + 2]
            if len(digits) == 2 and all(digit in "0123456789abcdefABCDEF" for digit in digits):
                self.at += 2
                return chr(int(digits, 16))
        if name and name.isascii() and not name.isalnum():
            return name
        raise BadPattern(start, _why_no_escape(name))

    def char_class(self) -> str:
        start = self.at
        self.at += 1
        negated = self.peek() == "^"
        self.at += negated
        parts: list[str] = []
        while self.peek() != "]":
            if not self.peek():
                raise BadPattern(start, 'a "[" is never closed', r'a bracket as a character is written "\[".')
            parts.append(self.class_item())
        if not parts:
            raise BadPattern(start, "a class is empty", r'"]" as its first character is written "\]".')
        self.at += 1
        return f"[{'^' if negated else ''}{''.join(parts)}]"

    def class_item(self) -> str:
        start = self.at
        if self.peek() == "[":
            raise BadPattern(start, '"[" within a class opens another one in some engines', r'it is written "\[".')
        name = self.text[start + 1 : start + 2] if self.peek() == "\\" else ""
        if name and name in _CLASSES:
            self.at += 2
            return _CLASSES[name]
        if name and name.lower() in _CLASSES:
            raise BadPattern(start, f'"\\{name}" within a class', f'"[^...]" and "\\{name.lower()}" can say it.')
        first = self.class_char()
        if self.peek() != "-" or self.text[self.at + 1 : self.at + 2] in ("]", ""):
            return _ESCAPED_IN_CLASS.get(first, first)
        self.at += 1
        if self.peek() == "[" or self.text[self.at : self.at + 2].lower() in (r"\d", r"\w", r"\s"):
            raise BadPattern(self.at, "a range ends in a class", r'"-" as a character is written "\-".')
        last = self.class_char()
        if last < first:
            raise BadPattern(start, f'the range "{first}-{last}" runs backwards')
        return f"{_ESCAPED_IN_CLASS.get(first, first)}-{_ESCAPED_IN_CLASS.get(last, last)}"

    def class_char(self) -> str:
        if self.peek() == "\\":
            return self.escaped_char()
        self.at += 1
        return self.text[self.at - 1]

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]


def _why_no_group(rest: str) -> tuple[str, str]:
    """Why there is no such group, and what to write."""
    if rest.startswith(("=", "!", "<=", "<!")):
        hint = r"a group takes a part of a match: extract(s, r'user=(\w+)', 1)."
        return "looking ahead or behind is known to some engines only", hint
    if rest.startswith(("P", "<")):
        return (
            "named groups are written differently by the engines",
            "groups are counted from 1: extract(s, pattern, 1).",
        )
    if rest.startswith(">"):
        return "an atomic group is known to some engines only", ""
    if rest.startswith("i"):
        return "flags within a pattern differ between the engines", "lower(s) before it, or [aA], heeds no case."
    return "flags within a pattern differ between the engines", ""


def _why_no_escape(name: str) -> str:
    if not name:
        return "the pattern ends in a backslash"
    if name in ("b", "B"):
        return f'"\\{name}": {_WORD_EDGE}'
    if name.isdigit():
        return f'"\\{name}" refers to a group or is octal, and not every engine has that'
    return f'"\\{name}" means different things to different engines'
