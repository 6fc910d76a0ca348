"""A worker of the Kafka of its environment that takes instructions and never ends one, to be killed: TOPIC CONSUMER
LEASE.
"""

import sys
import time

from ghcm.runtime.pubsub.kafka_cache import KafkaCache
from ghcm.runtime.pubsub.kafka_connection import Brokers
from ghcm.runtime.settings import load_settings

if __name__ == "__main__":
    topic, consumer, lease = sys.argv[1:]
    cache = KafkaCache(Brokers(load_settings().kafka, 30.0), topic, "p", consumer, lease=float(lease))
    while True:
        delivery = cache.receive("u", 60)
        print(delivery.instruction.id if delivery else "nothing", flush=True)
        time.sleep(0.01)
