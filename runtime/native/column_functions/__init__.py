"""What generated columnar code calls for the functions of the language, one module per kind of value."""

__all__: list[str] = []
