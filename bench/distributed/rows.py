"""One function for each row of several machines: it measures, and yields rows as bench.py prints them."""

import os
import re
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from statistics import median

import classic
from stack import (BINARY, PARTITIONS, PURCHASE, STORES, TOPIC, Sampler, Services, Shop, Skipped, Sql, Stack, children,
                   cpu_of, create_topic, difference, expect, last_json, need_stores, plain_environment, press, program,
                   request_bytes, shares, store_pids, wait_for, weir)

CROWD = 200  # Tokens in rotation where the same buyers are refused again and again.
TRIAL_BUYERS, TRIAL_UNITS, TRIALS_AT_ONCE = 1000, 100, 20
PRESS_THREADS = 16
FINAL_WITHIN_S = 30.0
CLASSIC_CPU_S = 4.65  # The classic stack's whole sale to 30,000 buyers, as its own page says.


def row(figure: str, ours: str, against: str = "", ratio: float | None = None, gate: float | None = None,
        aim: float | None = None, is_less_better: bool = False) -> dict:
    return {"figure": figure, "ours": ours, "against": against, "ratio": ratio, "gate": gate, "aim": aim,
            "is_less_better": is_less_better}


# (a) Exactness under contention.

def press_all(nodes, item: str, tokens: list[str]) -> list[tuple[int, bytes]]:
    """Every buyer presses until he hears something final, each time at the next node; the final answers."""
    waiting, answers, lock = list(range(len(tokens))), [], threading.Lock()

    def buy() -> None:
        connections = [node.connect(timeout=FINAL_WITHIN_S) for node in nodes]
        end = time.monotonic() + FINAL_WITHIN_S
        while time.monotonic() < end:
            with lock:
                if not waiting:
                    break
                buyer = waiting.pop()
            at = buyer
            answer = None
            while answer is None and time.monotonic() < end:
                connection = connections[at % len(connections)]
                connection.send(request_bytes("POST", PURCHASE.format(item), tokens[buyer],
                                              headers=[("Idempotency-Key", f"{item}-{buyer}")]))
                answer = connection.read("POST")
                if answer.status in (429, 500, 503):
                    answer, at = None, at + 1
                    time.sleep(0.02)
            if answer is not None:
                answers.append((answer.status, answer.body))
        for connection in connections:
            connection.close()
    threads = [threading.Thread(target=buy) for _ in range(PRESS_THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(FINAL_WITHIN_S * 2)
    return answers


def is_exact(stack: Stack, item: str, answers: list[tuple[int, bytes]]) -> bool:
    """As many 202 as there were units, all others sold out, and the ledger says the same."""
    orders = {re.search(rb'"orderId":"([^"]+)"', body)[1] for status, body in answers if status == 202}
    refused = sum(1 for status, body in answers if status == 410 and b"SOLD_OUT" in body)
    rows = (f"SELECT count(*), count(DISTINCT buyer) FROM flash_sale_order JOIN flash_sale_item USING (item_no) "
            f"WHERE flash_sale_item.id = '{item}' AND status = 0 AND held = {TRIAL_UNITS}")
    end = time.monotonic() + FINAL_WITHIN_S
    while (found := stack.sql.ask(rows)) != f"{TRIAL_UNITS}|{TRIAL_UNITS}" and time.monotonic() < end:
        time.sleep(0.05)
    return (len(answers), len(orders), refused, found) == (TRIAL_BUYERS, TRIAL_UNITS, TRIAL_BUYERS - TRIAL_UNITS,
                                                           f"{TRIAL_UNITS}|{TRIAL_UNITS}")


def contention(is_quick: bool):
    need_stores()
    trials = 4 if is_quick else 100
    exact, times = 0, []
    with Stack(2, 2) as stack:
        tokens = stack.nodes[0].tokens("buyer-", TRIAL_BUYERS)
        for first in range(0, trials, TRIALS_AT_ONCE):
            items = [f"trial{number}" for number in range(first, min(first + TRIALS_AT_ONCE, trials))]
            for item in items:
                stack.nodes[0].make_sale(item, units=TRIAL_UNITS)
            for item in items:
                for node in stack.nodes:
                    stack.wait_until_sold_from(node, item, 60)
            for item in items:
                begin = time.monotonic()
                answers = press_all(stack.nodes, item, tokens)
                times.append(time.monotonic() - begin)
                exact += is_exact(stack, item, answers)
        stack.audit()
    yield row(f"{TRIAL_BUYERS:,} buyers for {TRIAL_UNITS} units through two nodes, {trials} sales",
              f"{exact} of {trials} exact, {trials * TRIAL_UNITS:,} orders, audit whole, {median(times):.2f} s a sale",
              "sales that were not exact", trials - exact, 0, 0, True)


# (b) A whole sale.

class Demo:
    """`weir demo --distributed` on stores of the bench: two nodes, two workers and the crowd."""

    def __init__(self, services: Services, buyers: int, units: int, burst: str):
        found = services.environment()
        self.services = services
        self.sql = Sql(found["WEIR_TEST_POSTGRES"])
        environment = {"WEIR_GATE": "redis", "WEIR_QUEUE": "kafka", "WEIR_LEDGER": "postgres",
                       "WEIR_REDIS_NODES": found["WEIR_TEST_REDIS"], "WEIR_KAFKA_BROKERS": found["WEIR_TEST_KAFKA"],
                       "WEIR_POSTGRES_DSN": found["WEIR_TEST_POSTGRES"]}
        with tempfile.TemporaryDirectory(prefix="weir-bench-") as folder:
            self.process = subprocess.Popen(
                [BINARY, "demo", "--distributed", "--json", "--report", f"{folder}/demo.html", "--buyers", str(buyers),
                 "--units", str(units), "--burst", burst], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                env={**plain_environment(), **environment})
            try:
                with Sampler(self.roles) as self.sampler:
                    out, _ = self.process.communicate(timeout=100)
            finally:
                if self.process.poll() is None:
                    self.process.send_signal(signal.SIGTERM)
                    self.process.wait(20)
        self.report = last_json(out)
        newest = "WHERE sale_no = (SELECT max(sale_no) FROM flash_sale)"
        self.opened = self.sql.number(f"SELECT opens_at / 1e6 FROM flash_sale {newest}") + 0.02  # The crowd's margin.
        self.rows = int(self.sql.number(f"SELECT count(*) FROM flash_sale_order {newest}"))
        _, last = self.sql.first_and_last_commit(newest)
        self.last_row_ms = 1000 * (last - self.opened)
        self.last_202_ms = self.report["sellOutMs"] or float("nan")
        burst_ms = self.report["plan"]["burstMs"]
        end_ms = max(self.last_row_ms, self.last_202_ms, burst_ms + self.report["latencyMs"]["max"])
        self.cpu = self.sampler.between(self.opened, self.opened + end_ms / 1000)

    def roles(self) -> dict[str, list[int]]:
        own = {"api": [], "worker": []}
        for pid in children(self.process.pid):
            words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
            if len(words) > 1 and words[1] in own:
                own[words[1]].append(pid)
        return {**own, **store_pids(self.services)}

    def check(self, units: int) -> None:
        """Exact, whatever its latencies were: those are what is measured."""
        report = self.report
        facts = {"rows": self.rows, "winners": report["winners"], "units": units,
                 "duplicate winners": report["duplicateWinners"], "findings": report["findings"],
                 "audit": (report["audit"] or {}).get("ok")}
        if (self.rows, report["winners"], facts["duplicate winners"]) != (units, units, 0) or facts["findings"] or (
                not facts["audit"]):
            raise RuntimeError(f"the sale is not whole: {facts}")


def sale(is_quick: bool):
    need_stores()
    units, runs = (1000, 1) if is_quick else (10_000, 3)
    crowds = {20_000: "1s"} if is_quick else {200_000: "2s", 30_000: "100ms"}
    with Services(STORES) as services:
        for topic, partitions in ((TOPIC, PARTITIONS), (TOPIC + ".dlq", 1)):
            create_topic(services["kafka"].port, topic, partitions)
        Demo(services, 2 * units, units, "1s").check(units)  # The broker's Java compiles meanwhile.
        for buyers, burst in crowds.items():
            taken = []
            for _ in range(runs):
                taken.append(Demo(services, buyers, units, burst))
                taken[-1].check(units)
            yield from rows_of_sale(taken, units, buyers, burst)


def rows_of_sale(taken: list[Demo], units: int, buyers: int, burst: str):
    name = f"{units:,} units to {buyers:,} buyers in {burst}, two nodes, two workers"
    last_202, last_row = (median(getattr(run, field) for run in taken) for field in ("last_202_ms", "last_row_ms"))
    after = median(run.last_row_ms - run.last_202_ms for run in taken)
    yield row(f"{name}: first press to the last 202", f"{last_202:,.0f} ms",
              " ".join(f"{run.last_202_ms:,.0f}" for run in taken))
    yield row("the same: first press to the last row in PostgreSQL", f"{last_row:,.0f} ms, {max(0, after):,.0f} after",
              "milliseconds after the last 202", max(0.0, after), 1000, 150, True)
    middle = sorted(taken, key=lambda run: sum(run.cpu.values()))[len(taken) // 2]
    cpu_s = sum(middle.cpu.values())
    crowd_s = middle.report["client"]["cpuSeconds"]
    against = (f"classic stack {CLASSIC_CPU_S} CPU-s", cpu_s / CLASSIC_CPU_S, 0.5, 0.25) if buyers == 30_000 else (
        f"the crowd {crowd_s:.2f} CPU-s",)
    yield row("the same: CPU-seconds of all processes", f"{cpu_s:.2f} CPU-s: {shares(middle.cpu)}", *against,
              is_less_better=True)
    winners = median(run.report["winnersLatencyMs"]["p99"] for run in taken)
    everybody = median(run.report["latencyMs"]["p99"] for run in taken)
    yield row("the same: p99 of winners", f"{winners:,.0f} ms", f"all answers {everybody:,.0f} ms")
    outcomes = ", ".join(f"{count:,} {what}" for what, count in middle.report["outcomes"].items())
    yield row("the same: answers of one run", outcomes)


# (c) What a worker records.

def record(is_quick: bool):
    need_stores()
    tool = program("distributed_log")
    count = 20_000 if is_quick else 200_000
    with Stack(1, 1) as stack:
        stack.make_sale("i0", units=10_000_000)
        stack.stop_workers()
        stack.nodes[0].stop()
        stack.nodes.clear()
        found = stack.services.environment()
        environment = {**os.environ, "WEIR_POSTGRES_DSN": found["WEIR_TEST_POSTGRES"]}

        def log_tool(*words) -> dict:
            done = subprocess.run([tool, *map(str, words)], capture_output=True, text=True, timeout=150,
                                  env=environment, check=False)
            if done.returncode != 0:
                raise RuntimeError(f"distributed_log {words[0]}: {done.stderr[-800:]}")
            return last_json(done.stdout)

        def fill(claims: int) -> dict:
            return log_tool("fill", found["WEIR_TEST_KAFKA"], "i0", claims)

        # Tables that are not empty and a broker that has compiled, as in the middle of a sale.
        fill(count // 4)
        yield from record_by_worker(stack, fill, count // 4, is_warm_up=True)
        yield from record_by_worker(stack, fill, count)
        yield from record_by_size(stack, fill, log_tool, found, is_quick)


def held(stack: Stack) -> int:
    return int(stack.sql.number("SELECT sum(held) FROM flash_sale_item"))


def record_by_worker(stack: Stack, fill, count: int, is_warm_up: bool = False):
    """A log full of claims, then one `weir worker`."""
    before = held(stack)
    filled = {} if is_warm_up else fill(count)
    begin = time.time()
    with Sampler(stack.roles) as sampler:
        stack.workers[0].start()
        wait_for(lambda: held(stack) - before >= count, 120, f"{count} rows")
        time.sleep(0.1)
    stack.stop_workers()
    if is_warm_up:
        return
    first, last = stack.sql.first_and_last_commit(f"WHERE pg_xact_commit_timestamp(xmin) > to_timestamp({begin})")
    per_second = (count - 1024) / (last - first)
    used = sampler.between(first, last)
    used.pop("api", None)
    yield row(f"one worker records a log of {count:,} claims of one item", f"{per_second:,.0f} rows/s", "20,000 rows/s",
              per_second / 20_000, 1.0, 1.0)
    yield row("the same: CPU-µs a row", f"{1e6 * sum(used.values()) / count:.1f}: {shares(used, count / 1e6, 1)}",
              f"{sum(used.values()) / (last - first):.2f} of {os.cpu_count()} cores busy")
    yield row("claims published by one process, 1,024 under way", f"{filled['perSecond']:,}/s")


def record_by_size(stack: Stack, fill, log_tool, found: dict, is_quick: bool):
    """The recorder of a worker alone, with runs of the log that are cut short."""
    meta = stack.services["redis"].port
    gate = subprocess.run(["redis-cli", "-p", str(meta), "--raw", "EVAL",
                           "return redis.call('HGET', redis.call('KEYS', '*:meta')[1], 'ledger')", "0"],
                          capture_output=True, text=True, check=True, timeout=10).stdout.strip()
    sizes = {64: 2000, 1024: 5000} if is_quick else {1: 1500, 16: 10_000, 64: 30_000, 256: 60_000, 1024: 100_000}
    for size, rows in sizes.items():
        fill(rows + size)
        stores = store_pids(stack.services)
        before = cpu_of(stores)
        done = log_tool("record", found["WEIR_TEST_KAFKA"], found["WEIR_TEST_REDIS"], gate, size, rows)
        used = {"recorder": done["cpuUs"] / 1e6, **difference(cpu_of(stores), before)}
        yield row(f"the recorder alone, {size:,} claims a transaction", f"{done['perSecond']:,} rows/s",
                  f"CPU-µs a row: {shares(used, done['rows'] / 1e6, 1)}")


# (d) What a script costs.

def scripts(is_quick: bool):
    need_stores()
    out = subprocess.run([program("redis_gate_bench")], capture_output=True, text=True, timeout=150, check=True).stdout
    if out.startswith("SKIPPED"):
        raise Skipped(out.strip())
    line = re.compile(r"(\w+) +(\d+) claims a script, +(\d+) scripts in a row: +(\d+) scripts/s +(\d+) claims/s, "
                      r"processor +([\d.]+) us a script +([\d.]+) us a claim")
    for word, claims, row_of, per_second, claims_per_second, script_us, claim_us in line.findall(out):
        if is_quick and claims != "64":
            continue
        yield row(f"reserve, {word.replace('_', ' ')}: {claims} claims a script, {row_of} scripts sent together",
                  f"{int(per_second):,} scripts/s, {int(claims_per_second):,} claims/s",
                  f"Redis {script_us} CPU-µs a script, {claim_us} a claim")


# (e) The refusals of a node.

def sold_out_door(door, make_sale) -> Path:
    """Sells the only unit of `i0`, and gives tokens of buyers who come too late."""
    make_sale("i0", units=1)
    expect(door.buy("i0", "owner"), 202)
    door.tokens("late-", CROWD)
    tokens = Path(door.folder) / "tokens-late-"

    def is_refused() -> bool:
        answer = press(door.port, tokens, 1)
        return answer["refused"] == answer["requests"]
    wait_for(is_refused, 30, "everybody being refused")
    return tokens


def refused(door, tokens: Path, seconds: int, **options) -> int:
    result = press(door.port, tokens, seconds, **options)
    if result["failed"] > 0 or result["refused"] < result["requests"]:
        raise RuntimeError(f"not everybody was refused: {result}")
    return result["requests"]


def bytes_of_refusal(door, tokens: Path) -> tuple[int, int]:
    """What one press and its answer take on the line, without the headers of packets."""
    token = tokens.read_text().split()[0]
    asked = request_bytes("POST", PURCHASE.format("i0"), token, headers=[("Idempotency-Key", "k" * 36)])
    with door.connect() as connection:
        connection.send(asked)
        while b"\r\n\r\n" not in connection.buffer:
            connection.fill()
        head = bytes(connection.buffer).split(b"\r\n\r\n")[0]
        body = int(re.search(rb"content-length: (\d+)", head, re.IGNORECASE)[1])
    return len(asked), len(head) + 4 + body


def reject(is_quick: bool):
    need_stores()
    seconds, turns = (1, 1) if is_quick else (3, 3)
    with Stack(1, 1, "--http.reactors", "1") as stack, Shop(["--http.reactors", "1"]) as embedded:
        node = stack.nodes[0]
        embedded.start()
        tokens = sold_out_door(node, stack.make_sale)
        embedded_tokens = sold_out_door(embedded, embedded.make_sale)
        for depth in (1, 16):
            costs, behind = {"node": [], "embedded": []}, []
            for _ in range(turns):
                before = stack.cpu()
                count = refused(node, tokens, seconds, depth=depth)
                used = difference(stack.cpu(), before)
                costs["node"].append(1e6 * used.pop("api") / count)
                behind.append(sum(used.values()) / seconds)
                own = {"serve": [embedded.process.pid]}
                before = cpu_of(own)
                count = refused(embedded, embedded_tokens, seconds, depth=depth)
                costs["embedded"].append(1e6 * difference(cpu_of(own), before)["serve"] / count)
            ratio = median(ours / theirs for ours, theirs in zip(costs["node"], costs["embedded"]))
            yield row(f"refusals of a node, {depth} pipelined, one reactor", f"{median(costs['node']):.2f} CPU-µs",
                      f"`weir serve` {median(costs['embedded']):.2f} CPU-µs", ratio, 1.05, 1.05, True)
            yield row("the same: worker and stores meanwhile, whatever the crowd", f"{median(behind):.2f} cores")
        asked, answered = bytes_of_refusal(node, tokens)
        yield row("bytes of a press with its key, and of its refusal", f"{asked} and {answered}")


# (f) Beside the classic stack.

def winners_cost(stack: Stack, buyers: int) -> dict[str, float]:
    """CPU seconds of every process for as many winners as buyers, from the first press to the last row."""
    node = stack.nodes[0]
    item = f"won{buyers}x{time.monotonic_ns()}"
    stack.make_sale(item, units=buyers)
    with Sampler(stack.roles) as sampler:
        weir("rehearse", "--url", f"http://127.0.0.1:{node.port}", "--item", item, "--buyers", buyers, "--burst", "1s",
             "--data", node.data, "--report", f"{node.folder}/report.html", "--json", codes=(0, 1))
        rows = f"SELECT held FROM flash_sale_item WHERE id = '{item}'"
        wait_for(lambda: int(stack.sql.number(rows)) == buyers, 60, f"{buyers} rows")
    first, last = stack.sql.first_and_last_commit(
        f"WHERE item_no = (SELECT item_no FROM flash_sale_item WHERE id = '{item}')")
    return sampler.between(first - 0.2, last + 0.05)  # The first press is older than its row.


def winners(is_quick: bool):
    need_stores()
    buyers = 2000 if is_quick else 30_000
    with Stack(1, 1) as stack:
        winners_cost(stack, buyers // 4)  # The broker's Java compiles meanwhile.
        won = [winners_cost(stack, buyers) for _ in range(1 if is_quick else 5)]
    middle = middle_of(won)
    yield row(f"CPU-µs a winner, {buyers:,} within a second, one node, one worker",
              f"{1e6 * sum(middle.values()) / buyers:.0f}", shares(middle, buyers / 1e6, 1))


def middle_of(runs: list[dict[str, float]]) -> dict[str, float]:
    return sorted(runs, key=lambda used: sum(used.values()))[len(runs) // 2]


def beside_classic(is_quick: bool):
    need_stores()
    peer = classic.Peer()  # Says at once why it cannot be had.
    seconds, buyers = (1, 2000) if is_quick else (4, 30_000)
    with Stack(1, 1) as stack:
        tokens = sold_out_door(stack.nodes[0], stack.make_sale)
        rejects = []
        for _ in range(1 if is_quick else 3):
            before = stack.cpu()
            count = refused(stack.nodes[0], tokens, seconds, connections=128)
            rejects.append({role: 1e6 * used / count for role, used in difference(stack.cpu(), before).items()})
        mine = middle_of(rejects)
        winners_cost(stack, buyers // 4)
        won = [winners_cost(stack, buyers) for _ in range(1 if is_quick else 3)]
        winner = middle_of(won)
    ours_us, winner_us = sum(mine.values()), 1e6 * sum(winner.values()) / buyers
    with peer:
        for case, name, gate, aim in (("reject", "classic", 12, 18), ("smart", "classic, sold-out flag", 3.5, 5)):
            theirs, of_nginx = peer.reject_us(case, is_quick)
            yield row(f"CPU-µs a refusal, all processes, beside {name}", f"{ours_us:.1f}: {shares(mine)}",
                      f"{sum(theirs.values()):.1f}: {shares(theirs)}; {of_nginx:.1f} × nginx",
                      sum(theirs.values()) / ours_us, gate, aim)
        theirs = peer.winner_us(is_quick)
        yield row("CPU-µs a winner, all processes, from the press to the row",
                  f"{winner_us:.0f}: {shares(winner, buyers / 1e6, 0)}",
                  f"classic {sum(theirs.values()):.0f}: {shares(theirs, 1, 0)}", sum(theirs.values()) / winner_us)


ROWS = {"distributed_contention": contention, "distributed_sale": sale, "distributed_record": record,
        "distributed_scripts": scripts, "distributed_reject": reject, "distributed_winners": winners,
        "distributed_classic": beside_classic}
