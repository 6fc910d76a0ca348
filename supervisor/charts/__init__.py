"""Charts: rows into drawings (in the Supervisor), and drawings into PNG and SVG (in a process of their own)."""

__all__: list[str] = []
