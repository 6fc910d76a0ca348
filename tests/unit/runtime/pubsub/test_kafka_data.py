"""Which errors of Kafka's client may pass, and what users are told of them."""

from confluent_kafka import KafkaError

from ghcm.runtime.pubsub.kafka_connection import Kafka
from ghcm.runtime.pubsub.kafka_data import explained, heals, passes

CUT = "GroupCoordinator: SASL PLAIN mechanism handshake failed: Local: Broker transport failure"
REFUSED = "SASL authentication error: Authentication failed: Invalid username or password"


def test_a_connection_that_is_cut_while_the_user_is_told_is_no_refusal() -> None:
    settings = Kafka(bootstrap="127.0.0.1:9")
    cut, refused = (KafkaError(KafkaError._AUTHENTICATION, why) for why in (CUT, REFUSED))
    assert passes(cut)
    assert heals(cut)
    assert "ends the connection of this user" not in explained(settings, cut, "words").message
    assert not passes(refused)
    assert "ends the connection of this user" in explained(settings, refused, "words").message
