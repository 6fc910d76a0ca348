"""What units keep: tables that responsive units read."""

__all__: list[str] = []
