"""What generated row code calls for the functions of the language, one module per family."""

__all__: list[str] = []
