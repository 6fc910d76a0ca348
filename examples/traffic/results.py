"""What the live unit gives: a row of each sink, and of the answers."""

from datetime import datetime

from ghcm import Record


class Throughput(Record):
    start: datetime
    flows: int
    packets: int
    bytes: int


class ProtocolShare(Record):
    start: datetime
    proto: str
    flows: int
    bytes: int
    share: float


class HostTraffic(Record):
    start: datetime
    host: str
    flows: int
    packets: int
    bytes: int
    sent: int


class PairTraffic(Record):
    start: datetime
    src: str
    dst: str
    flows: int
    packets: int
    bytes: int
    sent: int


class ServerState(Record):
    start: datetime
    name: str
    server: str
    port: int
    flows: int
    failed: int
    seconds: float | None  # mean duration of what was answered
    state: str  # up, slow or failing


class HostProfile(Record):
    host: str
    first: datetime | None  # the windows in which it was seen
    last: datetime | None
    flows: int
    packets: int
    bytes: int
    sent: int
    peers: int  # about
    alarms: int  # that name it as the source
    worst: int | None
    last_alarm: datetime | None


class NewHost(Record):
    host: str
    since: datetime
