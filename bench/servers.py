"""The servers that are measured: weir, nginx and Redis, each on free ports with a folder of its own."""

import json
from pathlib import Path
from urllib.request import ProxyHandler, build_opener
from urllib.error import URLError

from machine import ROOT, Process, free_port, run, wait_until

BENCH = Path(__file__).resolve().parent
build = ROOT / "build" / "release"
REFUSAL = '{"error":"SOLD_OUT","message":"Fewer units are free than you asked for.","mayReturn":true}'
NGINX = """daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 20000; }}
http {{
  access_log off; keepalive_requests 1000000000; keepalive_timeout 300;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  server {{
    listen 127.0.0.1:{port}; default_type application/json;
    location / {{ return 410 '{refusal}'; }}
  }}
}}
"""
fetch = build_opener(ProxyHandler({})).open


def program(path: str) -> Path:
    return build / path


class Shop(Process):
    """A weir server with its data in `data`, rate limits off, this machine trusted as a proxy."""

    def __init__(self, data: Path, *settings: str):
        self.data, self.port, self.ops_port = data, free_port(), free_port()
        super().__init__([program("src/app/weir"), "serve", "--data", data, "--http.listen",
                          f"127.0.0.1:{self.port}", "--ops.listen", f"127.0.0.1:{self.ops_port}",
                          "--rate.per_buyer_per_s", "0", "--rate.per_address_per_s", "0", "--http.trusted_proxies",
                          "127.0.0.1", "--log.level", "error", *settings],
                         data / "serve.log")

    def is_ready(self) -> bool:
        if self.popen.poll() is not None:
            raise RuntimeError(f"weir ended: {self.log.read_text()[-800:]}")
        try:
            with fetch(f"http://127.0.0.1:{self.ops_port}/readyz", timeout=2) as answer:
                return answer.status == 200
        except (URLError, OSError):
            return False

    def __enter__(self):
        wait_until(self.is_ready, 60, "readyz")
        return self


class Nginx(Process):
    """One worker that refuses everybody."""

    def __init__(self, folder: Path):
        self.port = free_port()
        folder.mkdir()
        config = folder / "nginx.conf"
        config.write_text(NGINX.format(folder=folder, port=self.port, refusal=REFUSAL))
        super().__init__(["nginx", "-p", folder, "-c", config], folder / "log")

    def __enter__(self):
        self.wait_for_port(self.port)
        return self


class Redis(Process):
    def __init__(self, folder: Path, is_synced: bool):
        self.port = free_port()
        folder.mkdir()
        super().__init__(["redis-server", "--port", self.port, "--bind", "127.0.0.1", "--dir", folder, "--save", "",
                          "--appendonly", "yes" if is_synced else "no", "--appendfsync", "always"], folder / "log")

    def command(self, *words) -> str:
        return run(["redis-cli", "-p", self.port, *words], 10).strip()

    def __enter__(self):
        self.wait_for_port(self.port)
        self.script = self.command("SCRIPT", "LOAD", (BENCH / "take_unit.lua").read_text())
        self.command("SET", "shelf", 100_000_000)
        return self

    def take_units(self, count: int) -> float:
        """Units taken by buyers, 64 clients, one request each at a time; returns how many were taken."""
        before = int(self.command("GET", "shelf"))
        run(["redis-benchmark", "-p", self.port, "-c", "64", "-n", count, "-r", 1_000_000_000, "-q", "EVALSHA",
             self.script, "2", "shelf", "buyers", "buyer-__rand_int__"], 60)
        return before - int(self.command("GET", "shelf"))


def weir(*words, seconds: float = 120, codes: tuple = (0,)) -> str:
    return run([program("src/app/weir"), *words], seconds, codes=codes)


def make_shop(data: Path, units: int) -> None:
    """A sale that is open, with the item i0."""
    weir("sale", "create", "--id", "s", "--title", "Bench", "--opens-at", "now", "--closes-at", "+2h", "--data", data)
    weir("item", "add", "--sale", "s", "--id", "i0", "--title", "Item", "--price", "1999", "--currency", "EUR",
         "--units", str(units), "--data", data)


def issue_tokens(data: Path, count: int, prefix: str = "b") -> Path:
    out = data / f"tokens-{prefix}"
    weir("token", "issue", "--count", str(count), "--prefix", prefix, "--out", str(out), "--ttl", "2h", "--data", data)
    return out


def make_ledger(data: Path, orders: int, items: int = 1, pay_within_s: int = 7200) -> dict:
    """A ledger with live orders, written through the ledger itself."""
    return json.loads(run([program("bench/make_ledger"), data, orders, items, pay_within_s], 300))


def press(port: int, tokens: Path, seconds: float, connections: int = 64, depth: int = 1, items: int = 1) -> dict:
    """A closed loop of presses; how many were answered and how."""
    whole_seconds = max(1, round(seconds))  # wrk knows no others.
    out = run(["wrk", "-t1", f"-c{connections}", f"-d{whole_seconds}s", "--timeout", "10s", "-s",
               BENCH / "purchase.lua", f"http://127.0.0.1:{port}/"], seconds + 60,
              {"TOKENS": str(tokens), "DEPTH": str(depth), "ITEMS": str(items)})
    return json.loads(next(line[7:] for line in out.splitlines() if line.startswith("RESULT ")))


def rehearse(shop: Shop, buyers: int, *options: str, item: str = "i0", seconds: float = 120) -> dict:
    """An open-loop crowd; the report."""
    out = weir("rehearse", "--url", f"http://127.0.0.1:{shop.port}", "--item", item, "--buyers", str(buyers), "--data",
               shop.data, "--server-pid", str(shop.pid), "--report", shop.data / "rehearsal.html", "--json", *options,
               seconds=seconds, codes=(0, 1))
    return json.loads(out.splitlines()[-1])
