"""The traffic monitor of the examples: its statistics equal those of DuckDB on real traffic, window by window, and its
alarms find what is planted in generated traffic, and nothing where nothing is.
"""

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import duckdb
import pytest

from ghcm import driver
from tests.conformance.traffic_runs import (
    ARGUS_CSV,
    EXAMPLE,
    generator,
    labelled,
    rows,
    run,
    run_beside_silence,
    zeek_log_of,
)
from tests.conformance.traffic_scores import BEGIN, END, MINUTES, PAGE, PER_SECOND, SEED, planted, scores, untroubled
from tests.system.running import ghcm

SERVERS = """server,port,name,slow_after
8.8.8.8,53,names,0.01
44.201.116.124,443,cloud,5
147.32.83.161,23,trap,1
1.1.1.2,853,private,60
"""

CONNECTIONS = """
create table connections as
select (coalesce(duration, '0')::decimal(20, 6) * 1000000)::bigint as took,
       (ts::decimal(20, 6) * 1000000)::bigint + took as ends,
       make_timestamptz(ends // 10000000 * 10000000) as start,
       src_ip as src, dst_ip as dst, dst_port::bigint as port, proto, state,
       coalesce(src_bytes::bigint, 0) as sent, coalesce(dst_bytes::bigint, 0) as received, sent + received as bytes,
       coalesce(src_pkts::bigint, 0) + coalesce(dst_pkts::bigint, 0) as packets
from read_csv('{connections}', all_varchar = true)
"""
COUNTED = "count(*) as flows, sum(packets)::bigint as packets, sum(bytes)::bigint as total"
SIDES = """(select start, src as host, packets, bytes, sent from connections union all
            select start, dst, packets, bytes, received from connections)"""
EXPECTED = {
    "throughput": f"select start, {COUNTED} from connections group by start",
    "protocols": f"""
        select start, proto, flows, total,
               if(sum(total) over w > 0, total / sum(total) over w, flows / sum(flows) over w)
        from (select start, proto, {COUNTED} from connections group by start, proto)
        window w as (partition by start)""",
    "hosts": f"""
        select * from (select start, host, {COUNTED}, sum(sent)::bigint from {SIDES} group by start, host)
        qualify row_number() over (partition by start order by total desc, flows desc, host desc) <= 20""",
    "pairs": f"""
        select * from (select start, src, dst, {COUNTED}, sum(sent)::bigint from connections group by start, src, dst)
        qualify row_number() over (partition by start order by total desc, flows desc, src desc, dst desc) <= 20""",
    "new_hosts": f"select host, min(start) from {SIDES} group by host",
    "servers": """
        select start, name, server, port, flows, failed, round(seconds, 12),
               if(failed >= 3 and 2 * failed >= flows, 'failing', if(seconds > slow_after, 'slow', 'up'))
        from (select start, dst, port, count(*) as flows,
                     count(*) filter (state in ('REJ', 'RSTRH', 'S0', 'SH', 'RSTOS0')) as failed,
                     avg(took / 1e6) filter (state in ('SF', 'S1', 'S2', 'S3', 'RSTO', 'RSTR')) as seconds
              from connections group by start, dst, port)
        join (select server, port as its_port, name, slow_after from servers) on dst = server and port = its_port""",
}
SINKS = {
    "throughput": "start, flows, packets, bytes",
    "protocols": "start, proto, flows, bytes, share",
    "hosts": "start, host, flows, packets, bytes, sent",
    "pairs": "start, src, dst, flows, packets, bytes, sent",
    "new_hosts": "host, since",
    "servers": "start, name, server, port, flows, failed, round(seconds, 12), state",
}
PLANTED = {
    "port_scan": ("203.0.113.66", "10.0.0.13"),
    "brute_force": ("203.0.113.66", "10.0.0.13"),
    "address_scan": ("10.0.0.13", "10.0.1.20"),
    "beaconing": ("10.0.1.20", "198.51.100.99"),
    "unusual_volume": ("10.0.1.20", "10.0.1.20"),
    "flood": ("203.0.113.", "10.0.0.10"),
}


def test_both_front_ends_give_the_same_graph() -> None:
    assert driver.check(EXAMPLE / "traffic.istream") == driver.check(EXAMPLE / "traffic.py")


def test_the_program_is_canonical() -> None:
    assert ghcm("fmt", "--check", EXAMPLE / "traffic.istream", cwd=EXAMPLE).returncode == 0


@pytest.fixture(scope="module")
def measured(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sinks after the labelled connections."""
    return run(tmp_path_factory.mktemp("labelled"), zeek=zeek_log_of(labelled(shared)), servers=SERVERS)


@pytest.fixture(scope="module")
def counted(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    """The same connections in DuckDB."""
    servers = tmp_path_factory.mktemp("servers") / "servers.csv"
    servers.write_text(SERVERS)
    database = duckdb.connect()
    database.execute(CONNECTIONS.format(connections=labelled(shared)))
    database.execute(f"create table servers as select * from read_csv('{servers}')")
    return database


@pytest.mark.slow
@pytest.mark.parametrize("sink", EXPECTED)
def test_statistics_equal_those_of_duckdb(measured: Path, counted: duckdb.DuckDBPyConnection, sink: str) -> None:
    expected = counted.execute(f"select * from ({EXPECTED[sink]}) order by all").fetchall()
    assert rows(measured, sink, SINKS[sink]) == expected
    assert len(expected) > 100


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return planted(tmp_path_factory.mktemp("planted"))


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return untroubled(tmp_path_factory.mktemp("untroubled"))


@pytest.mark.slow
def test_every_planted_attack_is_found_and_nothing_else(attacked: Path) -> None:
    alarms = rows(attacked, "alerts", "origin, src, dst")
    assert {origin for origin, _, _ in alarms} == PLANTED.keys()
    for origin, src, dst in alarms:
        assert (str(src).startswith(PLANTED[str(origin)][0]), dst) == (True, PLANTED[str(origin)][1])
    states = rows(attacked, "servers", "distinct name, state")
    assert {("database", "slow"), ("shop", "failing"), ("names", "up")} <= set(states)


@pytest.mark.slow
def test_untroubled_traffic_raises_no_alarm(quiet: Path) -> None:
    assert rows(quiet, "alerts") == []
    assert len(rows(quiet, "throughput")) > 170


@pytest.mark.slow
@pytest.mark.parametrize("source", ["live", "argus"])
def test_other_sources_give_what_the_log_of_zeek_gives(attacked: Path, tmp_path: Path, source: str) -> None:
    made = generator()
    found = made.connections(SEED, MINUTES, PER_SECOND, made.PLANTED)
    text = "".join(made.json_lines(found)) if source == "live" else argus_csv(made, found)
    out = run(tmp_path, live=text) if source == "live" else run(tmp_path, argus=text)
    for sink, columns in {"alerts": "*", **SINKS}.items():
        assert rows(out, sink, columns) == rows(attacked, sink, columns)


def argus_csv(made: ModuleType, found: list[Any]) -> str:
    """Generated connections as Argus gives them."""
    states = {("SF", "tcp"): "FSPA_FSPA", ("SF", "udp"): "CON", ("S0", "tcp"): "S_", ("S0", "udp"): "INT"}
    lines = [ARGUS_CSV]
    for number, conn in enumerate(found):
        row, state = made.row(number, conn), states.get((conn.state, conn.proto), "S_RA")
        packets = row["orig_pkts"] + row["resp_pkts"]
        cells = (row["ts"], row["duration"], conn.proto, conn.src, row["id.orig_p"], "->", conn.dst, conn.port, state)
        lines.append(",".join(map(str, (*cells, packets, conn.sent + conn.received, conn.sent))) + "\n")
    return "".join(lines)


def test_a_silent_source_holds_no_statistics_back(tmp_path: Path) -> None:
    made = generator()
    zeek = "".join(made.zeek(made.connections(SEED, 8, 2, ())))
    out = run_beside_silence(tmp_path, lambda out: len(rows(out, "throughput")) >= 15, zeek=zeek)
    assert len(rows(out, "throughput")) < 40, "what may still come from the socket is waited for"


def test_alerts_of_suricata_are_among_the_alarms(tmp_path: Path) -> None:
    event = {"timestamp": "2017-11-04T12:48:35.198583+0000", "src_ip": "10.0.254.30", "dest_ip": "10.0.0.101"}
    alert = {"signature": "ET POLICY mySQL", "category": "Potentially Bad Traffic", "severity": 2}
    lines = [{**event, "event_type": "alert", "dest_port": 3306, "alert": alert}, {**event, "event_type": "flow"}]
    out = run(tmp_path, suricata="".join(json.dumps(line) + "\n" for line in lines))
    (found,) = rows(out, "alerts", "src, dst, port, signature, category, severity, origin")
    assert found == ("10.0.254.30", "10.0.0.101", 3306, *alert.values(), "suricata")


@pytest.mark.slow
def test_the_scores_in_the_documentation_are_current(shared: Path, measured: Path, attacked: Path, quiet: Path) -> None:
    written = PAGE.read_text(encoding="utf-8").split(BEGIN)[1].split(END)[0]
    assert written == scores(labelled(shared), measured, attacked, quiet)


def test_the_generator_gives_the_same_for_the_same_seed() -> None:
    made = generator()
    logs = ["".join(made.zeek(made.connections(seed, 2, 5, made.PLANTED))) for seed in (1, 1, 2)]
    assert logs[0] == logs[1] != logs[2]
