"""The Jinja2 templates that lay generated code out; they decide nothing."""

__all__: list[str] = []
