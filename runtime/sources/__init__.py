"""Sources: where records come from, read beside the loop and decoded in it, with positions that can be gone back to."""

__all__: list[str] = []
