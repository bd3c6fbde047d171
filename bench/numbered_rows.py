"""Figures of numbered stock: what a pick costs at any fill, and a raffle that is sold to its last number over HTTP."""

import http.client
import json
import multiprocessing
import random
import time
from pathlib import Path
from statistics import median

from figures import Effort, Row
from machine import Folder, Process, free_port, percentile, run
from servers import Shop, issue_tokens, program, weir

CLIENTS = 4
NAMED_AT_ONCE = 20
RANDOM_AT_ONCE = 100
PAGE = 65_536
TAKEN_TRIES_MAX = 5


def bench_times(pattern: str) -> dict[str, dict]:
    out = run([program("bench/numbers_bench"), f"--benchmark_filter={pattern}", "--benchmark_format=json"], 300)
    return {row["name"]: row for row in json.loads(out)["benchmarks"]}


def picks() -> list[Row]:
    seen = bench_times("take_random|take_named")

    def nanoseconds(numbers: int, free: int, at_once: int) -> float:
        return seen[f"take_random/numbers:{numbers}/free:{free}/at_once:{at_once}"]["cpu_time"]
    most = nanoseconds(10_000_000, 100_000, 1)
    last = nanoseconds(10_000_000, 100, 1)
    ten = nanoseconds(10_000_000, 100_000, 10)
    small = nanoseconds(10_000, 100, 1)
    size = seen["take_random/numbers:10000000/free:100000/at_once:1"]["bytes"]
    return [Row("a random number and its return, 10,000,000 at 99 % taken", f"{most:.0f} ns", "nanoseconds", most,
                250, 100, True),
            Row("the same at 99.999 % taken", f"{last:.0f} ns", f"at 99 % {most:.0f} ns", last / most, 1.5, 1.5, True),
            Row("ten random numbers at once", f"{ten:.0f} ns", f"one {most:.0f} ns", ten / most, 8, 8, True),
            Row("a random number, 10,000 → 10,000,000 numbers at 99 % taken", f"{most:.0f} ns", f"{small:.0f} ns",
                most / small, 3, 3, True),
            Row("memory of 10,000,000 numbers", f"{size / 1e6:.2f} MB", "megabytes", size / 1e6, 1.5, 1.5, True)]


class FreeSet(Process):
    """A Redis with a set of free numbers, as raffles on Redis are built."""

    def __init__(self, folder: Path, numbers: int):
        self.port, self.numbers = free_port(), numbers
        super().__init__(["redis-server", "--port", self.port, "--bind", "127.0.0.1", "--dir", folder, "--save", "",
                          "--appendonly", "no"], folder / "redis.log")

    def command(self, *words) -> str:
        return run(["redis-cli", "-p", self.port, *words], 60).strip()

    def __enter__(self):
        self.wait_for_port(self.port)
        script = ("for i = ARGV[1], ARGV[2] do redis.call('SADD', KEYS[1], i) end")
        for first in range(1, self.numbers + 1, 100_000):
            self.command("EVAL", script, 1, "free", first, min(first + 99_999, self.numbers))
        return self

    def pop_ns(self, count: int) -> float:
        before = self.cpu_s()
        run(["redis-benchmark", "-p", self.port, "-c", "16", "-P", "64", "-n", count, "-q", "SPOP", "free"], 120)
        return (self.cpu_s() - before) / count * 1e9


def spop(work: Effort) -> list[Row]:
    numbers = 100_000 if work.is_quick else 1_000_000
    with Folder() as folder, FreeSet(folder, numbers) as redis:
        bytes_used = int(redis.command("MEMORY", "USAGE", "free", "SAMPLES", "0"))
        theirs = redis.pop_ns(numbers // 2)
    seen = bench_times("take_random/numbers:1000000/free:10000/at_once:1$")
    row = next(iter(seen.values()))
    ours, size = row["cpu_time"], row["bytes"] * numbers / 1_000_000
    return [Row("a random number of 1,000,000, in the gate", f"{ours:.0f} ns", f"SPOP, 64 pipelined, {theirs:.0f} ns",
                ours / theirs, None, None, True),
            Row(f"memory of {numbers:,} free numbers", f"{size / 1e6:.2f} MB", f"Redis set {bytes_used / 1e6:.1f} MB",
                size / bytes_used, None, None, True)]


def buy_until_sold_out(port: int, tokens: list[str], numbers: int, seed: int, out) -> None:
    """One client: orders of random numbers and of named ones in turn; a token an order. Tells time, fill and outcome."""
    chance = random.Random(seed)
    server = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    seen = []
    got = refused = 0

    def ask(method: str, path: str, token: str = "", body: dict | None = None):
        begin = time.perf_counter()
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"} if token else {}
        server.request(method, path, None if body is None else json.dumps(body), headers)
        answer = server.getresponse()
        content = answer.read()
        return answer.status, content, (time.perf_counter() - begin) * 1000

    def named_wish() -> list[int]:
        page = chance.randrange((numbers + PAGE - 1) // PAGE)
        _, bits, _ = ask("GET", f"/api/flash-sales/items/raffle/numbers?page={page}")
        free = [page * PAGE + at * 8 + bit + 1 for at, byte in enumerate(bits) if byte for bit in range(8)
                if byte & 0x80 >> bit]
        return sorted(chance.sample(free, min(NAMED_AT_ONCE, len(free))))

    for turn, token in enumerate(tokens):
        at_once = RANDOM_AT_ONCE
        for _ in range(TAKEN_TRIES_MAX + 8):
            named = named_wish() if turn % 2 == 0 else []
            body = {"numbers": named} if named else {"random": at_once}
            status, content, taken_ms = ask("POST", "/api/flash-sales/items/raffle/purchase", token, body)
            if status == 202:
                mine = json.loads(content)["numbers"]
                got += len(mine)
                seen.append((time.monotonic(), len(mine), "named" if named else "random", taken_ms, mine))
                break
            refused += 1
            if status == 410 and not named:
                if at_once == 1:
                    return out.put((seen, got, refused))
                at_once //= 2  # The rest of the item is smaller than the wish.
            elif status not in (409, 410):
                raise RuntimeError(f"{status} {content!r}")
    out.put((seen, got, refused))


def raffle(work: Effort) -> list[Row]:
    numbers = 50_000 if work.is_quick else 1_000_000
    orders = numbers // 40
    with Folder() as folder:
        data = folder / "shop"
        weir("sale", "create", "--id", "s", "--title", "Bench", "--opens-at", "now", "--closes-at", "+2h",
             "--limit-per-buyer", "1000", "--data", data)
        begin = time.monotonic()
        weir("item", "add", "--sale", "s", "--id", "raffle", "--price", "100", "--numbers", f"1-{numbers}", "--data",
             data)
        made_s = time.monotonic() - begin
        tokens = issue_tokens(data, orders).read_text().split()
        with Shop(data) as shop:
            out = multiprocessing.Queue()
            clients = [multiprocessing.Process(target=buy_until_sold_out,
                                               args=(shop.port, tokens[at::CLIENTS], numbers, at, out))
                       for at in range(CLIENTS)]
            before, begin = shop.cpu_s(), time.monotonic()
            for client in clients:
                client.start()
            answers = [out.get(timeout=500) for _ in clients]
            for client in clients:
                client.join(10)
            seconds, cpu_s = time.monotonic() - begin, shop.cpu_s() - before
        audit = json.loads(weir("audit", "--json", "--data", data).splitlines()[-1])
    sold = sorted((row for seen, _, _ in answers for row in seen), key=lambda row: row[0])
    owned = [number for row in sold for number in row[4]]
    if len(owned) != numbers or len(set(owned)) != numbers or not audit["ok"]:
        raise RuntimeError(f"{len(owned)} sold, {len(set(owned))} different, of {numbers}; audit {audit['ok']}")
    filled, early, late = 0, [], []
    for _, count, kind, taken_ms, _ in sold:
        filled += count
        if kind == "random" and count == RANDOM_AT_ONCE:
            (early if filled < numbers / 2 else late if filled > 0.9 * numbers else []).append(taken_ms)
    refused = sum(row[2] for row in answers)
    rows = [Row(f"an item of {numbers:,} numbers is made", f"{made_s * 1000:.0f} ms", "milliseconds", made_s * 1000,
                1000, 1000, True),
            Row(f"{numbers:,} numbers sold to the last, {len(sold):,} orders by name and at random, {CLIENTS} clients",
                f"{seconds:.1f} s, {cpu_s:.1f} CPU-s, {refused:,} refusals, audit ok",
                f"{cpu_s / numbers * 1e6:.1f} CPU-µs a number")]
    if early and late:
        rows.append(Row(f"an order of {RANDOM_AT_ONCE} random numbers, median over the last tenth of the item",
                        f"{median(late):.2f} ms", f"first half {median(early):.2f} ms, p99 {percentile(late, 0.99):.2f} "
                        f"against {percentile(early, 0.99):.2f} ms", median(late) / median(early), 1.5, 1.5, True))
    return rows


def numbered(work: Effort) -> list[Row]:
    return picks() + spop(work) + raffle(work)


FIGURES = {"numbered": numbered}
