"""Money: one live payment an order, notices in any order and number, late money, and signatures."""

import itertools
import json
import os
import threading
import time
import unittest

import shop
from buying_test import ShopTest, parse_time
from shop import ORDER, PURCHASE, Shop, event, expect, request_bytes, until


class PaymentTest(ShopTest):

    settings = ["--sale.payment_grace_s", "0"]  # Late is late at once.

    def held(self, item, buyer="ana"):
        return expect(self.shop.buy(item, buyer), 202).json()["orderId"]

    def start(self, order, buyer="ana", body=None, headers=None):
        return self.shop.ask("POST", ORDER.format(order) + "/payment", self.shop.token(buyer), body, headers)

    def test_a_payment_is_started_once_and_ends_the_order_as_paid(self):
        self.shop.make_sale("pay", units=3)
        order = self.held("pay")
        answer = expect(self.start(order, body={"gateway": "sandbox"}), 201)
        payment = answer.json()
        self.assertEqual(payment["gateway"], "sandbox")
        self.assertTrue(payment.get("clientSecret") or payment.get("redirectUrl"))
        self.assertIn("expiresAt", payment)
        self.assertEqual(answer.headers["cache-control"], "no-store")
        self.assertEqual(expect(self.start(order, body={}), 201).json()["paymentId"], payment["paymentId"])
        self.shop.complete(payment["paymentId"])
        paid = self.shop.wait_for_status(order, "ana", "PAID")
        self.assertIn("paidAt", paid)
        until(lambda: self.shop.counts("pay") == (3, 2, 0, 1), 2)
        self.refuse(self.start(order, body={}), 409, "NOT_PAYABLE")
        money = self.shop.money(payment["paymentId"])
        self.assertEqual((money["captured"], money["refunded"], money["refunds"]), (1999, 0, []))

    def test_a_payment_needs_an_order_that_is_held_and_a_gateway_that_is_there(self):
        self.shop.make_sale("pay-wrong", units=3)
        order = self.held("pay-wrong")
        for body in ({"gateway": "none"}, {"gateway": 5}, {"gateway": None}, {"amount": 1}, {"gateway": ""}):
            self.refuse(self.start(order, body=body), 400, "INVALID_REQUEST")
        self.refuse(self.start("0" * 32, body={}), 404, "UNKNOWN_ORDER")
        expect(self.shop.ask("DELETE", ORDER.format(order), self.shop.token("ana")), 200)
        self.refuse(self.start(order, body={}), 409, "NOT_PAYABLE")

    def test_the_sandbox_checks_what_it_is_told(self):
        self.shop.make_sale("sandbox", units=3)
        payment = self.shop.start_payment(self.held("sandbox"), "ana")
        path = f"/api/payments/sandbox/{payment}/complete"
        for body in ({}, {"outcome": "maybe"}, {"outcome": "approve", "times": 0}, {"outcome": "approve", "times": 21},
                     {"outcome": "approve", "delayMs": -1}, {"outcome": "approve", "delayMs": 900_001},
                     {"outcome": "approve", "delayMs": 1.5}, {"outcome": "approve", "amount": 1}):
            self.refuse(self.shop.ask("POST", path, None, body), 400, "INVALID_REQUEST")
        for unknown in ("0" * 32, "nonsense"):
            self.refuse(self.shop.ask("GET", f"/api/payments/sandbox/{unknown}"), 404, "UNKNOWN_PAYMENT")
            self.refuse(self.shop.ask("POST", f"/api/payments/sandbox/{unknown}/complete", None,
                                      {"outcome": "approve"}), 404, "UNKNOWN_PAYMENT")

    def test_B048_F71_twenty_starts_at_once_are_one_payment(self):
        self.shop.make_sale("b048", units=1)
        order = self.held("b048")
        connections = [self.shop.connect() for _ in range(10)]
        for connection in connections:
            connection.send(request_bytes("POST", ORDER.format(order) + "/payment", self.shop.token("ana"), {}) * 2)
        answers = [connection.read() for connection in connections for _ in range(2)]
        for connection in connections:
            connection.close()
        self.assertEqual({answer.status for answer in answers}, {201})
        self.assertEqual(len({answer.json()["paymentId"] for answer in answers}), 1)

    def test_B026_after_a_refused_card_the_same_order_is_paid_by_another(self):
        self.shop.make_sale("b026", units=1)
        order = self.held("b026")
        first = self.shop.start_payment(order, "ana")
        self.shop.complete(first, "decline")
        until(lambda: "DECLINED" in self.shop.cli("explain", order).stdout.upper(), what="the declined payment")
        self.assertEqual(self.shop.order(order, "ana").json()["status"], "PENDING")
        self.refuse(self.shop.buy("b026", "bob"), 410, "SOLD_OUT", mayReturn=True)
        self.shop.pay(order, "ana")
        until(lambda: self.shop.counts("b026") == (1, 0, 0, 1), 2)

    def test_B027_F62_late_money_for_a_unit_that_is_gone_goes_back(self):
        self.shop.make_sale("b027", units=1, pay_within="2s")
        order = self.held("b027")
        payment = self.shop.start_payment(order, "ana")
        until(lambda: self.shop.buy("b027", "bob").status == 202, 8, "Bob's purchase of the returned unit")
        self.shop.complete(payment)
        late = until(lambda: (seen := self.shop.order(order, "ana").json()).get("refund", {}).get("state") == "DONE"
                     and seen)
        self.assertEqual((late["status"], late["refund"]["amount"]["value"]), ("EXPIRED", 1999))
        money = self.shop.money(payment)
        self.assertEqual((money["captured"], money["refunded"], len(money["refunds"])), (1999, 1999, 1))

    def test_F62_late_money_is_kept_while_the_unit_is_still_free(self):
        self.shop.make_sale("late", units=1, pay_within="1s")
        order = self.held("late")
        payment = self.shop.start_payment(order, "ana")
        self.shop.wait_for_status(order, "ana", "EXPIRED")
        self.shop.complete(payment)
        self.shop.wait_for_status(order, "ana", "PAID")
        until(lambda: self.shop.counts("late") == (1, 0, 0, 1), 2)
        self.assertEqual(self.shop.money(payment)["refunded"], 0)

    def test_B029_money_for_a_cancelled_order_goes_back(self):
        self.shop.make_sale("b029", units=1)
        order = self.held("b029")
        payment = self.shop.start_payment(order, "ana")
        expect(self.shop.ask("DELETE", ORDER.format(order), self.shop.token("ana")), 200)
        self.shop.complete(payment, times=3)
        seen = until(lambda: (row := self.shop.order(order, "ana").json()).get("refund", {}).get("state") == "DONE"
                     and row)
        self.assertEqual(seen["status"], "CANCELLED")
        self.assertEqual(self.shop.money(payment)["refunded"], 1999)
        self.assertEqual(self.shop.counts("b029"), (1, 1, 0, 0))

    def test_B038_notices_and_questions_at_the_same_moment_pay_each_order_once(self):
        self.shop.make_sale("b038", units=200, limit=200)
        with self.shop.connect(timeout=30) as connection:
            claims = [request_bytes("POST", PURCHASE.format("b038"), self.shop.token("bulk"))] * 200
            orders = [answer.json()["orderId"] for answer in connection.ask_all(claims)]
            started = connection.ask_all([request_bytes("POST", ORDER.format(order) + "/payment",
                                                        self.shop.token("bulk"), {}) for order in orders])
            payments = [answer.json()["paymentId"] for answer in started]
            connection.ask_all([request for order, payment in zip(orders, payments) for request in (
                request_bytes("POST", f"/api/payments/sandbox/{payment}/complete", None,
                              {"outcome": "approve", "times": 2}),
                request_bytes("POST", ORDER.format(order) + "/payment", self.shop.token("bulk"), {}))])
        until(lambda: self.shop.counts("b038") == (200, 0, 0, 200), 20)


    def test_F71_one_order_takes_money_once_however_often_it_is_tried(self):
        self.shop.make_sale("f71", units=2)
        order = self.held("f71")
        payment = self.shop.start_payment(order, "ana")
        self.shop.complete(payment, "decline")
        until(lambda: "DECLINED" in self.shop.cli("explain", order).stdout.upper(), what="the declined payment")
        again = self.shop.start_payment(order, "ana")
        for outcome in ("approve", "approve", "decline", "approve"):
            self.shop.complete(again, outcome, times=2)
        self.shop.wait_for_status(order, "ana", "PAID")
        until(lambda: self.shop.counts("f71") == (2, 1, 0, 1), 2)
        money = [self.shop.money(known) for known in {payment, again}]
        self.assertEqual(sum(row["captured"] - row["refunded"] for row in money), 1999)
        self.assertEqual(self.shop.order(order, "ana").json()["status"], "PAID")

    def test_F63_starting_a_payment_extends_the_time_to_pay_once(self):
        with Shop(["--sale.payment_grace_s", "3"]) as server:
            server.start()
            server.make_sale("grace", units=2, pay_within="2s")
            made = expect(server.buy("grace", "ana"), 202).json()
            order, due = made["orderId"], parse_time(made["payBy"])
            server.start_payment(order, "ana")
            extended = parse_time(server.order(order, "ana").json()["payBy"])
            self.assertGreater(extended, due + 0.5)
            self.assertLessEqual(extended, due + 3.1)
            for _ in range(3):
                server.start_payment(order, "ana")
            self.assertEqual(parse_time(server.order(order, "ana").json()["payBy"]), extended)
            until(lambda: time.time() > due + 0.3, 5)
            self.assertEqual(server.order(order, "ana").json()["status"], "PENDING")
            ended = server.wait_for_status(order, "ana", "EXPIRED", 6)
            self.assertLessEqual(time.time() - extended, 2.0)
            self.assertEqual(parse_time(ended["payBy"]), extended)


class WebhookTest(ShopTest):

    def held(self, item, buyer="ana"):
        order = expect(self.shop.buy(item, buyer), 202).json()["orderId"]
        return order, self.shop.start_payment(order, buyer)

    def test_B037_one_event_twenty_times_at_once_counts_once(self):
        self.shop.make_sale("b037", units=1)
        order, payment = self.held("b037")
        body = json.dumps(event("payment.captured", payment)).encode()
        sent = request_bytes("POST", "/api/payments/sandbox/webhook", None, body,
                             [("X-Sandbox-Signature", self.shop.sign_webhook(body))])
        connections = [self.shop.connect() for _ in range(20)]
        for connection in connections:
            connection.send(sent)
        answers = [connection.read() for connection in connections]
        for connection in connections:
            connection.close()
        self.assertEqual({answer.status for answer in answers}, {200})
        results = [answer.json()["result"] for answer in answers]
        self.assertEqual((results.count("repeated"), len(set(results))), (19, 2))
        self.assertEqual(self.shop.order(order, "ana").json()["status"], "PAID")
        paid = [line for line in json.loads(self.shop.cli("explain", order, "--json").stdout)["lines"]
                if line["what"].upper() == "PAID"]
        self.assertLessEqual(len(paid), 1)
        until(lambda: self.shop.counts("b037") == (1, 0, 0, 1), 2)

    def test_B121_F69_a_webhook_is_signed_fresh_and_has_no_second_effect(self):
        self.shop.make_sale("b121", units=1)
        order, payment = self.held("b121")
        now = time.time()
        captured = event("payment.captured", payment)
        body = json.dumps(captured).encode()
        good = self.shop.sign_webhook(body)
        wrong = [self.shop.sign_webhook(body, now - 302), self.shop.sign_webhook(body, now + 302),
                 self.shop.sign_webhook(body + b" "), good[:-1] + ("0" if good[-1] != "0" else "1"),
                 good.replace("t=", "t=1"), good.upper(), good + ",v1=" + good[-64:], "v1=" + good[-64:], "t=,v1=",
                 "nonsense", f"t={int(now)},v1=" + "0" * 64]
        for signature in wrong:
            self.refuse(self.shop.webhook(captured, signature=signature), 400, "BAD_SIGNATURE")
        self.refuse(self.shop.webhook(captured, signature=good, headers=[("X-Sandbox-Signature", good)]), 400,
                    "BAD_SIGNATURE")
        self.refuse(self.shop.ask("POST", "/api/payments/sandbox/webhook", None, body), 400, "BAD_SIGNATURE")
        self.refuse(self.shop.ask("POST", "/api/payments/none/webhook", None, body), 404, "UNKNOWN_GATEWAY")
        self.assertEqual(self.shop.order(order, "ana").json()["status"], "PENDING")
        expect(self.shop.webhook(captured, at=now - 298), 200)
        self.shop.wait_for_status(order, "ana", "PAID")
        for at in (now - 298, now, now + 298):
            self.assertEqual(expect(self.shop.webhook(captured, at=at), 200).json()["result"], "repeated")
        self.shop.kill()
        self.shop.start()
        self.assertEqual(expect(self.shop.webhook(captured), 200).json()["result"], "repeated")
        self.assertEqual(self.shop.counts("b121"), (1, 0, 0, 1))

    def test_B043_events_of_nobody_are_stored_and_change_nothing(self):
        before = self.shop.audit()["items"]
        unknown = os.urandom(16).hex()
        for sent in (event("payment.captured", unknown), event("payment.declined", unknown),
                     event("refund.done", unknown, refundId=os.urandom(16).hex()),
                     event("customer.created", unknown), event("payment.captured", unknown, metadata={}),
                     event("payment.captured", unknown, metadata=None)):
            answer = self.shop.webhook(sent)
            self.assertIn(answer.status, (200, 400), sent)
        for sent in (b"", b"{}", b"null", b"[]", b'{"id":null}', b"\xff\xfe", b'{"id":"evt_1","type":"x"}'):
            self.refuse(self.shop.webhook(sent), 400, "BAD_SIGNATURE")
        self.assertEqual(self.shop.audit()["items"], before)

    def test_B032_B042_the_first_final_notice_wins_in_every_order(self):
        kinds = ("payment.declined", "payment.captured", "payment.captured", "other.kind")
        self.shop.make_sale("b042", units=24, limit=24)
        for order_of in itertools.permutations(range(4)):
            order, payment = self.held("b042")
            events = [event(kind, payment) for kind in kinds]
            for number in order_of:
                expect(self.shop.webhook(events[number]), 200)
            self.assertEqual(self.shop.order(order, "ana").json()["status"], "PAID", order_of)
        until(lambda: self.shop.counts("b042") == (24, 0, 0, 24), 2)

    def test_F70_money_that_does_not_match_is_not_a_payment(self):
        self.shop.make_sale("f70", units=4, limit=4)
        for value, currency in ((1998, "EUR"), (2000, "EUR"), (1999, "USD"), (0, "EUR")):
            order, payment = self.held("f70")
            answer = self.shop.webhook(event("payment.captured", payment, value, currency))
            self.assertIn(answer.status, (200, 400))
            self.assertNotEqual(self.shop.order(order, "ana").json()["status"], "PAID", (value, currency))
        self.assertEqual(self.shop.counts("f70")[3], 0)

    def test_B040_a_notice_before_its_order_is_recorded_is_never_lost(self):
        # The payment is known only after the order is, so the earliest notice is one of an event sent at once.
        self.shop.make_sale("b040", units=50, limit=50)
        orders = []

        def buy_and_pay():
            for _ in range(5):
                order, payment = self.held("b040", "busy")
                expect(self.shop.webhook(event("payment.captured", payment)), 200)
                orders.append(order)
        threads = [threading.Thread(target=buy_and_pay) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        self.assertEqual(len(orders), 20)
        for order in orders:
            self.assertEqual(self.shop.order(order, "busy").json()["status"], "PAID")


class CrashedPaymentTest(unittest.TestCase):

    def test_money_that_was_captured_is_told_after_a_crash(self):
        with Shop() as server:
            server.start()
            server.make_sale("crash", units=20, limit=20)
            orders = [expect(server.buy("crash", "ana"), 202).json()["orderId"] for _ in range(20)]
            payments = [server.start_payment(order, "ana") for order in orders]
            for payment in payments:
                server.complete(payment, times=2)
            server.kill()
            server.start()
            # Delayed events may be lost by a crash; what the network has captured is told.
            for order, payment in zip(orders, payments):
                if server.money(payment)["captured"]:
                    server.wait_for_status(order, "ana", "PAID")
                else:
                    self.assertEqual(server.order(order, "ana").json()["status"], "PENDING")
            server.audit()


if __name__ == "__main__":
    shop.main()
