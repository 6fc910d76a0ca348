"""The meaning of programs: a slow, obvious interpreter in plain Python that every engine is compared with.

It shares no evaluation code with any engine and is imported by tests and by tools that compare, never by a run.
"""

from ghcm.spg.reference.interpreter import run
from ghcm.spg.reference.state import DeadLetterRow, Published, Result

__all__ = ["DeadLetterRow", "Published", "Result", "run"]
