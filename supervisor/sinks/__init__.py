"""What rests in a program's sinks, as the Supervisor shows it: kept at hand, selected from, written as JSON or CSV."""

__all__: list[str] = []
