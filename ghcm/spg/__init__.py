"""The SPG: the typed, immutable graph of a whole program."""

__all__: list[str] = []
