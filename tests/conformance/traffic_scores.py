"""How well the rules of the traffic monitor do, as the table in docs/traffic.md.

python -m tests.conformance.traffic_scores      rewrites it (GHCM_SHARED says where the shared data is)
"""

import os
import tempfile
from pathlib import Path

import duckdb
from deltalake import DeltaTable

from tests.conformance.traffic_runs import generator, labelled, run, zeek_log_of

PAGE = Path(__file__).resolve().parents[2] / "docs" / "traffic.md"
BEGIN, END = "<!-- begin of the scores -->\n", "<!-- end of the scores -->"
RULES = ("port_scan", "address_scan", "flood", "brute_force", "unusual_volume", "beaconing")
SEED, MINUTES, PER_SECOND = 3, 30, 5
COLUMNS = (
    "rule",
    "alarms",
    "raised, malicious",
    "raised, other",
    "silent, malicious",
    "silent, other",
    "planted",
    "without",
)


def planted(folder: Path) -> Path:
    """The sinks after generated traffic with every attack."""
    made = generator()
    return run(folder, zeek="".join(made.zeek(made.connections(SEED, MINUTES, PER_SECOND, made.PLANTED))))


def untroubled(folder: Path) -> Path:
    """The same without any."""
    made = generator()
    return run(folder, json="".join(made.json_lines(made.connections(SEED, MINUTES, PER_SECOND, []))))


def scores(connections: Path, measured: Path, with_attacks: Path, without: Path) -> str:
    """The table: of each rule its alarms in the labelled connections, the hosts that began them by label and by whether
    the rule names them, and its alarms in generated traffic with and without planted attacks.
    """
    database = duckdb.connect()
    for name, out in {"measured": measured, "planted": with_attacks, "unplanted": without}.items():
        database.execute(f"create table {name} (origin varchar, src varchar)")
        if DeltaTable.is_deltatable(str(out / "alerts")):
            found = DeltaTable(str(out / "alerts")).to_pyarrow_table(columns=["origin", "src"])
            database.register("found", found)
            database.execute(f"insert into {name} select origin, src from found")
    database.execute(
        f"""create table hosts as select src_ip as host, bool_or(label like 'Malicious%') as malicious
            from read_csv('{connections}', all_varchar = true) group by host"""
    )
    lines = (COLUMNS, ("---",) * len(COLUMNS), *(score(database, rule) for rule in RULES))
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


def score(database: duckdb.DuckDBPyConnection, rule: str) -> tuple[object, ...]:
    """A row of the table."""
    found = database.execute(
        """select (select count(*) from measured where origin = $1),
                  count(*) filter (raised and malicious), count(*) filter (raised and not malicious),
                  count(*) filter (malicious and not raised), count(*) filter (not malicious and not raised),
                  (select count(*) from planted where origin = $1), (select count(*) from unplanted where origin = $1)
           from (select malicious, host in (select src from measured where origin = $1) as raised from hosts)""",
        [rule],
    ).fetchone()
    assert found is not None
    return (f"`{rule}`", *found)


def main() -> None:
    """Rewrite the table."""
    shared = Path(os.environ.get("GHCM_SHARED", PAGE.parents[2] / "shared"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        measured = run(folder / "labelled", zeek=zeek_log_of(labelled(shared)))
        table = scores(labelled(shared), measured, planted(folder / "planted"), untroubled(folder / "untroubled"))
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    PAGE.write_text(before + BEGIN + table + END + rest.split(END)[1], encoding="utf-8")


if __name__ == "__main__":
    main()
