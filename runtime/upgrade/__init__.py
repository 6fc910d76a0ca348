"""Live upgrade: what an edit of a program that runs keeps, adds, swaps and drops, or why it cannot be taken."""

__all__: list[str] = []
