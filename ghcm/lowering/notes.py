"""What the lowering finds out about places of a program, for those who show it: editors.

Types are noted as they are found, those of a program with mistakes too. Nothing in the compiler reads them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ghcm.source import Source, Span
from ghcm.types import Collection, Type


@dataclass(frozen=True, slots=True)
class Note:
    """The type of the value, or of the collection, that stands at a place."""

    span: Span
    type: Type | Collection


@dataclass(eq=False, slots=True)
class Notes:
    """The notes of a program, by the source that they are about."""

    found: dict[int, list[Note]] = field(default_factory=dict[int, list[Note]])

    def note(self, span: Span | None, type_: Type | Collection) -> None:
        """Keep the type of what stands at a place."""
        if span is not None:
            self.found.setdefault(id(span.source), []).append(Note(span, type_))

    def at(self, source: Source, offset: int) -> Iterator[Note]:
        """The notes whose place holds the offset, the smallest place first, of one place the latest."""
        notes = [each for each in self.found.get(id(source), ()) if each.span.start <= offset < each.span.end]
        notes.reverse()
        yield from sorted(notes, key=lambda each: each.span.end - each.span.start)

    def of(self, span: Span | None) -> Type | Collection | None:
        """The type of what stands at exactly that place, None where it is not known."""
        if span is None:
            return None
        notes = self.found.get(id(span.source), ())
        return next((each.type for each in reversed(notes) if each.span == span), None)
