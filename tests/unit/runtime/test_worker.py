"""What a worker tries again."""

import pytest
from kafka.errors import KafkaTimeoutError, TopicAuthorizationFailedError

from ghcm.errors import GhcmError
from ghcm.runtime.pubsub.kafka_connection import Brokers, Kafka
from ghcm.runtime.worker import may_pass


@pytest.mark.parametrize(("error", "passes"), [(KafkaTimeoutError(), True), (TopicAuthorizationFailedError(), False)])
def test_brokers_that_are_away_may_come_back(error: Exception, passes: bool) -> None:
    with pytest.raises(GhcmError) as told, Brokers(Kafka(bootstrap="a:1"), 1.0).told():
        raise error
    assert may_pass(told.value) is passes
