"""Exactly as many units are sold as there are, whatever the crowd does: over HTTP, through several connections."""

import random
import signal
import threading
import time
import unittest

import shop
from shop import ORDER, PURCHASE, Shop, expect, request_bytes, until


class Crowd:
    """Many buyers on a few connections, whose requests are all written before the first answer is read."""

    def __init__(self, server, connections):
        self.connections = [server.connect(timeout=30) for _ in range(connections)]

    def close(self):
        for connection in self.connections:
            connection.close()

    def rush(self, requests):
        """Sends requests spread over the connections and gives the answers in the order of the requests."""
        lanes = len(self.connections)
        for lane, connection in enumerate(self.connections):
            connection.send(b"".join(requests[lane::lanes]))
        answers = [None] * len(requests)
        for lane, connection in enumerate(self.connections):
            for at in range(lane, len(requests), lanes):
                answers[at] = connection.read()
        return answers


def claims(item, tokens):
    return [request_bytes("POST", PURCHASE.format(item), token) for token in tokens]


def tally(answers):
    """How many answers of each kind: the status, or the code of a refusal."""
    found = {}
    for answer in answers:
        kind = answer.code() or answer.status
        found[kind] = found.get(kind, 0) + 1
    return found


class ExactTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.shop = Shop().start()
        cls.tokens = cls.shop.tokens("crowd", 1000)

    @classmethod
    def tearDownClass(cls):
        try:
            cls.shop.audit()
        finally:
            cls.shop.close()

    def test_a_thousand_buyers_for_a_hundred_units_a_hundred_times(self):
        crowd = Crowd(self.shop, 8)
        orders = set()
        for number in range(100):
            item = f"hundred-{number}"
            self.shop.make_sale(item, units=100)
            answers = crowd.rush(claims(item, self.tokens))
            self.assertEqual(tally(answers), {202: 100, "SOLD_OUT": 900}, item)
            orders |= {answer.json()["orderId"] for answer in answers if answer.status == 202}
            self.assertEqual(self.shop.counts(item), (100, 0, 100, 0))
        crowd.close()
        self.assertEqual(len(orders), 100 * 100)

    def test_B001_the_last_three_units_go_to_three_of_fifty_buyers_a_thousand_times(self):
        crowd = Crowd(self.shop, 5)
        at_once = 20
        for first in range(0, 1000, at_once):
            items = [f"three-{number}" for number in range(first, first + at_once)]
            for item in items:
                self.shop.make_sale(item, units=3)
            # All buyers of all these sales at once, sale by sale within each buyer.
            answers = crowd.rush([claim for token in self.tokens[:50] for item in items
                                  for claim in claims(item, [token])])
            for number, item in enumerate(items):
                self.assertEqual(tally(answers[number::at_once]), {202: 3, "SOLD_OUT": 47}, item)
        crowd.close()

    def test_B003_what_a_reader_saw_earlier_grants_nothing(self):
        self.shop.make_sale("b003", units=5)
        crowd = Crowd(self.shop, 20)
        for answer in crowd.rush([request_bytes("GET", "/api/flash-sales/items/b003")] * 20):
            self.assertEqual(answer.json()["free"], 5)
        self.assertEqual(tally(crowd.rush(claims("b003", self.tokens[:20]))), {202: 5, "SOLD_OUT": 15})
        crowd.close()

    def test_B004_whoever_pays_at_the_same_time_never_holds_more_than_there_is(self):
        self.shop.make_sale("b004", units=4)
        seen = []
        is_over = threading.Event()

        def poll():
            with self.shop.connect() as connection:
                while not is_over.wait(0.002):
                    seen.append(connection.ask("GET", "/api/flash-sales/items/b004").json())

        poller = threading.Thread(target=poll)
        poller.start()
        try:
            until(lambda: seen, what="the first look at the stock")
            crowd = Crowd(self.shop, 12)
            answers = crowd.rush(claims("b004", self.tokens[:120]))
            crowd.close()
            self.assertEqual(tally(answers), {202: 4, "SOLD_OUT": 116})
            won = [(number, answer.json()["orderId"]) for number, answer in enumerate(answers) if answer.status == 202]
            payers = [threading.Thread(target=self.shop.pay, args=(order, f"crowd{number + 1}"))
                      for number, order in won]
            for payer in payers:
                payer.start()
            for payer in payers:
                payer.join(30)
            until(lambda: self.shop.counts("b004") == (4, 0, 0, 4), what="four sold units")
        finally:
            is_over.set()
            poller.join(10)
        for stock in seen:
            self.assertEqual(stock["free"] + stock["held"] + stock["sold"], 4, stock)
            self.assertGreaterEqual(min(stock["free"], stock["held"], stock["sold"]), 0, stock)
        # Sold for good: nothing returns any more.
        refused = expect(self.shop.buy("b004", "crowd999"), 410, "SOLD_OUT").json()
        self.assertFalse(refused["mayReturn"])

    def test_B006_any_mix_of_calls_adds_up_whenever_the_traffic_stops(self):
        self.shop.make_sale("b006", units=100, limit=3)
        rng = random.Random(6)
        own = {}  # Orders that a buyer may still hold.
        lock = threading.Lock()
        failures = []

        def mixed_calls(seed):
            dice = random.Random(seed)
            with self.shop.connect(timeout=30) as connection:
                for _ in range(150):
                    number = dice.randrange(400)
                    with lock:
                        order = own[number].pop() if own.get(number) and dice.random() < 0.6 else None
                    if order is None:
                        answer = connection.ask("POST", PURCHASE.format("b006"), self.tokens[number],
                                                {"quantity": dice.randint(1, 3)})
                        if answer.status == 202:
                            with lock:
                                own.setdefault(number, []).append(answer.json()["orderId"])
                        elif answer.code() not in ("SOLD_OUT", "LIMIT_REACHED"):
                            failures.append(answer)
                    else:
                        answer = connection.ask("DELETE", ORDER.format(order), self.tokens[number])
                        if answer.status != 200:
                            failures.append(answer)

        for _ in range(5):
            threads = [threading.Thread(target=mixed_calls, args=(rng.random(),)) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(60)
            self.assertEqual(failures, [])
            _, _, held, sold = self.shop.counts("b006")
            self.assertEqual(sold, 0)
            row = next(row for row in self.shop.audit()["items"] if row["itemId"] == "b006")
            self.assertEqual((row["total"], row["held"]), (100, held))
        findings = self.shop.ask("POST", "/api/admin/reconcile", self.shop.token("x", "admin"), {"dryRun": True})
        self.assertTrue(findings.json()["ok"], findings)

    def test_B009_I9_one_return_sells_exactly_one_more(self):
        self.shop.make_sale("b009", units=10)
        crowd = Crowd(self.shop, 10)
        answers = crowd.rush(claims("b009", self.tokens[:100]))
        self.assertEqual(tally(answers), {202: 10, "SOLD_OUT": 90})
        winner = next(number for number, answer in enumerate(answers) if answer.status == 202)
        loser = next(number for number, answer in enumerate(answers) if answer.status == 410)
        self.assertTrue(answers[loser].json()["mayReturn"])
        with self.shop.connect() as connection:
            path = ORDER.format(answers[winner].json()["orderId"])
            expect(connection.ask("DELETE", path, self.tokens[winner]), 200)
            begin = time.monotonic()
            until(lambda: self.shop.buy("b009", "newcomer", connection=connection).status == 202, 5)
            self.assertLess(time.monotonic() - begin, 1.0, "a returned unit can be bought within a second")
        self.assertEqual(tally(crowd.rush(claims("b009", self.tokens[100:200]))), {"SOLD_OUT": 100})
        self.assertEqual(self.shop.counts("b009"), (10, 0, 10, 0))
        crowd.close()

    def test_B010_a_second_click_burns_no_unit(self):
        self.shop.make_sale("b010", units=10)
        with self.shop.connect() as connection:
            first = expect(self.shop.buy("b010", "clicker", connection=connection), 202).json()["orderId"]
            click = request_bytes("POST", PURCHASE.format("b010"), self.shop.token("clicker"))
            again = connection.ask_all([click] * 250) + connection.ask_all([click] * 249)
            self.assertEqual({(answer.status, answer.code(), answer.json()["orderId"]) for answer in again},
                             {(409, "ALREADY_PURCHASED", first)})
            others = connection.ask_all(claims("b010", self.tokens[:9]))
            self.assertEqual(tally(others), {202: 9})

    def test_B012_nothing_loads_the_stock_again(self):
        self.shop.make_sale("b012", units=10)
        crowd = Crowd(self.shop, 10)
        self.assertEqual(tally(crowd.rush(claims("b012", self.tokens[:20]))), {202: 10, "SOLD_OUT": 10})
        organiser = self.shop.token("o", "organiser")
        for again in range(2):
            self.shop.signal(signal.SIGHUP)
            self.assertEqual(tally(crowd.rush(claims("b012", self.tokens[20:520]))), {"SOLD_OUT": 500})
            expect(self.shop.ask("POST", "/api/admin/sales/b012/pause", organiser), 200)
            expect(self.shop.ask("POST", "/api/admin/sales/b012/resume", organiser), 200)
            expect(self.shop.ask("POST", "/api/admin/items", organiser,
                                 {"saleId": "b012", "itemId": "b012", "title": "Thing", "units": 10,
                                  "price": {"value": 1999, "currency": "EUR"}}), 201)
            crowd.close()
            self.shop.stop() if again == 0 else self.shop.kill()
            self.shop.start()
            crowd = Crowd(self.shop, 10)
            self.assertEqual(tally(crowd.rush(claims("b012", self.tokens[20:520]))), {"SOLD_OUT": 500})
        crowd.close()
        self.assertEqual(self.shop.counts("b012"), (10, 0, 10, 0))

    def test_B014_parallel_clicks_of_one_buyer_take_one_unit(self):
        self.shop.make_sale("b014", units=2)
        crowd = Crowd(self.shop, 25)
        mine = [request_bytes("POST", PURCHASE.format("b014"), self.shop.token("a"))] * 100
        theirs = request_bytes("POST", PURCHASE.format("b014"), self.shop.token("b"))
        answers = crowd.rush(mine[:50] + [theirs] + mine[50:])
        crowd.close()
        self.assertEqual(answers[50].status, 202)
        self.assertEqual(tally(answers[:50] + answers[51:]), {202: 1, "ALREADY_PURCHASED": 99})
        self.assertEqual(self.shop.counts("b014"), (2, 0, 2, 0))

    def test_B046_the_same_key_a_hundred_times_at_once_is_one_order(self):
        self.shop.make_sale("b046", units=10, limit=5)
        crowd = Crowd(self.shop, 25)
        answers = crowd.rush([request_bytes("POST", PURCHASE.format("b046"), self.shop.token("twice"), None,
                                            [("Idempotency-Key", "K")])] * 100)
        crowd.close()
        orders = {answer.json()["orderId"] for answer in answers}
        self.assertEqual({answer.status for answer in answers} - {503}, {202}, tally(answers))
        self.assertEqual(len(orders), 1)
        self.assertEqual(self.shop.counts("b046"), (10, 9, 1, 0))

    def test_B050_F56_parallel_orders_never_pass_the_limit(self):
        self.shop.make_sale("b050", units=100, limit=4)
        crowd = Crowd(self.shop, 6)
        for buyer in range(20):
            path = PURCHASE.format("b050")
            answers = crowd.rush([request_bytes("POST", path, self.tokens[buyer], {"quantity": 2})] * 6)
            self.assertEqual(tally(answers), {202: 2, "LIMIT_REACHED": 4})
        crowd.close()
        self.assertEqual(self.shop.counts("b050"), (100, 20, 80, 0))


if __name__ == "__main__":
    shop.main()
