"""Examples of hashes."""

from __future__ import annotations

from ghcm.manual.example import Example

EXAMPLES: dict[str, tuple[Example, ...]] = {
    "md5": (Example('md5("hi")', '"49f68a5c8493ec2c0bf489821c21fc3b"'),),
    "sha1": (Example('sha1("hi")', '"c22b5f9178342609428d6f51b2c5af4c0bde6a42"'),),
    "sha256": (Example('sha256("hi")', '"8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4"'),),
    "sha512": (
        Example(
            'sha512("hi")',
            '"150a14ed5bea6cc731cf86c41566ac427a8db48ef1b9fd626664b3bfbb99071fa4c922f33dde38719b8c8354e2b7ab9d77e0e67fc12843920a712e73d558e197"',
        ),
    ),
    "crc32": (Example('crc32("hi")', "3633523372"),),
}
