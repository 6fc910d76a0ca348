"""Jobs and calls: submission, their store, logs and restarts."""

__all__: list[str] = []
