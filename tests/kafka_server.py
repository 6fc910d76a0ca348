"""The real Kafka of the tests: development services in one folder for the whole session, shared by its workers."""

import os
import shutil
import tempfile
from functools import cache
from pathlib import Path

from ghcm.runtime.pubsub.kafka_connection import Brokers, Kafka
from ghcm.runtime.pubsub.services import service_addresses, start_services, stop_services

_FOLDER = "PYTEST_SERVICES"


def quiet(step: str) -> None:
    """Hears the steps of services that start."""


def name_folder() -> bool:
    """Choose the folder that workers of this session will find; whether this process is the one that has."""
    if _FOLDER in os.environ:
        return False
    os.environ[_FOLDER] = tempfile.mkdtemp(prefix="ghcm-services-")
    return True


def services_folder() -> Path:
    """The folder of the session's services, which run."""
    folder = Path(os.environ[_FOLDER])
    _start(folder)
    return folder


def kafka() -> Kafka:
    """The settings of the session's Kafka, which runs."""
    return Kafka(bootstrap=service_addresses(services_folder())[0])


@cache
def brokers() -> Brokers:
    """A connection to it that the tests of a process share."""
    return Brokers(kafka(), 30.0)


def end_services() -> None:
    """End the session's services, if a test asked for them; for who has named the folder."""
    folder = Path(os.environ.pop(_FOLDER))
    stop_services(folder, quiet)
    shutil.rmtree(folder, ignore_errors=True)


@cache
def _start(folder: Path) -> None:
    start_services(folder, quiet)
