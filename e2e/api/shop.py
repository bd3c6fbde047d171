"""A real weir process on ports and data of its own, and a plain HTTP client for it: what every test here stands on.

Nothing is left behind: a shop that is closed has ended its process (by its id) and removed its folder. Every wait has a
deadline, and waits for a condition.
"""

import base64
import hashlib
import hmac
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BINARY = os.environ.get("WEIR_BINARY", os.path.join(ROOT, "build", "weir"))
WAIT_S = 10.0
NO_RATES = ["--rate.per_buyer_per_s", "0", "--rate.per_address_per_s", "0"]
PURCHASE = "/api/flash-sales/items/{}/purchase"
ORDER = "/api/flash-sales/orders/{}"


def until(condition, seconds=WAIT_S, what="the condition"):
    """Asks `condition` until it is true and gives its value; fails after `seconds`."""
    deadline = time.monotonic() + seconds
    pause = 0.002
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not come true within {seconds} s; last seen: {value!r}")
        time.sleep(pause)
        pause = min(pause * 1.5, 0.05)


def skip(test, reason):
    """Leaves a test out, and says so where the summary of all tests finds it."""
    print(f"SKIPPED: {test.id()}: {reason}", flush=True)
    raise unittest.SkipTest(reason)


class Answer:
    """One HTTP answer: status, headers by small name, body."""

    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body

    def json(self):
        return json.loads(self.body)

    def code(self):
        return self.json().get("error", "") if self.body else ""

    def __repr__(self):
        return f"{self.status} {self.body[:300]!r}"


def request_bytes(method, path, token=None, body=None, headers=None, host="localhost"):
    """The bytes of one request. `body` may be bytes, a text, or anything that JSON can say."""
    lines = [f"{method} {path} HTTP/1.1"]
    if host is not None:
        lines.append(f"Host: {host}")
    if token:
        lines.append(f"Authorization: Bearer {token}")
    data = b""
    if body is not None:
        data = body if isinstance(body, bytes) else (body if isinstance(body, str) else json.dumps(body)).encode()
        if not any(name.lower() == "content-type" for name, _ in headers or []):
            lines.append("Content-Type: application/json")
    lines += [f"{name}: {value}" for name, value in headers or []]
    if body is not None or method == "POST":
        lines.append(f"Content-Length: {len(data)}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8") + data


class Connection:
    """One kept-alive connection. Requests may be written ahead; answers come in the order of the requests."""

    def __init__(self, port, timeout=WAIT_S, source=None):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout,
                                               source_address=(source, 0) if source else None)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = bytearray()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def fill(self):
        """Reads what has come; False at the end of the stream."""
        data = self.socket.recv(256 * 1024)
        self.buffer += data
        return bool(data)

    def wait_for_end(self):
        """Waits for the other side to close; what still came is kept."""
        while self.fill():
            pass
        return True

    def read(self, method="GET"):
        """The next answer."""
        while True:
            end = self.buffer.find(b"\r\n\r\n")
            if end >= 0:
                break
            if not self.fill():
                raise ConnectionError(f"closed inside an answer, after {bytes(self.buffer)!r}")
        head = self.buffer[:end].decode("latin-1").split("\r\n")
        del self.buffer[:end + 4]
        status = int(head[0].split(" ")[1])
        headers = {}
        for line in head[1:]:
            name, _, value = line.partition(":")
            headers.setdefault(name.strip().lower(), value.strip())
        if status == 100:
            return self.read(method)
        length = 0 if method == "HEAD" or status in (204, 304) else int(headers.get("content-length", "0"))
        while len(self.buffer) < length:
            if not self.fill():
                raise ConnectionError("closed inside a body")
        body = bytes(self.buffer[:length])
        del self.buffer[:length]
        return Answer(status, headers, body)

    def ask(self, method, path, token=None, body=None, headers=None, host="localhost"):
        self.send(request_bytes(method, path, token, body, headers, host))
        return self.read(method)

    def ask_all(self, requests):
        """Sends all of them in one write and reads as many answers."""
        self.send(b"".join(requests))
        return [self.read() for _ in requests]


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def sign_token(key, claims, header=None):
    """A JWT made by hand, so that tests can make wrong ones too. Claims may be a text to control every byte."""
    head = json.dumps(header if header is not None else {"alg": "HS256", "typ": "JWT"}).encode()
    text = claims.encode() if isinstance(claims, str) else json.dumps(claims).encode()
    signed = base64url(head) + "." + base64url(text)
    return signed + "." + base64url(hmac.new(key, signed.encode(), hashlib.sha256).digest())


def run_weir(*arguments, env=None, timeout=30, cwd=None, stdin=None):
    """Runs one command of the program to its end."""
    return subprocess.run([BINARY, *arguments], capture_output=True, text=True, timeout=timeout, cwd=cwd, stdin=stdin,
                          env={**plain_environment(), **(env or {})}, check=False)


def plain_environment():
    return {name: value for name, value in os.environ.items() if not name.startswith("WEIR_")}


class Shop:
    """A data folder and, while it is started, a server on it."""

    def __init__(self, settings=None, data=None, env=None, rates=False,
                 proxies="127.0.0.1"):
        self.folder = data or tempfile.mkdtemp(prefix="weir-e2e-")
        self.owns_folder = data is None
        self.data = os.path.join(self.folder, "data")
        trusted = ["--http.trusted_proxies", proxies] if proxies else []
        self.settings = [*trusted, *([] if rates else NO_RATES), *(settings or [])]
        self.env = env or {}
        self.process = None
        self.port = 0
        self.ops_port = 0
        self.key = b""
        self.starts = 0
        self.log_path = os.path.join(self.folder, "server.log")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # The process.

    def spawn(self):
        """Starts the program and returns at once."""
        self.starts += 1
        output = open(os.path.join(self.folder, "server.out"), "wb")
        log = open(self.log_path, "ab")
        with output, log:
            self.process = subprocess.Popen(
                [BINARY, "serve", "--data", self.data, "--http.listen", "127.0.0.1:0", "--ops.listen", "127.0.0.1:0",
                 *self.settings], stdout=output, stderr=log, env={**plain_environment(), **self.env})

    def start(self):
        """Starts the server and waits until it serves."""
        self.spawn()
        return self.wait_until_serving()

    def wait_until_serving(self, seconds=WAIT_S):
        def ports():
            if self.process.poll() is not None:
                raise AssertionError(f"the server ended with {self.process.returncode}: {self.log()[-2000:]}")
            with open(os.path.join(self.folder, "server.out"), encoding="utf-8") as file:
                return re.search(r"serves on port (\d+), operations on port (\d+)", file.read())
        found = until(ports, seconds, "the server's start")
        self.port, self.ops_port = int(found[1]), int(found[2])
        with open(os.path.join(self.data, "auth.secret"), "rb") as file:
            self.key = file.read().removesuffix(b"\n")
        return self

    def log(self):
        try:
            with open(self.log_path, encoding="utf-8", errors="replace") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def signal(self, number):
        os.kill(self.process.pid, number)

    def stop(self, seconds=WAIT_S):
        """Asks the server to end, gives its exit code and how long that took."""
        begin = time.monotonic()
        self.signal(signal.SIGTERM)
        code = self.process.wait(seconds)
        self.process = None
        return code, time.monotonic() - begin

    def kill(self):
        """Ends the server without a word, as a power cut would."""
        if self.process is not None and self.process.poll() is None:
            self.signal(signal.SIGKILL)
            self.process.wait(WAIT_S)
        self.process = None

    def close(self):
        if self.process is not None:
            self.signal(signal.SIGCONT) if self.process.poll() is None else None
            self.kill()
        if self.owns_folder:
            shutil.rmtree(self.folder, ignore_errors=True)

    # Asking.

    def connect(self, timeout=WAIT_S, source=None):
        return Connection(self.port, timeout, source)

    def ask(self, method, path, token=None, body=None, headers=None, host="localhost"):
        """One request on a connection of its own."""
        with self.connect() as connection:
            return connection.ask(method, path, token, body, headers, host)

    def operations(self, path):
        with Connection(self.ops_port) as connection:
            return connection.ask("GET", path)

    def metric(self, name):
        found = re.search(rf"^{re.escape(name)} (\S+)$", self.operations("/metrics").body.decode(), re.MULTILINE)
        if found is None:
            raise AssertionError(f"there is no metric {name}")
        return float(found[1])

    def cli(self, *arguments, **options):
        """A command on this data folder."""
        return run_weir(*arguments, "--data", self.data, **options)

    def audit(self):
        """The audit's answer; fails unless every invariant holds."""
        done = self.cli("audit", "--json")
        if done.returncode != 0:
            raise AssertionError(f"audit ended with {done.returncode}: {done.stdout} {done.stderr}")
        return json.loads(done.stdout)

    # Tokens.

    def token(self, subject, role="buyer", **claims):
        return sign_token(self.key, {"sub": subject, "role": role, "exp": int(time.time()) + 7200, **claims})

    def tokens(self, prefix, count):
        """Tokens for PREFIX1 to PREFIXN, made by the program itself."""
        path = os.path.join(self.folder, f"tokens-{prefix}")
        done = self.cli("token", "issue", "--count", str(count), "--prefix", prefix, "--out", path, "--ttl", "2h")
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        with open(path, encoding="ascii") as file:
            return file.read().split()

    # Sales.

    def make_sale(self, sale, item=None, units=10, limit=1, pay_within="10m", opens="now", closes="+2h", price=1999,
                  numbers=None, labels=None, **members):
        """A sale with one item of the same name, made through the running server. `numbers`: (first, last)."""
        stock = {"units": units}
        if numbers is not None:
            stock = {"numbers": {"first": numbers[0], "last": numbers[1]}, **({"labels": labels} if labels else {})}
        organiser = self.token("organiser", "organiser")
        with self.connect() as connection:
            made = connection.ask("POST", "/api/admin/sales", organiser,
                                  {"saleId": sale, "title": f"Sale {sale}", "opensAt": opens, "closesAt": closes,
                                   "limitPerBuyer": limit, "payWithin": pay_within, **members})
            expect(made, 201)
            added = connection.ask("POST", "/api/admin/items", organiser,
                                   {"saleId": sale, "itemId": item or sale, "title": "Thing", **stock,
                                    "price": {"value": price, "currency": "EUR"}})
            expect(added, 201)

    def buy(self, item, buyer, quantity=None, key=None, connection=None, path=None, headers=None):
        body = None if quantity is None else {"quantity": quantity}
        extra = list(headers or []) + ([("Idempotency-Key", key)] if key is not None else [])
        ask = (connection or self).ask
        return ask("POST", path or PURCHASE.format(item), self.token(buyer), body, extra)

    def claim(self, item, buyer, body=None, key=None, connection=None):
        """A claim with any body."""
        extra = [("Idempotency-Key", key)] if key is not None else []
        return (connection or self).ask("POST", PURCHASE.format(item), self.token(buyer), body, extra)

    def order(self, order, buyer):
        return self.ask("GET", ORDER.format(order), self.token(buyer))

    def stock(self, item):
        return expect(self.ask("GET", f"/api/flash-sales/items/{item}"), 200).json()

    def counts(self, item):
        """(total, free, held, sold); fails unless they add up."""
        seen = self.stock(item)
        if seen["free"] + seen["held"] + seen["sold"] != seen["total"] or min(
                seen["free"], seen["held"], seen["sold"]) < 0:
            raise AssertionError(f"the counts do not add up: {seen}")
        return seen["total"], seen["free"], seen["held"], seen["sold"]

    # Payments.

    def start_payment(self, order, buyer):
        return expect(self.ask("POST", ORDER.format(order) + "/payment", self.token(buyer), {"gateway": "sandbox"}),
                      201).json()["paymentId"]

    def complete(self, payment, outcome="approve", **members):
        return expect(self.ask("POST", f"/api/payments/sandbox/{payment}/complete", None,
                               {"outcome": outcome, **members}), 202)

    def money(self, payment):
        return expect(self.ask("GET", f"/api/payments/sandbox/{payment}"), 200).json()

    def pay(self, order, buyer):
        """Pays and waits until the order says so."""
        payment = self.start_payment(order, buyer)
        self.complete(payment)
        self.wait_for_status(order, buyer, "PAID")
        return payment

    def wait_for_status(self, order, buyer, status, seconds=WAIT_S):
        def seen():
            answer = expect(self.order(order, buyer), 200).json()
            return answer if answer["status"] == status else None
        return until(seen, seconds, f"order {order} to be {status}")

    def webhook(self, event, at=None, signature=None, headers=None):
        """Sends a webhook as the sandbox would, signed by its key."""
        body = event if isinstance(event, bytes) else json.dumps(event).encode()
        sent = [("X-Sandbox-Signature", signature or self.sign_webhook(body, at)), *(headers or [])]
        return self.ask("POST", "/api/payments/sandbox/webhook", None, body, sent)

    def sign_webhook(self, body, at=None):
        with open(os.path.join(self.data, "sandbox.secret"), "rb") as file:
            key = file.read().removesuffix(b"\n")
        seconds = str(int(time.time()) if at is None else int(at))
        mac = hmac.new(key, seconds.encode() + b"." + body, hashlib.sha256).hexdigest()
        return f"t={seconds},v1={mac}"


def event(kind, payment, value=1999, currency="EUR", **members):
    """An event of the sandbox."""
    return {"id": "evt_" + os.urandom(16).hex(), "type": kind, "paymentId": payment,
            "amount": {"value": value, "currency": currency}, "createdAt": "2026-01-01T00:00:00.000Z", **members}


def build_library(name, folder):
    """Compiles NAME.c beside this file into a library for LD_PRELOAD and gives its path."""
    library = os.path.join(folder, name + ".so")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), name + ".c")
    subprocess.run([os.environ.get("CC", "cc"), "-O1", "-shared", "-fPIC", "-o", library, source, "-ldl"],
                   check=True, capture_output=True, timeout=60)
    return library


def expect(answer, status, code=None):
    """Gives the answer back if it is the one expected."""
    if answer.status != status or (code is not None and answer.code() != code):
        raise AssertionError(f"expected {status} {code or ''}, got {answer}")
    return answer


def routes():
    """(name, method, pattern, audience) of every route, read from the program's own table."""
    with open(os.path.join(ROOT, "src/http/routes.h"), encoding="utf-8") as file:
        text = file.read()
    found = re.findall(r'Route\{RouteId::(\w+), Method::(\w+), "([^"]+)", Audience::(\w+)\}', text)
    if len(found) < 30:
        raise AssertionError("the table of routes was not found in src/http/routes.h")
    return [(name, method.rstrip("_").upper(), pattern, audience) for name, method, pattern, audience in found]


def main():
    """Runs the tests of the calling file."""
    if not os.access(BINARY, os.X_OK):
        sys.exit(f"{BINARY} cannot be run: ./dev build, or name a program in WEIR_BINARY")
    unittest.main(verbosity=2)
