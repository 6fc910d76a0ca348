"""The traffic monitor of the examples, run on given input in a folder of its own."""

import importlib.util
import shutil
import socket
import sys
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from threading import Event, Thread
from types import ModuleType

import duckdb
from deltalake import DeltaTable

from ghcm.driver import build
from ghcm.runtime.bundle import Bundle
from ghcm.runtime.slot.engine import Engine
from tests.redis_server import connected

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "traffic"
SOURCES = ("zeek", "json", "argus", "suricata")
SOCKET = "127.0.0.1:4747"
"""The address in the program; runs take a free one, so that several may be at a time."""

ZEEK_LOG = (
    "#separator \\x09\n#set_separator\t,\n#empty_field\t(empty)\n#unset_field\t-\n#path\tconn\n"
    "#fields\tts\tid.orig_h\tid.resp_h\tid.resp_p\tproto\tservice\tduration\torig_bytes\tresp_bytes\tconn_state"
    "\torig_pkts\tresp_pkts\n"
    "#types\ttime\taddr\taddr\tport\tenum\tstring\tinterval\tcount\tcount\tstring\tcount\tcount\n"
)
ARGUS_CSV = "StartTime,Dur,Proto,SrcAddr,Sport,Dir,DstAddr,Dport,State,TotPkts,TotBytes,SrcBytes\n"
_EMPTY = {"zeek": ZEEK_LOG, "json": "", "argus": ARGUS_CSV, "suricata": ""}


def run(folder: Path, live: str = "", servers: str = "", **texts: str) -> Path:
    """Run it to the end of its input: the text of a file per source, and what the socket sends. The folder of sinks."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        bundle = _bundle(folder, server, servers, texts)
        sender = Thread(target=_send, args=(server, live.encode()), daemon=True)
        sender.start()
        Engine(bundle, connections=connected(folder), state=folder / "state").run()
        sender.join()
    return folder / "out"


def run_beside_silence(folder: Path, done: Callable[[Path], bool], **texts: str) -> Path:
    """Run it while the server of the socket says nothing, by a clock that is fast, until what it has made is enough."""
    clock, committed = count(0, 5_000_000), Event()
    with socket.create_server(("127.0.0.1", 0)) as server:
        engine = Engine(
            _bundle(folder, server, "", texts),
            connections=connected(folder),
            state=folder / "state",
            changed=committed.set,
            now=clock.__next__,
        )
        with engine:
            while not done(folder / "out"):
                engine.check()
                assert committed.wait(60)
                committed.clear()
    return folder / "out"


def _bundle(folder: Path, server: socket.socket, servers: str, texts: Mapping[str, str]) -> Bundle:
    """The program in a folder of its own, with these inputs."""
    for source in SOURCES:
        into = folder / "in" / source
        into.mkdir(parents=True)
        (into / "input").write_text(texts.get(source) or _EMPTY[source])
    shutil.copy(EXAMPLE / "servers.csv", folder)
    if servers:
        (folder / "servers.csv").write_text(servers)
    address = f"127.0.0.1:{server.getsockname()[1]}"
    program = folder / "traffic.istream"
    program.write_text((EXAMPLE / "traffic.istream").read_text().replace(SOCKET, address))
    return Bundle.open(build(program, folder / "traffic.ghcm"))


def _send(server: socket.socket, data: bytes) -> None:
    peer, _ = server.accept()
    with peer:
        peer.sendall(data)


def rows(out: Path, sink: str, columns: str = "*") -> list[tuple[object, ...]]:
    """What a sink holds, sorted; nothing where it was never written."""
    if not DeltaTable.is_deltatable(str(out / sink)):
        return []
    with duckdb.connect() as database:
        database.register("found", DeltaTable(str(out / sink)).to_pyarrow_table())
        return database.execute(f"select {columns} from found order by all").fetchall()


def generator() -> ModuleType:
    """The example's generator, as a module."""
    spec = importlib.util.spec_from_file_location("traffic_generator", EXAMPLE / "generate.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def labelled(shared: Path) -> Path:
    """The labelled connections of Zeek."""
    return shared / "data/flows_labelled_stratosphere/flows_zeek_labelled.csv.gz"


def zeek_log_of(connections: Path) -> str:
    """Labelled connections as Zeek logs them: in the order in which they end."""
    found = duckdb.execute(
        f"""select ts, src_ip, dst_ip, dst_port, proto, service, duration, src_bytes, dst_bytes, state,
                   src_pkts, dst_pkts
            from read_csv('{connections}', all_varchar = true)
            order by ts::decimal(20, 6) + coalesce(duration::decimal(20, 6), 0), src_ip, dst_ip, dst_port"""
    ).fetchall()
    return ZEEK_LOG + "".join("\t".join("-" if cell is None else cell for cell in row) + "\n" for row in found)
