"""Who asks over HTTP, and what each route asks of him."""

__all__: list[str] = []
