"""One function for each figure: it measures, and gives rows for the table."""

import json
import re
import socket
import sqlite3
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import servers
from machine import Folder, percentile, run, sync_times_ms
from servers import Nginx, Redis, Shop, issue_tokens, make_ledger, make_shop, press, rehearse, weir

CROWD = 200  # Tokens in rotation where the same buyers ask again and again.
CLASSIC_CPU_S = 4.65  # What the classic stack needed for 10,000 units and 30,000 buyers, measured elsewhere.


@dataclass
class Row:
    figure: str
    ours: str
    against: str = ""
    ratio: float | None = None
    gate: float | None = None
    aim: float | None = None
    is_less_better: bool = False

    @property
    def verdict(self) -> str:
        if self.ratio is None or self.gate is None:
            return "–"
        met = [self.ratio <= bound if self.is_less_better else self.ratio >= bound
               for bound in (self.gate, self.aim if self.aim is not None else self.gate)]
        return "aim met" if all(met) else "gate met" if met[0] else "MISSED"


@dataclass
class Effort:
    """How much a run takes: `quick` shows that it works, the full one measures."""
    seconds: float
    pairs: int
    orders: int
    connections: int
    is_quick: bool


def effort(is_quick: bool) -> Effort:
    return Effort(1, 1, 50_000, 1000, True) if is_quick else Effort(3, 3, 1_000_000, 9_500, False)


def per_cpu_second(server, work) -> float:
    """What `work` counts, divided by the CPU time that the server took for it."""
    before = server.cpu_s()
    count = work()
    return count / max(server.cpu_s() - before, 0.01)


def refusals(server, tokens: Path, seconds: float, **options) -> float:
    def work() -> int:
        result = press(server.port, tokens, seconds, **options)
        if result["failed"] > 0 or result["refused"] < result["requests"]:
            raise RuntimeError(f"not everybody was refused: {result}")
        return result["requests"]
    return per_cpu_second(server, work)


def pairs(count: int, ours, theirs) -> tuple[float, float, float]:
    """Medians of both and of the ratio, taken in turn."""
    taken = [(ours(), theirs()) for _ in range(count)]
    return (median(a for a, _ in taken), median(b for _, b in taken), median(a / b for a, b in taken))


def reject(work: Effort) -> list[Row]:
    rows = []
    for reactors in ("1", "0"):
        with Folder() as folder:
            data = folder / "shop"
            make_shop(data, 1)
            owner, tokens = issue_tokens(data, 1, "owner"), issue_tokens(data, CROWD)
            with Shop(data, "--http.reactors", reactors) as shop, Nginx(folder / "nginx") as nginx:
                press(shop.port, owner, 1)
                for depth, gate, aim in ((1, 1.0, 1.15), (16, 6.0, 8.0)):
                    ours, theirs, ratio = pairs(work.pairs,
                                                lambda: refusals(shop, tokens, work.seconds, depth=depth),
                                                lambda: refusals(nginx, tokens, work.seconds, depth=depth))
                    rows.append(Row(f"refusals, {depth} pipelined, {reactors} reactors (0: one per core)",
                                    f"{ours:,.0f}/CPU-s", f"nginx {theirs:,.0f}/CPU-s", ratio, gate, aim))
    return rows


def winners_per_cpu_second(shop: Shop, data: Path, work: Effort, turn: int, connections: int) -> float:
    tokens = issue_tokens(data, 15_000 * max(int(work.seconds), 1), f"winner{connections}x{turn}-")

    def sell() -> int:
        result = press(shop.port, tokens, work.seconds, connections=connections)
        if result["failed"] > 0:
            raise RuntimeError(f"failed: {result}")
        return result["requests"] - result["refused"]
    return per_cpu_second(shop, sell)


def durable(work: Effort) -> list[Row]:
    rows = []
    with Folder() as folder:
        data = folder / "shop"
        make_shop(data, 1_000_000)
        with Shop(data) as shop, Redis(folder / "redis", False) as plain, Redis(folder / "synced", True) as synced:
            for connections in (64, 512):
                ours, not_durable, durably, first, second = [], [], [], [], []
                for turn in range(work.pairs):
                    ours.append(winners_per_cpu_second(shop, data, work, turn, connections))
                    not_durable.append(per_cpu_second(plain, lambda: plain.take_units(20_000 * int(work.seconds))))
                    durably.append(per_cpu_second(synced, lambda: synced.take_units(5_000 * int(work.seconds))))
                    first.append(ours[-1] / not_durable[-1])
                    second.append(ours[-1] / durably[-1])
                name = f"durable orders, {connections} connections"
                mine = f"{median(ours):,.0f}/CPU-s"
                rows.append(Row(name, mine, f"Redis script, not durable, {median(not_durable):,.0f}/CPU-s",
                                median(first), 1.2, 2.0))
                rows.append(Row(name, mine, f"Redis appendfsync always, {median(durably):,.0f}/CPU-s",
                                median(second), 2.0, 5.0))
    return rows


def sale(work: Effort) -> list[Row]:
    """Whole sales: the demonstration's, and 30,000 buyers within 100 ms."""
    rows = []
    reports = []
    for _ in range(1 if work.is_quick else 3):
        with Folder() as folder:
            out = weir("demo", "--once", "--json", "--report", str(folder / "demo.html"), codes=(0, 1))
            reports.append(json.loads(out.splitlines()[-1]))
    middle = sorted(reports, key=lambda report: report["sellOutMs"])[len(reports) // 2]
    outcomes = ", ".join(f"{count:,} {name}" for name, count in middle["outcomes"].items())
    rows.append(Row("10,000 units to 500,000 buyers in 2 s (weir demo): sold out after",
                    f"{middle['sellOutMs']:.0f} ms, {middle['server']['cpuSeconds']:.2f} CPU-s, {middle['verdict']}, "
                    f"audit {'ok' if middle['audit']['ok'] else 'NOT OK'}, {outcomes}"))
    shares = [report["client"]["cpuSeconds"] / report["server"]["cpuSeconds"] for report in reports]
    rows.append(Row("CPU of the crowd a request, against the server's", f"{middle['client']['cpuSeconds']:.2f} CPU-s",
                    f"server {middle['server']['cpuSeconds']:.2f} CPU-s", median(shares), 0.5, 0.5, True))
    small = []
    for _ in range(1 if work.is_quick else 3):
        with Folder() as folder:
            data = folder / "shop"
            make_shop(data, 10_000)
            with Shop(data) as shop:
                small.append(rehearse(shop, 30_000, "--burst", "100ms", "--connections", "512"))
    sell_out_ms = median(report["sellOutMs"] for report in small)
    cpu_s = median(report["server"]["cpuSeconds"] for report in small)
    rows.append(Row("10,000 units to 30,000 buyers in 0.1 s: first press to last durable 202", f"{sell_out_ms:.0f} ms",
                    "milliseconds", sell_out_ms, 500, 150, True))
    rows.append(Row("the same: CPU-seconds of the server", f"{cpu_s:.3f} CPU-s",
                    f"classic stack {CLASSIC_CPU_S} CPU-s", cpu_s / CLASSIC_CPU_S, 0.1, 0.05, True))
    return rows


def latency(work: Effort) -> list[Row]:
    ratios, ours, disk = [], [], []
    seconds = 2 if work.is_quick else 10
    for _ in range(work.pairs):
        with Folder() as folder:
            data = folder / "shop"
            make_shop(data, 100_000)
            with Shop(data) as shop:
                before = sync_times_ms(folder, 100 * seconds, 200)
                report = rehearse(shop, 200 * seconds, "--rate", "200")
                both = before + sync_times_ms(folder, 100 * seconds, 200)
        ours.append(report["winnersLatencyMs"]["p99"])
        disk.append(percentile(both, 0.99))
        ratios.append(ours[-1] / disk[-1])
    return [Row("winners' p99 at 200 a second", f"{median(ours):.2f} ms", f"write and fdatasync {median(disk):.2f} ms",
                median(ratios), 3.0, 2.2, True)]


def open_idle(port: int, count: int) -> list[socket.socket]:
    opened = []
    request = b"GET /api/time HTTP/1.1\r\nHost: shop\r\n\r\n"
    for _ in range(count):
        connection = socket.create_connection(("127.0.0.1", port), timeout=10)
        connection.sendall(request)
        connection.recv(4096)
        opened.append(connection)
    return opened


def memory(work: Effort) -> list[Row]:
    sizes = {}
    per_connection = 0.0
    for orders in (1000, work.orders):
        with Folder() as folder:
            make_ledger(folder, orders)
            with Shop(folder) as shop:
                sizes[orders] = shop.rss_bytes()
                if orders == 1000:
                    opened = open_idle(shop.port, work.connections)
                    per_connection = (shop.rss_bytes() - sizes[orders]) / work.connections
                    for connection in opened:
                        connection.close()
    bench = run([servers.program("bench/gate_bench"), "--benchmark_filter=NOTHING"], 60, codes=(0, 1))
    table = re.search(r"[\d.]+ bytes? (?:a|per) (?:known )?buyer", bench)
    per_buyer = (sizes[work.orders] - sizes[1000]) / (work.orders - 1000)
    return [Row(f"resident memory with {work.orders:,} live orders", f"{sizes[work.orders] / 2**20:.0f} MiB"),
            Row("resident bytes per live order and its buyer", f"{per_buyer:.0f}" + (f"; {table[0]}" if table else ""),
                "bytes", per_buyer, 32, 20, True),
            Row(f"resident bytes per idle connection, {work.connections:,} of them", f"{per_connection:.0f}", "bytes",
                per_connection, 512, 128, True)]


def growth(work: Effort) -> list[Row]:
    rows = []
    seconds = work.seconds / 2

    def shop_of(folder: Path, orders: int, items: int) -> tuple[Shop, Path]:
        data = folder / f"{orders}-{items}"
        data.mkdir()
        make_ledger(data, orders, items)
        tokens = issue_tokens(data, CROWD)
        return Shop(data, "--http.reactors", "1"), tokens

    with Folder() as folder:
        small_shop, small_tokens = shop_of(folder, 1000, 1)
        large_shop, large_tokens = shop_of(folder, work.orders, 1)
        many_shop, many_tokens = shop_of(folder, 10_000, 10_000)
        one_shop, one_tokens = shop_of(folder, 10_000, 1)
        with small_shop as small, large_shop as large, many_shop as many, one_shop as one:
            cases = ((f"buyers known, 1,000 → {work.orders:,}", (small, small_tokens, {}), (large, large_tokens, {}),
                      1.15, 1.05),
                     ("items, 1 → 10,000", (one, one_tokens, {}), (many, many_tokens, {"items": 10_000}), 1.3, 1.1),
                     (f"connections, 10 → {work.connections:,}", (small, small_tokens, {"connections": 10}),
                      (small, small_tokens, {"connections": work.connections}), None, None))
            for name, (few, few_tokens, few_options), (much, much_tokens, much_options), gate, aim in cases:
                ours, theirs, ratio = pairs(work.pairs,
                                            lambda: 1e6 / refusals(much, much_tokens, seconds, **much_options),
                                            lambda: 1e6 / refusals(few, few_tokens, seconds, **few_options))
                rows.append(Row(f"growth of a refusal's cost: {name}", f"{ours:.2f} CPU-µs", f"{theirs:.2f} CPU-µs",
                                ratio, gate, aim, True))
    return rows


def useful_rate(rate: int, seconds: float) -> tuple[float, dict]:
    """Orders and truthful refusals a second at an offered rate; 503 and what failed are not useful."""
    with Folder() as folder:
        data = folder / "shop"
        make_shop(data, 1_000_000)
        with Shop(data) as shop:
            report = rehearse(shop, int(rate * seconds), "--rate", str(rate), "--connections", "1024")
    useful = report["answered"] - report["outcomes"].get("UNAVAILABLE", 0)
    return report["rate"]["answered"] * useful / max(report["answered"], 1), report


def overload(work: Effort) -> list[Row]:
    seconds = 1 if work.is_quick else 3
    rates = (4000, 16000) if work.is_quick else (8000, 12000, 16000, 24000)
    peak = max(useful_rate(rate, seconds)[0] for rate in rates)
    ratios, twice, shed = [], [], 0
    for _ in range(work.pairs):
        useful, report = useful_rate(int(2 * peak), seconds)
        twice.append(useful)
        ratios.append(useful / peak)
        shed = report["outcomes"].get("UNAVAILABLE", 0)
    # Without a single 503 the crowd has held itself back, and nothing is known about an overload.
    return [Row("useful answers at twice the peak, all of them orders", f"{median(twice):,.0f}/s, {shed:,} × 503",
                f"own peak {peak:,.0f}/s", median(ratios), *((0.90, 0.98) if shed > 0 else (None, None)))]


def restart(work: Effort) -> list[Row]:
    with Folder() as folder:
        made = make_ledger(folder, work.orders)
        times = []
        for _ in range(work.pairs):
            begin = time.monotonic()
            with Shop(folder):
                times.append(time.monotonic() - begin)
    seconds = median(times)
    return [Row(f"restart with {work.orders:,} live orders until readyz", f"{seconds:.2f} s", "seconds", seconds,
                2.0, 0.5, True),
            Row("the ledger alone records, batches of 1,024", f"{made['perSecond']:,} orders/s")]


def expiry(work: Effort) -> list[Row]:
    pay_within_s, orders = 8, 10_000
    with Folder() as folder:
        make_ledger(folder, orders, pay_within_s=pay_within_s)
        weir("item", "add", "--sale", "s", "--id", "i1", "--title", "Item", "--price", "1999", "--currency", "EUR",
             "--units", "100000", "--data", folder)
        with Shop(folder) as shop:
            during = rehearse(shop, 200 * pay_within_s, "--rate", "200", item="i1")
        with sqlite3.connect(next(folder.glob("*.db"), None) or next(folder.glob("ledger*"))) as ledger:
            late_ms = [late / 1000 for (late,) in ledger.execute(
                "SELECT ended_at - pay_by FROM flash_sale_order WHERE buyer LIKE 'known-%' AND status = 2")]
    with Folder() as folder:
        make_shop(folder, 100_000)
        with Shop(folder) as shop:
            alone = rehearse(shop, 200 * pay_within_s, "--rate", "200")
    if len(late_ms) != orders:
        raise RuntimeError(f"{len(late_ms)} of {orders} orders have expired")
    worst = percentile(late_ms, 0.9999)
    return [Row(f"{orders:,} orders expire in one second: lateness p99.99", f"{worst:.0f} ms", "milliseconds", worst,
                1000, 1000, True),
            Row("winners' p99 meanwhile, 200 a second", f"{during['winnersLatencyMs']['p99']:.2f} ms",
                f"without expiry {alone['winnersLatencyMs']['p99']:.2f} ms")]


FIGURES = {"reject": reject, "durable": durable, "sale": sale, "restart": restart, "memory": memory,
           "latency": latency, "overload": overload, "expiry": expiry, "growth": growth}
