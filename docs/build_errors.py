"""Writes `docs/errors.md` from the tables of error codes; the examples are those of the golden tests.

Run `python docs/build_errors.py` after changing a code or a message; a test compares the page with the tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ghcm.codes import COMMANDS, RUNNING, SERVING, SPARK, WRITING, Code, Kind

__all__ = ["PAGE", "page"]

PAGE = Path(__file__).parent / "errors.md"

_GOLDEN = Path(__file__).parents[1] / "tests" / "golden" / "errors"
_HEAD = """# Errors

Made from the tables by `docs/build_errors.py`; do not edit.

Every message has a code, which stays the same whatever its words are:

```
error[GHCM-207]: what is wrong, in one line
  = detail: why, as sentences.
  = hint: what to do.
```

`ghcm explain --error GHCM-207` says what a code stands for. The exit code of a command is 2 for the codes 1xx to 6xx,
which are about the program or the arguments, and 1 for 7xx and whatever else ends a run. Over HTTP the code stands in
the field `code` of the problem, and in `error` of a call that has failed, with hint and place.

A record that fails ends nothing: it becomes a dead letter, the rest goes on, and the run ends with 0, as with bad
records in Spark. `ghcm run` says at its end how many there were and where they are; with `--strict` it ends with 1 if
there are any.
"""


def page() -> str:
    """The whole text of `errors.md`."""
    examples = _examples()
    parts = [
        _HEAD,
        *_table("Programs that cannot be read", WRITING),
        "## Programs that mean nothing\n",
        *(_lowered(code, examples[code.value]) for code in sorted(Code)),
        *_table("The compiler's own, and answers over HTTP", SERVING),
        *_table("Batch units of which no Spark job can be made", SPARK),
        *_table("Files, settings and arguments", COMMANDS),
        *_table("While programs run", RUNNING),
    ]
    return "\n".join(parts)


def _table(title: str, kinds: tuple[Kind, ...]) -> Iterator[str]:
    yield f"## {title}\n"
    yield "| code | what it stands for | what to do |"
    yield "|---|---|---|"
    for kind in kinds:
        yield f'| <a id="{kind.code.lower()}"></a>{kind.code} | {_cell(kind.meaning)} | {_cell(kind.remedy)} |'
    yield ""


def _cell(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|")


def _lowered(code: Code, example: str) -> str:
    return f'<a id="{code.value.lower()}"></a>\n### {code.value}: {code.meaning}\n\n```\n{example}\n```\n'


def _examples() -> dict[str, str]:
    """By code a message of the golden tests: the one that the page has, as long as a test has it too, so that new tests
    do not change the page; else the one that says most in few words, the shortest with a hint.
    """
    shown = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    found: dict[str, list[str]] = {}
    for path in sorted(_GOLDEN.glob("*.txt")):
        for message in re.split(r"\n\n(?=error\[)", path.read_text(encoding="utf-8").strip()):
            found.setdefault(message[6:14], []).append(message)
    return {code: min(each, key=lambda message: _worth(message, shown)) for code, each in found.items()}


def _worth(message: str, shown: str) -> tuple[bool, bool, int, str]:
    return f"\n{message}\n" not in shown, "= hint:" not in message, len(message), message


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
