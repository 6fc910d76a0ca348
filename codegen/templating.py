"""The Jinja2 environment of all templates: strict about names, exact about white space, without logic of its own."""

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("ghcm.codegen", "templates"),
        undefined=StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def render(template: str, **values: object) -> str:
    """The text of a template (`native_module.py.j2`) filled with values; an unknown name is an error.

    A value of several lines keeps its lines; indent it where it stands with the filter `indent`.
    """
    return _environment().get_template(template).render(**values)
