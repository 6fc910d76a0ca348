"""What the demo of the traffic monitor takes a file for: by what is in it, however it is packed, whatever its name."""

import gzip
import json
import socket
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from threading import Thread
from types import ModuleType

import duckdb
import pyarrow as pa
import pytest

from ghcm.driver import build, compile
from ghcm.errors import GhcmError
from ghcm.runtime.bundle import Bundle
from ghcm.runtime.settings import load_settings
from ghcm.runtime.slot.engine import Engine
from ghcm.spg.text import print_program
from tests.conformance.traffic_runs import ARGUS_CSV, EXAMPLE, generator
from tests.redis_server import connected

EVE = {
    "timestamp": "2026-01-05T09:00:00.000000+0000",
    "event_type": "alert",
    "src_ip": "10.0.0.1",
    "dest_ip": "10.0.0.2",
}
ARGUS_ROW = "2026-01-05 09:00:00.000000,1.5,tcp,10.0.0.1,1,->,10.0.0.2,80,FSPA_FSPA,4,400,100\n"


@pytest.fixture
def imported(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], ModuleType]]:
    """Modules of the example, as its script imports them."""
    before = {*sys.modules}
    monkeypatch.syspath_prepend(str(EXAMPLE))
    yield import_module
    for name in {path.stem for path in EXAMPLE.glob("*.py")} - before:
        sys.modules.pop(name, None)


@pytest.fixture
def demo_modules(imported: Callable[[str], ModuleType]) -> tuple[ModuleType, ModuleType]:
    return imported("formats"), imported("demo_folder")


def inputs() -> dict[str, str]:
    """A text of each kind."""
    made = generator()
    found = made.connections(1, 1, 2, ())
    return {
        "zeek": "".join(made.zeek(found)),
        "json": "".join(made.json_lines(found)),
        "argus": ARGUS_CSV + ARGUS_ROW,
        "suricata": json.dumps({**EVE, "alert": {"signature": "odd", "severity": 2}}) + "\n",
    }


def packed(text: str, how: str) -> bytes:
    data = text.encode()
    match how:
        case "gz":
            return gzip.compress(data)
        case "zst":
            return bytes(pa.compress(data, codec="zstd", asbytes=True))
        case _:
            return data


@pytest.mark.parametrize("how", ["plain", "gz", "zst"])
def test_each_kind_is_told_by_its_content(
    tmp_path: Path, demo_modules: tuple[ModuleType, ModuleType], how: str
) -> None:
    formats, _ = demo_modules
    for source, text in inputs().items():
        path = tmp_path / "any.name"
        path.write_bytes(packed(text, how))
        known = formats.recognise(path)
        assert (known.source, known.name.endswith(f".{how}")) == (source, how != "plain")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "it is empty"),
        ("a,b\n1,2\n", "its first line is of no known form"),
        ("\x1b[31m red", "of no known form"),
        ("[{}]", "of no known form"),
        ("{broken", "not whole as JSON"),
        ('{"a": 1}\n', "JSON, but of no known kind"),
        ('{"id.orig_h": "10.0.0.1", "ts": 1}\n', 'it lacks "id.resp_h", "id.resp_p", "proto", "conn_state"'),
        ("#separator \\x09\n#path\tdns\n#fields\tts\tuid\n", 'a log of Zeek, but of "dns"'),
        ("#!/bin/sh\n", "no log of Zeek"),
        ("StartTime,SrcAddr\n", 'it lacks "Dur", "Proto", "DstAddr"'),
    ],
)
def test_anything_else_is_refused_with_the_reason(
    tmp_path: Path, demo_modules: tuple[ModuleType, ModuleType], text: str, said: str
) -> None:
    path = tmp_path / "file"
    path.write_text(text)
    with pytest.raises(GhcmError) as refused:
        demo_modules[0].recognise(path)
    assert said in refused.value.message
    assert refused.value.hint and "\x1b" not in str(refused.value)


def test_what_cannot_be_read_is_refused(tmp_path: Path, demo_modules: tuple[ModuleType, ModuleType]) -> None:
    cut = tmp_path / "cut"
    cut.write_bytes(packed(inputs()["zeek"] * 50, "gz")[:100])
    for path in (tmp_path, tmp_path / "none", cut):
        with pytest.raises(GhcmError, match="cannot read"):
            demo_modules[0].recognise(path)


def test_the_monitor_reads_each_of_them(tmp_path: Path, demo_modules: tuple[ModuleType, ModuleType]) -> None:
    formats, demo_folder = demo_modules
    folder = tmp_path / "run"
    with socket.create_server(("127.0.0.1", 0)) as server:
        program = demo_folder.lay_out(folder, server.getsockname()[1])
        for (source, text), how in zip(inputs().items(), ("zst", "gz", "plain", "zst"), strict=True):
            path = tmp_path / source
            path.write_bytes(packed(text, how))
            demo_folder.put(path, formats.recognise(path), folder)
        Thread(target=end_at_once, args=(server,), daemon=True).start()
        bundle = Bundle.open(build(program, folder / "traffic.ghcm"))
        Engine(bundle, connections=connected(folder), state=folder / "state").run()
    made = generator()
    [(flows,)] = duckdb.execute(f"select sum(flows) from '{folder}/out/throughput/part-*.parquet'").fetchall()
    assert flows == 2 * len(made.connections(1, 1, 2, ())) + 1
    assert duckdb.execute(f"select signature from '{folder}/out/alerts/part-*.parquet'").fetchall() == [("odd",)]


def end_at_once(server: socket.socket) -> None:
    peer, _ = server.accept()
    peer.close()


def test_over_kafka_it_is_the_same_program_with_two_topics(
    tmp_path: Path, imported: Callable[[str], ModuleType]
) -> None:
    topics = imported("demo_kafka").Topics(load_settings({"profile": "services"}))
    program = imported("demo_folder").lay_out(tmp_path / "run", 4747, topics.rewrite())
    found = compile(program).program
    addresses = {sink.connector.address for sink in found.sinks}
    assert ("kafka", topics.alarms) in addresses
    plain = compile(EXAMPLE / "traffic.istream").program
    assert len(addresses) == len(plain.sinks) + 1
    text = print_program(found)
    assert topics.flows in text and topics.flows not in print_program(plain)
