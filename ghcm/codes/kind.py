"""A kind of mistake as the tables describe it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kind:
    """A code (`GHCM-601`), what it stands for as a noun without a full stop, and what to do as sentences."""

    code: str
    meaning: str
    remedy: str
