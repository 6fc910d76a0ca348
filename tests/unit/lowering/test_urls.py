"""URLs where paths are meant are refused when a program is checked."""

import pytest

from ghcm.errors import GhcmError
from ghcm.language import parse
from ghcm.lowering import lower
from ghcm.source import Source


@pytest.mark.parametrize(
    "text",
    [
        'sink o = files("out")\nstream s { files("s3://x/y").to(o) }',
        'sink o = files("file:///y")\nstream s { files("in").to(o) }',
        'sink o = parquet("gs://x/y")\nstream s { files("in").to(o) }',
    ],
)
def test_a_url_is_refused(text: str) -> None:
    with pytest.raises(GhcmError, match="is a URL, and places by URL are not supported yet"):
        lower(parse(Source("p.istream", f"program p\n{text}")))
