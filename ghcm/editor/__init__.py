"""Editor support: a language server for IStream and the grammar by which editors colour it."""

__all__: list[str] = []
