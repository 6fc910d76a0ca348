"""The Supervisor: stands for all responsive units towards the outside, HTTP in and feedback back."""

if __name__ != "ghcm.supervisor":
    raise ImportError(
        f'cannot import "supervisor" as "{__name__}": write "ghcm.supervisor", with the root of the checkout '
        "or the installed package on the path. Under two names, every class would exist twice."
    )

__all__: list[str] = []
