"""A shop of several processes: nodes and workers of the real program on a real Redis, Kafka and PostgreSQL.

What stands in every test here: `Cluster` starts servers and processes and leaves nothing behind; `Buyer` presses until
he is told something final, as a shop's page does; `ledger` asks the record itself. Every wait has a deadline.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
for neighbour in ("api", "services"):
    sys.path.insert(0, os.path.join(os.path.dirname(HERE), neighbour))

from order_log import OrderLog, create_topic  # noqa: E402,F401
from services import Services, skip_reason  # noqa: E402
from shop import BINARY, ORDER, Connection, Shop, expect, plain_environment, run_weir, until  # noqa: E402,F401

TOPIC = "flash-sale-orders"
PARTITIONS = 4
START_WAIT_S = 30.0
PRESS_WAIT_S = 40.0  # A buyer who presses again and again is told something final by then.
OPEN_WAIT_S = 30.0   # A sale can be bought from by then, whatever happened to its gate.


class Node(Shop):
    """`weir api`: a front door with a folder of its own, and the keys of the cluster."""

    def __init__(self, cluster, number=0):
        keys = ["--auth.hs256_secret_file", cluster.key_file, "--payment.sandbox_secret_file", cluster.sandbox_file]
        settings, env = cluster.outfit("node", number)
        super().__init__([*settings, *keys], env=env)
        self.key_file = cluster.key_file

    def spawn(self):
        self.starts += 1
        with open(os.path.join(self.folder, "server.out"), "wb") as output, open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                [BINARY, "api", "--data", self.data, "--http.listen", f"127.0.0.1:{self.port}", "--ops.listen",
                 "127.0.0.1:0", *self.settings], stdout=output, stderr=log, env={**plain_environment(), **self.env})

    def wait_until_serving(self, seconds=START_WAIT_S):
        os.makedirs(self.data, exist_ok=True)
        link = os.path.join(self.data, "auth.secret")
        if not os.path.lexists(link):
            os.symlink(self.key_file, link)
        return super().wait_until_serving(seconds)


class WorkerNode:
    """`weir worker`."""

    def __init__(self, cluster, number=0):
        self.folder = tempfile.mkdtemp(prefix="weir-worker-")
        self.settings, self.env = cluster.outfit("worker", number)
        self.log_path = os.path.join(self.folder, "worker.log")
        self.process = None
        self.ops_port = 0

    def start(self):
        path = os.path.join(self.folder, "worker.out")
        with open(path, "wb") as output, open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                [BINARY, "worker", "--data", self.folder, "--ops.listen", "127.0.0.1:0", *self.settings],
                stdout=output, stderr=log, env={**plain_environment(), **self.env})

        def port():
            if self.process.poll() is not None:
                raise AssertionError(f"the worker ended with {self.process.returncode}: {self.log()[-2000:]}")
            with open(path, encoding="utf-8") as file:
                words = file.read().split()
            return int(words[-1]) if words else 0
        self.ops_port = until(port, START_WAIT_S, "the worker's start")
        return self

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def is_ready(self):
        with Connection(self.ops_port) as connection:
            return connection.ask("GET", "/readyz").status == 200

    def metric(self, name):
        with Connection(self.ops_port) as connection:
            text = connection.ask("GET", "/metrics").body.decode()
        return float(next(line for line in text.splitlines() if line.startswith(name + " ")).split()[1])

    def stop(self, seconds=15.0):
        """Asks it to end, gives its exit code and how long that took."""
        begin = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(seconds)
        self.process = None
        return code, time.monotonic() - begin

    def kill(self):
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait(10)
        self.process = None

    def close(self):
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


class Cluster:
    """Servers, and on them nodes and workers.

    `tailor(cluster, role, number)` gives the settings and the environment in which the node or worker of that number
    differs from the others; what it makes for them and must end goes into `helpers`.
    """

    def __init__(self, redis="redis", nodes=2, workers=2, tailor=None):
        self.redis_kind = redis
        self.tailor = tailor
        self.helpers = []
        self.folder = tempfile.mkdtemp(prefix="weir-cluster-")
        self.nodes, self.workers = [], []
        self.services = None
        try:
            self._start(nodes, workers)
        except BaseException:
            self.close()
            raise

    def _start(self, nodes, workers):
        self.services = Services([self.redis_kind, "kafka", "postgres"])
        self.log = OrderLog(self.services["kafka"].port, TOPIC, PARTITIONS)
        self.letters = OrderLog(self.services["kafka"].port, TOPIC + ".dlq", 1)
        self.log.create()
        self.letters.create()
        found = self.services.environment()
        redis = found.get("WEIR_TEST_REDIS_CLUSTER") or found["WEIR_TEST_REDIS"]
        self.key_file = self._secret("auth.secret")
        self.sandbox_file = self._secret("sandbox.secret")
        self.env = {"WEIR_POSTGRES_DSN": found["WEIR_TEST_POSTGRES"]}
        self.settings = ["--gate", "redis", "--queue", "kafka", "--ledger", "postgres", "--redis.nodes", redis,
                         "--kafka.brokers", found["WEIR_TEST_KAFKA"]]
        done = self.cli("migrate")
        if done.returncode != 0:
            raise AssertionError(f"migrate ended with {done.returncode}: {done.stderr}")
        self.workers = [WorkerNode(self, number) for number in range(workers)]
        self.nodes = [Node(self, number) for number in range(nodes)]
        for process in (*self.workers, *self.nodes):
            process.start()

    def outfit(self, role, number):
        """The settings and the environment of a process."""
        settings, env = self.tailor(self, role, number) if self.tailor else ({}, {})
        stores = dict(zip(self.settings[::2], self.settings[1::2]))
        return [word for pair in {**stores, **settings}.items() for word in pair], {**self.env, **env}

    def _secret(self, name):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="ascii") as file:
            file.write(os.urandom(32).hex())
        os.chmod(path, 0o600)
        return path

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        for process in (*self.nodes, *self.workers):
            process.close()
        for helper in self.helpers:
            helper.close()
        if self.services is not None:
            self.services.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    # The record.

    def cli(self, *arguments):
        return run_weir(*arguments, "--data", self.folder, *self.settings, env=self.env, timeout=60)

    def audit(self):
        """The audit's answer; fails unless every invariant holds."""
        done = self.cli("audit", "--json")
        if done.returncode != 0:
            raise AssertionError(f"audit ended with {done.returncode}: {done.stdout} {done.stderr}")
        return json.loads(done.stdout)

    def in_ledger(self, item):
        """(total, free, held, sold) as the ledger has them; they are whole in every audit."""
        found = next(seen for seen in self.audit()["items"] if seen["itemId"] == item)
        return found["total"], found["free"], found["held"], found["sold"]

    # Sales.

    def make_sale(self, name, units, limit=1, pay_within="10m", node=0):
        self.nodes[node].make_sale(name, units=units, limit=limit, pay_within=pay_within)
        for door in self.nodes:
            self.wait_until_sold_from(door, name)

    def wait_until_sold_from(self, node, item, seconds=OPEN_WAIT_S):
        """Waits until a claim at this node is answered from the gate: one for more than any buyer may have."""

        def is_answered():
            try:
                answer = node.buy(item, f"nobody-{random.getrandbits(48):x}", quantity=1000)
            except OSError:
                return False
            return answer if answer.status in (409, 410) else None
        return until(is_answered, seconds, f"item {item} being sold by a node")

    def rush(self, item, buyers, press=None, patience_s=PRESS_WAIT_S):
        """Lets every buyer press at once, on nodes in turn, until each has heard something final."""
        crowd = [Buyer(self, item, name, number) for number, name in enumerate(buyers)]
        for buyer in crowd:
            buyer.patience_s = patience_s
        return run_all(crowd, press)

    def metric(self, name, role="workers"):
        """The sum over all workers or nodes."""
        return sum(process.metric(name) for process in getattr(self, role))


class Buyer:
    """Presses with one key until the answer is final, each time at the next node."""

    def __init__(self, cluster, item, name, first_node=0, quantity=None):
        self.cluster = cluster
        self.item = item
        self.name = name
        self.at = first_node
        self.quantity = quantity
        self.patience_s = PRESS_WAIT_S
        self.answer = None
        self.presses = 0
        self.key = f"key-{random.getrandbits(64):x}"

    def run(self):
        deadline = time.monotonic() + self.patience_s
        while time.monotonic() < deadline:
            node = self.cluster.nodes[self.at % len(self.cluster.nodes)]
            self.at += 1
            self.presses += 1
            try:
                answer = node.buy(self.item, self.name, quantity=self.quantity, key=self.key)
            except (OSError, ConnectionError):
                time.sleep(0.05)  # That node is away for now.
                continue
            if answer.status not in (503, 429, 500):
                self.answer = answer
                return
            time.sleep(0.1)

    def code(self):
        return "no answer" if self.answer is None else self.answer.code() or self.answer.status

    def order(self):
        return self.answer.json()["orderId"] if self.answer is not None and self.answer.status == 202 else None


def run_all(crowd, during=None, threads=32):
    """Runs all buyers on some threads; `during` runs meanwhile on this one, and hears how many are through."""
    waiting = list(reversed(crowd))
    lock = threading.Lock()
    through = []

    def work():
        while True:
            with lock:
                if not waiting:
                    return
                buyer = waiting.pop()
            buyer.run()
            through.append(buyer)
    pool = [threading.Thread(target=work) for _ in range(threads)]
    for thread in pool:
        thread.start()
    try:
        if during:
            during(lambda: len(through))
    finally:
        for thread in pool:
            thread.join(2 * max(buyer.patience_s for buyer in crowd))
    return crowd


def tally(crowd):
    """How many buyers were told what: the status, or the code of a refusal."""
    found = {}
    for buyer in crowd:
        found[buyer.code()] = found.get(buyer.code(), 0) + 1
    return found


class DistributedTest(unittest.TestCase):
    """One cluster a class; every test ends with a whole audit."""

    redis = "redis"
    nodes = 2
    workers = 2
    tailor = None

    @classmethod
    def setUpClass(cls):
        reason = skip_reason([cls.redis, "kafka", "postgres"])
        if reason:
            print(f"SKIPPED: {cls.__name__}: {reason}", flush=True)
            raise unittest.SkipTest(reason)
        cls.cluster = Cluster(cls.redis, cls.nodes, cls.workers, cls.tailor)

    @classmethod
    def tearDownClass(cls):
        cls.cluster.close()

    def check_orders(self, crowd):
        """Every order that was promised is found by its buyer at every node, and all of them are in the ledger."""
        winners = [buyer for buyer in crowd if buyer.order()]
        self.assertEqual(len({buyer.order() for buyer in winners}), len(winners), "an order was promised twice")
        for number, buyer in enumerate(winners):
            node = self.cluster.nodes[number % len(self.cluster.nodes)]

            def is_found(at=node, who=buyer):
                answer = at.order(who.order(), who.name)
                if answer.status == 503:
                    return None  # It cannot be known now.
                return expect(answer, 200).json()
            found = until(is_found, 20.0, f"the order of {buyer.name}")
            self.assertEqual(found["status"], "PENDING", found)
        return winners

    def check_whole(self, item, total, crowd):
        """No unit sold twice, none lost: the ledger, the gate and what buyers were told agree."""
        winners = self.check_orders(crowd)
        until(lambda: self.cluster.in_ledger(item)[2] >= len(winners), 20.0, "the ledger having every promise")
        counts = self.cluster.in_ledger(item)
        self.assertEqual((counts[0], counts[2], counts[3]), (total, len(winners), 0))

        def agree():
            # A node that has just come back knows the counts a moment later.
            return all(node.counts(item) == counts for node in self.cluster.nodes)
        until(agree, 10.0, f"every node showing {counts}")
        self.cluster.audit()
        return winners


def main():
    if not os.access(BINARY, os.X_OK):
        sys.exit(f"{BINARY} cannot be run: ./dev build, or name a program in WEIR_BINARY")
    unittest.main(verbosity=2)
