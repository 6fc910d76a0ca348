"""Programs that grow while they run: what an edit keeps, adds, swaps and drops, or why it cannot be taken."""

__all__: list[str] = []
