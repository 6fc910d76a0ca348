"""The manual: what the tables say of every operator, aggregate and function, each with examples that tests execute.

The reference pages, `ghcm explain --operator NAME` and the tests read it from here. Nothing is evaluated here.
"""

from ghcm.functions import Example
from ghcm.manual.entries import Area, Entry, Fact, Kind, Shown, areas, entries, find, unknown

__all__ = ["Area", "Entry", "Example", "Fact", "Kind", "Shown", "areas", "entries", "find", "unknown"]
