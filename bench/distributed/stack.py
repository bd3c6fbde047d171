"""The servers and processes whose cost is measured: Redis, Kafka, PostgreSQL, nodes and workers, all on this machine.

It stands on what the tests start (e2e/services, e2e/distributed), with two differences that only matter to a clock: the
broker's Java may compile as well as it can, and PostgreSQL remembers when each row was committed.
"""

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from urllib.request import ProxyHandler, build_opener

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
for neighbour in ("services", "distributed"):
    sys.path.insert(0, str(ROOT / "e2e" / neighbour))

import servers as service_kinds  # noqa: E402
from cluster import PARTITIONS, TOPIC, Cluster, Node, WorkerNode, create_topic  # noqa: E402,F401
from process import free_port  # noqa: E402,F401
from services import Services, skip_reason  # noqa: E402
from shop import BINARY, PURCHASE, Shop, expect, plain_environment, request_bytes  # noqa: E402,F401

STORES = ["redis", "kafka", "postgres"]
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
SAMPLE_EVERY_S = 0.02
fetch = build_opener(ProxyHandler({})).open


class Skipped(Exception):
    """This row cannot be taken here, and why."""


class BenchKafka(service_kinds.Kafka):
    """The broker as a shop would run it: 512 MiB, all of the compiler."""

    def _java(self, *arguments):
        if arguments[0] != "kafka.Kafka":
            return super()._java(*arguments)
        return ["java", "-server", "-Xms512m", "-Xmx512m", "-XX:+UseParallelGC", "-XX:ParallelGCThreads=2",
                "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", os.path.join(self.jars, "*"), *arguments]


class BenchPostgres(service_kinds.Postgres):
    def _process(self, name, command, **options):
        settings = ["-c", "track_commit_timestamp=on", "-c", "shared_buffers=256MB", "-c", "max_wal_size=4GB"]
        return super()._process(name, [*command, *settings], **options)


service_kinds.KINDS.update(kafka=BenchKafka, postgres=BenchPostgres)


def need_stores() -> None:
    reason = skip_reason(STORES)
    if reason:
        raise Skipped(f"{reason} (./dev install services)")


# CPU time.

def _stat(pid: int) -> tuple[float, float]:
    """Seconds of CPU of a process with all its threads, and of its children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S, (int(fields[13]) + int(fields[14])) / TICKS_PER_S


def children(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            found += map(int, (task / "children").read_text().split())
        except OSError:
            continue  # The thread has ended.
    return found


def cpu_s(pid: int) -> float:
    """User and system time of a process, its living children and those that it has buried."""
    own, dead = _stat(pid)
    alive = 0.0
    for child in children(pid):
        try:
            alive += _stat(child)[0]
        except OSError:
            continue  # It has ended meanwhile.
    return own + dead + alive


def cpu_of(roles: dict[str, list[int]]) -> dict[str, float]:
    return {role: sum(cpu_s(pid) for pid in pids) for role, pids in roles.items()}


def difference(after: dict[str, float], before: dict[str, float]) -> dict[str, float]:
    return {role: after[role] - before[role] for role in before}


def shares(used: dict[str, float], per: float = 1.0, digits: int = 2) -> str:
    """`api 1.20, redis 0.31`."""
    return ", ".join(f"{role} {value / per:.{digits}f}" for role, value in used.items())


class Sampler:
    """Reads the CPU time of some processes all the time, so that it can be known for moments that are found later."""

    def __init__(self, roles):
        self.roles = roles  # Called each time: processes come.
        self.samples = []
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self._run)

    def _run(self):
        while not self.is_over.wait(SAMPLE_EVERY_S):
            try:
                self.samples.append((time.time(), cpu_of(self.roles())))
            except OSError:
                continue  # One of them has just ended: the sample before it stands.

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        self.thread.join()

    def between(self, begin: float, end: float) -> dict[str, float]:
        """Used between two moments of the wall clock; roles that were not there at the beginning count from nothing."""
        before = [used for at, used in self.samples if at <= begin]
        after = [used for at, used in self.samples if at >= end] or [self.samples[-1][1]]
        first = before[-1] if before else {}
        return {role: value - first.get(role, 0.0) for role, value in after[0].items()}


# The stores.

def store_pids(services: Services) -> dict[str, list[int]]:
    return {name: [services[name].processes[0].identity[0]] for name in STORES}


class Sql:
    """Questions to the ledger's PostgreSQL."""

    def __init__(self, dsn: str):
        self.dsn = dsn

    def ask(self, text: str) -> str:
        done = subprocess.run(["psql", self.dsn, "-AtqX", "-c", text], capture_output=True, text=True, timeout=60,
                              check=False)
        if done.returncode != 0:
            raise RuntimeError(f"psql: {done.stderr}")
        return done.stdout.strip()

    def number(self, text: str) -> float:
        return float(self.ask(text) or "nan")

    def first_and_last_commit(self, which: str) -> tuple[float, float]:
        """When the first and the last of these orders were committed, by the wall clock."""
        text = self.ask("SELECT extract(epoch FROM min(at)), extract(epoch FROM max(at)) FROM "
                        f"(SELECT pg_xact_commit_timestamp(xmin) AS at FROM flash_sale_order {which}) AS commits")
        first, last = text.split("|")
        return float(first), float(last)


class Stack(Cluster):
    """A cluster of the tests, without rate limits, whose processes can be told apart by what they do."""

    def __init__(self, nodes: int, workers: int, *settings: str):
        self.more_settings = list(settings)
        super().__init__("redis", nodes, workers)
        self.sql = Sql(self.env["WEIR_POSTGRES_DSN"])

    def _start(self, nodes, workers):
        super()._start(0, 0)
        self.workers = [WorkerNode(self) for _ in range(workers)]
        node_settings = [*self.settings, *self.more_settings]
        common, self.settings = self.settings, node_settings
        self.nodes = [Node(self) for _ in range(nodes)]
        self.settings = common
        for process in (*self.workers, *self.nodes):
            process.start()

    def roles(self) -> dict[str, list[int]]:
        own = {"api": [node.process.pid for node in self.nodes if node.process],
               "worker": [worker.process.pid for worker in self.workers if worker.process]}
        return {**own, **store_pids(self.services)}

    def cpu(self) -> dict[str, float]:
        return cpu_of(self.roles())

    def stop_workers(self) -> None:
        for worker in self.workers:
            worker.stop()


def wait_for(condition, seconds: float, what: str) -> None:
    """Asks now and then, so seldom that it costs nothing beside what is measured."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError(f"{what}: not within {seconds:g} s")
        time.sleep(0.2)


def weir(*words, environment=None, seconds: float = 120, codes=(0,)) -> str:
    done = subprocess.run([BINARY, *map(str, words)], capture_output=True, text=True, timeout=seconds,
                          env={**plain_environment(), **(environment or {})}, check=False)
    if done.returncode not in codes:
        raise RuntimeError(f"weir {words[0]} ended with {done.returncode}: {done.stderr[-1500:]}{done.stdout[-300:]}")
    return done.stdout


def last_json(text: str) -> dict:
    return json.loads(text.strip().splitlines()[-1])


def program(name: str) -> Path:
    """A program of the build that is measured. Not all are made by default, so it is asked for."""
    build = Path(os.environ["WEIR_BENCH_BUILD"])
    done = subprocess.run(["ninja", "-C", str(build), name], capture_output=True, text=True, timeout=900, check=False)
    if done.returncode != 0:
        raise Skipped(f"{name} cannot be built: {(done.stdout + done.stderr)[-400:]}")
    return next(path for path in build.rglob(name) if path.is_file() and os.access(path, os.X_OK))


def press(port: int, tokens: Path, seconds: int, connections: int = 64, depth: int = 1) -> dict:
    """wrk presses on `i0` in a closed loop with the tokens of a file in turn; how many were answered and how."""
    done = subprocess.run(
        ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "10s", "-s", str(HERE.parent / "purchase.lua"),
         f"http://127.0.0.1:{port}/"], capture_output=True, text=True, timeout=seconds + 60, check=True,
        env={**os.environ, "TOKENS": str(tokens), "DEPTH": str(depth), "ITEMS": "1"})
    return json.loads(next(line[7:] for line in done.stdout.splitlines() if line.startswith("RESULT ")))
