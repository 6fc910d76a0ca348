"""Whatever is done to a program, the lowering either explains what is wrong with it or gives a sound graph."""

import re
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from ghcm.errors import ProgramError
from ghcm.language.parser import parse
from ghcm.lowering import lower
from ghcm.source import Source
from ghcm.spg.verify import verify
from tests.campaigns import times

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = (
    ROOT / "tests" / "golden" / "errors",
    ROOT / "tests" / "golden" / "lowering",
    ROOT / "examples" / "wordcount",
)
PROGRAMS = [path.read_text(encoding="utf-8") for folder in FOLDERS for path in sorted(folder.glob("*.istream"))]
TOKENS = [re.findall(r"\w+|\"[^\"]*\"|\s+|=>|[^\w\s]", text) for text in PROGRAMS]
WORDS = sorted({token for tokens in TOKENS for token in tokens if not token.isspace()})


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """A program with a few of its words left out, doubled, or replaced by others."""
    tokens = list(draw(st.sampled_from(TOKENS)))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(tokens) - 1))
        match draw(st.sampled_from(("leave out", "double", "other", "own"))):
            case "leave out":
                del tokens[at]
            case "double":
                tokens.insert(at, tokens[at])
            case "other":
                tokens[at] = draw(st.sampled_from(WORDS))
            case _:
                tokens[at] = draw(st.sampled_from(tokens))
        tokens = tokens or [" "]
    return "".join(tokens)


@settings(max_examples=times(200), deadline=None)
@given(damaged())
def test_a_damaged_program_is_explained_or_sound(text: str) -> None:
    try:
        lowered = lower(parse(Source("damaged.istream", text)))
    except ProgramError as error:
        assert all(found.span is not None for found in error.diagnostics)
        assert str(error)
    else:
        assert verify(lowered) == []
