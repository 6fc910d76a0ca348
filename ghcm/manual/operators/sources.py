"""Examples of sources and reads."""

from __future__ import annotations

from ghcm.manual.example import Pipeline

EXAMPLES: dict[str, tuple[Pipeline, ...]] = {
    "files": (
        Pipeline(
            'files("visits.csv", format = csv).as(Visit)',
            (
                '{"page": "/", "seconds": 3}',
                '{"page": "/docs", "seconds": null}',
                "dead letter (bad_record): /prices,many",
            ),
            declares="record Visit { page: string, seconds: int? }",
            files={"visits.csv": "page,seconds\n/,3\n/docs,\n/prices,many\n"},
        ),
    ),
    "socket": (
        Pipeline(
            'visits = socket("localhost:9000", format = json).as(Visit)\nvisits.to(out)',
            ('out: {"page": "/"}', 'out: {"page": "/docs"}'),
            declares='record Visit { page: string }\n\nsink out = parquet("out")',
            unit="stream",
            files={"localhost:9000": '{"page": "/"}\n{"page": "/docs"}\n'},
        ),
    ),
    "memory": (
        Pipeline(
            'memory([{ page: "/", n: 1 }, { page: "/docs", n: 2 }])',
            ('{"page": "/", "n": 1}', '{"page": "/docs", "n": 2}'),
        ),
    ),
    "generate": (
        Pipeline(
            "generate(rows = 2, step = 1m)",
            (
                '{"number": 0, "time": "1970-01-01T00:00:00.000000Z"}',
                '{"number": 1, "time": "1970-01-01T00:01:00.000000Z"}',
            ),
        ),
    ),
    "read": (
        Pipeline(
            'lake.read().filter(v => v.page == "/")',
            ('{"page": "/", "seconds": 3}',),
            declares='record Visit { page: string, seconds: int }\n\nsink lake = parquet("lake", mode = append)\n\nstream fill {\n  files("visits.jsonl", format = json).as(Visit).to(lake)\n}',
            sinks={"lake": ('{"page": "/", "seconds": 3}', '{"page": "/docs", "seconds": 5}')},
        ),
    ),
}
