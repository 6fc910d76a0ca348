"""Code generation: turns an optimised, placed graph into code that a person can read and run."""

if __name__ != "ghcm.codegen":
    raise ImportError(
        f'cannot import "codegen" as "{__name__}": write "ghcm.codegen", with the root of the checkout '
        "or the installed package on the path. Under two names, every class would exist twice."
    )

__all__: list[str] = []
