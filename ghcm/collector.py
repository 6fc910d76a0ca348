"""The search for garbage in cycles, kept from where it finds nothing: what was imported stays, and a process that ends
gives everything back at once.
"""

import atexit
import gc

_OBJECTS = 50_000


def search_rarely() -> None:
    """Search when so many objects are new, not after each few hundred: importing a program's modules makes 100,000, and
    a sixth of its time went into looking at them.
    """
    gc.set_threshold(_OBJECTS)


def end_at_once() -> None:
    """Search for nothing at the end of this process, which takes the interpreter a quarter of a second otherwise."""
    atexit.register(gc.freeze)
