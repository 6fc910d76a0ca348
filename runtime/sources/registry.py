"""From the connector of a source to what reads it; what brings a large client or library along is loaded when a program
needs it. What connectors are stands in `ghcm.spg.connectors`.
"""

from typing import assert_never

from ghcm.errors import GhcmError
from ghcm.runtime.formats.file_pieces import FIRST_PIECE
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.sources.files import FilesSource, FollowSource
from ghcm.runtime.sources.memory import GenerateSource, RowsSource
from ghcm.runtime.sources.source import Source
from ghcm.runtime.sources.tail import TailSource
from ghcm.runtime.sources.tcp import SocketSource
from ghcm.spg.connectors import Connector, Files, Generate, Kafka, Memory, Socket, SourceConnector, SqlQuery, Table
from ghcm.types import Struct


def open_source(
    connector: Connector, schema: Struct, name: str, connections: Connections, piece: int = FIRST_PIECE
) -> Source:
    """The source of a task of this name; `piece`: bytes of a file that are read first. GhcmError if it is no source, or
    there is no Kafka.
    """
    base = connections.base
    if not isinstance(connector, SourceConnector):
        raise GhcmError(f'source "{name}" cannot be read: it is a sink', code="GHCM-301")
    match connector:
        case Files(tail=True):
            return TailSource(connector, schema, name, base)
        case Files(follow=True):
            return FollowSource(connector, schema, name, base, piece)
        case Files():
            return FilesSource(connector, schema, name, base, piece)
        case Table():
            from ghcm.runtime.sources.table import TableSource

            return TableSource(connector, schema, name, base)
        case Socket():
            return SocketSource(connector, schema, name)
        case Memory(rows=rows):
            return RowsSource(lambda: rows, schema, name)
        case Generate():
            return GenerateSource(connector, schema, name)
        case SqlQuery():
            from ghcm.runtime.sources.sql import SqlSource

            return SqlSource(connector, schema, name, connections.database(connector.connection), connections.patience)
        case Kafka():
            from ghcm.runtime.sources.kafka.source import KafkaSource

            return KafkaSource(connector, schema, name, connections.kafka, connections.patience)
        case _:
            assert_never(connector)
