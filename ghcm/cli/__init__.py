"""The command line: one file per command, imported when it is asked for."""

__all__: list[str] = []
