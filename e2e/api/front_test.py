"""The front door: malformed requests, order of answers, tokens, limits of rate, caches, metrics."""

import json
import os
import re
import signal
import socket
import threading
import time
import unittest

import shop
from buying_test import ShopTest
from shop import ORDER, PURCHASE, Shop, base64url, expect, request_bytes, sign_token, until


def purchase(item, token, *headers):
    return (f"POST {PURCHASE.format(item)} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {token}\r\n" +
            "".join(f"{header}\r\n" for header in headers))


class RequestTest(ShopTest):

    def raw(self, data):
        """The statuses of all answers to some bytes, until the server closes or has nothing more to say."""
        with self.shop.connect(timeout=3) as connection:
            connection.send(data)
            statuses = []
            try:
                while True:
                    statuses.append(connection.read().status)
            except ConnectionError:
                return statuses, True
            except (TimeoutError, socket.timeout):
                return statuses, False

    def test_B096_a_smuggled_request_is_never_run(self):
        self.shop.make_sale("smuggle", units=9)
        token = self.shop.token("eve")
        hidden = purchase("smuggle", token) + "\r\n"
        outer = "POST /api/auth/guest HTTP/1.1\r\nHost: a\r\n"
        for framing in ("Content-Length: 0\r\nTransfer-Encoding: chunked", f"Content-Length: {len(hidden)}\r\n"
                        "Transfer-Encoding: chunked", "Transfer-Encoding: chunked, gzip", "Transfer-Encoding: gzip",
                        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "Transfer-Encoding: xchunked",
                        "Transfer-Encoding : chunked", "Content-Length: 1\r\nContent-Length: 2", "Content-Length: +5",
                        "Content-Length: -1", "Content-Length: 0x5", "Content-Length: 5, 5", "X: a\r\n folded",
                        "X: a\nY: b", "X\x00: a", "Host: b"):
            statuses, is_closed = self.raw((outer + framing + "\r\n\r\n0\r\n\r\n" + hidden).encode())
            self.assertEqual(len(statuses), 1, framing)
            self.assertIn(statuses[0], (400, 501), framing)
            self.assertTrue(is_closed, framing)
        self.assertEqual(self.shop.counts("smuggle"), (9, 9, 0, 0))

    def test_B098_pipelined_answers_come_in_the_order_of_the_requests(self):
        self.shop.make_sale("order", units=9, limit=9)
        token = self.shop.token("ana")
        first = expect(self.shop.buy("order", "ana"), 202).json()["orderId"]
        requests = [request_bytes("POST", PURCHASE.format("order"), token, {"quantity": 1}, [("X-Request-Id", "r0")]),
                    request_bytes("GET", "/api/time", None, None, [("X-Request-Id", "r1")]),
                    request_bytes("GET", ORDER.format(first), token, None, [("X-Request-Id", "r2")]),
                    request_bytes("GET", "/nothing", None, None, [("X-Request-Id", "r3")]),
                    request_bytes("DELETE", ORDER.format(first), token, None, [("X-Request-Id", "r4")]),
                    request_bytes("GET", "/api/flash-sales/order", None, None, [("X-Request-Id", "r5")])]
        with self.shop.connect() as connection:
            for _ in range(3):
                answers = connection.ask_all(requests)
                self.assertEqual([answer.headers["x-request-id"] for answer in answers], [f"r{n}" for n in range(6)])
                self.assertEqual([answer.status for answer in answers], [202, 200, 200, 404, 200, 200])
                self.assertIn("now", answers[1].json())
                self.assertEqual(answers[2].json()["orderId"], first)
                self.assertEqual(answers[5].json()["saleId"], "order")

    def test_every_answer_names_its_request(self):
        ids = {self.shop.ask("GET", path).headers["x-request-id"] for path in ("/api/time", "/none", "/", "/api/time")}
        self.assertEqual(len(ids), 4)
        own = self.shop.ask("GET", "/api/time", headers=[("X-Request-Id", "mine-1")])
        self.assertEqual(own.headers["x-request-id"], "mine-1")
        odd = self.shop.ask("GET", "/api/time", headers=[("X-Request-Id", 'x" y\x7f')])
        self.assertNotIn('"', odd.headers["x-request-id"])

    def test_what_is_too_large_is_refused_and_closed(self):
        too_long = f"Content-Length: {16 * 1024 + 1}"
        for data, status in ((f"POST /api/auth/guest HTTP/1.1\r\nHost: a\r\n{too_long}\r\n\r\n", 413),
                             ("GET /" + "a" * 5000 + " HTTP/1.1\r\nHost: a\r\n\r\n", 414),
                             ("GET /api/time HTTP/1.1\r\nHost: a\r\nX: " + "a" * 17000 + "\r\n\r\n", 431),
                             ("GET /api/time HTTP/1.1\r\nHost: a\r\n" + "X: a\r\n" * 101 + "\r\n", 431),
                             ("GET /api/time HTTP/2.0\r\nHost: a\r\n\r\n", 505), ("nonsense\r\n\r\n", 400),
                             ("GET /api/time HTTP/1.1\r\n\r\n", 400),
                             ("GET /api/time HTTP/1.1\r\nHost: a\r\nExpect: tea\r\n\r\n", 417)):
            statuses, is_closed = self.raw(data.encode())
            self.assertEqual(statuses, [status], data[:60])
            self.assertTrue(is_closed, data[:60])

    def test_B100_a_slow_request_ends_with_408_and_honest_buyers_do_not_notice(self):
        self.shop.make_sale("slow", units=1000, limit=1000)
        slow = [self.shop.connect(timeout=20) for _ in range(100)]
        for connection in slow:
            connection.send(b"GET /api/time HTTP/1.1\r\nHost: a\r\n")
        begin = time.monotonic()
        slowest = 0.0
        with self.shop.connect() as honest:
            while time.monotonic() - begin < 4:
                at = time.monotonic()
                expect(self.shop.buy("slow", "ana", connection=honest), 202)
                slowest = max(slowest, time.monotonic() - at)
                for connection in slow[:3]:
                    connection.send(b"X")
                time.sleep(0.05)
        self.assertLess(slowest, 1.0)
        for connection in slow:
            self.assertEqual(connection.read().status, 408)
            connection.close()
        self.assertLess(time.monotonic() - begin, 14)

    def test_B104_a_range_with_many_parts_costs_no_more_than_the_file(self):
        whole = expect(self.shop.ask("GET", "/"), 200)
        parts = self.shop.ask("GET", "/", headers=[("Range", "bytes=" + ",".join(["0-"] * 2000))])
        self.assertIn(parts.status, (200, 416))
        self.assertLessEqual(len(parts.body), len(whole.body))
        for name in ("content-security-policy", "x-content-type-options", "referrer-policy", "etag"):
            self.assertIn(name, whole.headers)
        same = self.shop.ask("GET", "/", headers=[("If-None-Match", whole.headers["etag"])])
        self.assertEqual((same.status, same.body), (304, b""))
        for path in ("/../dev", "/%2e%2e/dev", "//", "/index.html/"):
            self.assertEqual(self.shop.ask("GET", path).status, 404, path)


class IdentityTest(ShopTest):

    def test_B105_a_token_is_ours_or_worth_nothing(self):
        path = "/api/flash-sales/orders"
        now = int(time.time())
        good = {"sub": "ana", "exp": now + 600}
        key = self.shop.key
        expect(self.shop.ask("GET", path, sign_token(key, good)), 200)
        signed = sign_token(key, good)
        head, body, mac = signed.split(".")

        def unsigned(header):
            return base64url(json.dumps(header).encode()) + "." + body + "."
        bad = [unsigned({"alg": alg}) for alg in ("none", "None", "NONE", "nOnE", "", None, 5, ["HS256"])]
        bad += [unsigned({}), unsigned({"alg": "none"}) + mac, head + "." + body, head + "." + body + ".", signed[:-1],
                signed + "=", signed + ".x.y", "", "x", "a.b.c", signed.replace(".", "..", 1),
                head + "." + base64url(json.dumps({**good, "role": "admin"}).encode()) + "." + mac]
        bad += [sign_token(key, good, header) for header in
                ({"alg": "HS384"}, {"alg": "RS256"}, {"alg": "hs256"}, {"alg": "HS256", "crit": ["x"]},
                 {"alg": "HS256", "jku": "http://x"}, {"alg": "HS256", "jwk": {}})]
        bad += [sign_token(b"k" * 32, good), sign_token(b"", good)]
        bad += [sign_token(key, {**good, **members}) for members in
                ({"exp": now - 5}, {"exp": "never"}, {"exp": -1}, {"exp": None}, {"exp": 2 ** 63}, {"nbf": now + 300},
                 {"sub": ""}, {"sub": 5}, {"sub": "s" * 129}, {"role": "king"}, {"role": 1}, {"tenant": "other"})]
        bad += [sign_token(key, {"sub": "ana"}), sign_token(key, {"exp": now + 600}),
                sign_token(key, f'{{"sub":"ana","exp":{now + 600},"role":"buyer","role":"admin"}}'),
                sign_token(key, f'{{"sub":"ana","exp":{now + 600}.5e3}}'), sign_token(key, "[" * 5000 + "]" * 5000)]
        for token in bad:
            answer = self.shop.ask("GET", path, headers=[("Authorization", f"Bearer {token}")])
            self.assertEqual(answer.status, 401, f"{token[:120]}: {answer}")
            self.refuse(answer, 401, "UNAUTHENTICATED")
            self.assertEqual(answer.headers["www-authenticate"], "Bearer")
        for value in (signed, f"Basic {signed}", f"Bearer  {signed}", f"Bearer {signed} x", "Bearer"):
            self.assertEqual(self.shop.ask("GET", path, headers=[("Authorization", value)]).status, 401, value[:20])
        twice = self.shop.ask("GET", path, signed, headers=[("Authorization", f"Bearer {signed}")])
        self.assertEqual(twice.status, 401)
        self.assertEqual(self.shop.ask("GET", path + "?token=" + signed).status, 401)
        self.assertEqual(self.shop.ask("GET", path, "a." + "b" * 14000 + ".c").status, 401)

    def test_keys_are_read_again_when_told(self):
        with Shop() as server:
            server.start()
            old = server.token("ana")
            path = "/api/flash-sales/orders"
            expect(server.ask("GET", path, old), 200)
            secret = os.path.join(server.data, "auth.secret")
            with open(secret, "w", encoding="ascii") as file:
                file.write("k" * 10)  # Not fit: the old keys stay.
            server.signal(signal.SIGHUP)
            until(lambda: "keys_not_reloaded" in server.log(), 5)
            expect(server.ask("GET", path, old), 200)
            server.key = b"a new key of well over thirty-two bytes"
            with open(secret, "wb") as file:
                file.write(server.key + b"\n")
            server.signal(signal.SIGHUP)
            until(lambda: server.ask("GET", path, old).status == 401, 5, "the end of the old key")
            expect(server.ask("GET", path, server.token("ana")), 200)
            guest = expect(server.ask("POST", "/api/auth/guest"), 200).json()["token"]
            expect(server.ask("GET", path, guest), 200)

    def test_a_token_ends_when_it_says(self):
        token = self.shop.token("ana", exp=int(time.time()) + 2)
        with self.shop.connect() as connection:
            self.assertEqual(connection.ask("GET", "/api/flash-sales/orders", token).status, 200)
            until(lambda: connection.ask("GET", "/api/flash-sales/orders", token).status == 401, 5)

    def test_B128_no_personal_answer_may_be_kept(self):
        self.shop.make_sale("private", units=2)
        order = expect(self.shop.buy("private", "ana"), 202).json()["orderId"]
        token = self.shop.token("ana")
        for method, path in (("GET", ORDER.format(order)), ("GET", ORDER.format(order) + ".css"),
                             ("GET", ORDER.format("0" * 32)), ("GET", "/api/flash-sales/orders"),
                             ("GET", "/api/flash-sales/private/me"), ("POST", ORDER.format(order) + "/payment"),
                             ("POST", PURCHASE.format("private")), ("DELETE", ORDER.format(order)),
                             ("POST", "/api/auth/guest"), ("GET", "/api/admin/sales"), ("GET", "/api/nothing")):
            answer = self.shop.ask(method, path, token)
            self.assertEqual(answer.headers.get("cache-control"), "no-store", f"{method} {path}: {answer}")
            self.assertNotIn("etag", answer.headers)

    def test_B126_a_form_of_another_site_changes_nothing(self):
        self.shop.make_sale("csrf", units=2)
        organiser = self.shop.token("boss", "organiser")
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
            answer = self.shop.ask("POST", "/api/admin/items/csrf/stock", organiser, '{"delta":5,"key":"k"}',
                                   [("Content-Type", kind)])
            self.refuse(answer, 415, "UNSUPPORTED_MEDIA_TYPE")
        self.assertNotIn("access-control-allow-origin",
                         self.shop.ask("GET", "/api/flash-sales", headers=[("Origin", "http://evil.example")]).headers)
        self.assertEqual(self.shop.counts("csrf"), (2, 2, 0, 0))

    def test_B129_metrics_hold_no_ids_and_stay_few_whatever_is_asked(self):
        self.shop.make_sale("metrics", units=2)
        order = expect(self.shop.buy("metrics", "person-17"), 202).json()["orderId"]
        before = len(self.shop.operations("/metrics").body.splitlines())
        with self.shop.connect() as connection:
            connection.ask_all([request_bytes("GET", f"/random/{n}", None, None, [("User-Agent", f"agent-{n}")],
                                              host=f"h{n}.example") for n in range(200)])
            connection.ask_all([request_bytes("GET", ORDER.format(f"{n:032x}"), self.shop.token(f"buyer-{n}"))
                                for n in range(200)])
        text = self.shop.operations("/metrics").body.decode()
        self.assertLess(len(text.splitlines()), before + 5)
        self.assertLess(len([line for line in text.splitlines() if not line.startswith("#")]), 2000)
        for secret in (order, "person-17", "buyer-", "random", "agent-", ".example", "127.0.0.1"):
            self.assertNotIn(secret, text)
        for line in text.splitlines():
            self.assertRegex(line, r'^(#.*|[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [-+0-9.eEinfNa]+)$')
        # The log neither.
        self.assertNotIn("person-17", self.shop.log())
        self.assertIsNone(re.search(r"eyJ[\w-]+\.", self.shop.log()))


class RateTest(unittest.TestCase):

    def setUp(self):
        self.shop = Shop(rates=True)
        self.addCleanup(self.shop.close)
        self.shop.start()

    def statuses(self, requests):
        with self.shop.connect() as connection:
            return [answer.status for answer in connection.ask_all(requests)]

    def orders(self, buyer, count=1, **headers):
        sent = [(name.replace("_", "-"), value) for name, value in headers.items()]
        return [request_bytes("GET", "/api/flash-sales/orders", self.shop.token(buyer), None, sent)] * count

    def test_a_buyer_has_ten_requests_a_second_and_is_told_when_to_come_again(self):
        statuses = self.statuses(self.orders("ana", 40))
        self.assertGreaterEqual(statuses.count(200), 10)
        self.assertLess(statuses.count(200), 25)
        self.assertEqual(set(statuses), {200, 429})
        self.assertEqual(set(self.statuses(self.orders("bob", 5))), {200})

        def refused():
            answer = self.shop.ask("GET", "/api/flash-sales/orders", self.shop.token("ana"))
            return answer if answer.status == 429 else None
        answer = until(refused)
        expect(answer, 429, "TOO_MANY_REQUESTS")
        self.assertGreaterEqual(int(answer.headers["retry-after"]), 1)
        until(lambda: self.statuses(self.orders("ana")) == [200], 5)

    def test_B114_behind_a_trusted_proxy_the_right_most_address_counts(self):
        # 250 buyers of one address share its limit; what a client wrote to the left of it changes nothing.
        def crowd(prefix, forwarded):
            return self.statuses([request for number in range(250) for request in
                                  self.orders(f"{prefix}{number}", X_Forwarded_For=forwarded(number))])
        one = crowd("a", lambda number: f"10.9.{number}.1, 198.51.100.7")
        self.assertIn(429, one)
        self.assertGreaterEqual(one.count(200), 200)
        # Nobody can lock out the one whose address he claims to have.
        self.assertEqual(set(self.statuses(self.orders("victim", X_Forwarded_For="10.9.5.1"))), {200})
        self.assertEqual(set(crowd("b", lambda number: f"203.0.113.{number}")), {200})
        # One /64 network is one address; several lines are one list; a listed proxy is passed over.
        self.assertIn(429, crowd("c", lambda number: f"2001:db8::{number + 1:x}"))
        self.assertIn(429, crowd("d", lambda number: f"10.1.{number}.1, 198.51.100.8, 127.0.0.1"))

    def test_B114_without_a_trusted_proxy_the_header_is_worth_nothing(self):
        with Shop(proxies=None, rates=True) as direct:
            direct.start()
            with direct.connect() as connection:
                path = "/api/flash-sales/orders"
                answers = connection.ask_all([request_bytes("GET", path, direct.token(f"x{n}"), None,
                                                            [("X-Forwarded-For", f"203.0.113.{n}")])
                                              for n in range(250)])
            self.assertIn(429, {answer.status for answer in answers})

    def test_strangers_are_counted_by_address_too(self):
        statuses = self.statuses([request_bytes("GET", "/api/flash-sales/orders", "nonsense", None,
                                                [("X-Forwarded-For", "198.51.100.9")])] * 250)
        self.assertEqual(set(statuses), {401, 429})

    def test_what_the_crowd_reads_is_not_limited(self):
        self.shop.make_sale("crowd", units=1)
        for path in ("/api/flash-sales/crowd/state", "/api/flash-sales/items/crowd", "/api/time"):
            statuses = []
            threads = [threading.Thread(target=lambda path=path: statuses.extend(
                self.statuses([request_bytes("GET", path)] * 200))) for _ in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(20)
            self.assertEqual(set(statuses), {200})


if __name__ == "__main__":
    shop.main()
