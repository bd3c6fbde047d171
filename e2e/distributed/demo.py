#!/usr/bin/env python3
"""Runs `weir demo --distributed` on servers of its own: `./dev demo --distributed`. Exit code: the demonstration's."""

import os
import signal
import subprocess
import sys

from cluster import BINARY, PARTITIONS, TOPIC, Services, create_topic, plain_environment, skip_reason

SERVERS = ["redis", "kafka", "postgres"]


def leave(number, _):
    raise SystemExit(128 + number)


def main(arguments):
    reason = skip_reason(SERVERS)
    if reason:
        print(f"demo: {reason} (./dev install services)", file=sys.stderr)
        return 3
    signal.signal(signal.SIGTERM, leave)
    with Services(SERVERS) as services:
        for topic, partitions in ((TOPIC, PARTITIONS), (TOPIC + ".dlq", 1)):
            create_topic(services["kafka"].port, topic, partitions)
        found = services.environment()
        stores = {"WEIR_GATE": "redis", "WEIR_QUEUE": "kafka", "WEIR_LEDGER": "postgres",
                  "WEIR_REDIS_NODES": found["WEIR_TEST_REDIS"], "WEIR_KAFKA_BROKERS": found["WEIR_TEST_KAFKA"],
                  "WEIR_POSTGRES_DSN": found["WEIR_TEST_POSTGRES"]}
        child = subprocess.Popen([BINARY, "demo", "--distributed", *arguments], env={**plain_environment(), **stores})
        try:
            return child.wait()
        except KeyboardInterrupt:
            return child.wait(20)
        finally:
            if child.poll() is None:
                child.terminate()
                child.wait(20)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    sys.exit(main([argument for argument in sys.argv[1:] if argument != "--distributed"]))
