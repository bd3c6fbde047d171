"""What a buyer asks for and gets: claims, keys, orders, cancelling, expiry, and what anybody may see."""

import calendar
import json
import re
import time
import unittest

import shop
from shop import ORDER, PURCHASE, Connection, Shop, expect, request_bytes, until

TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")


class ShopTest(unittest.TestCase):
    """One server for all tests of a class; at its end every invariant must hold."""

    settings = []

    @classmethod
    def setUpClass(cls):
        cls.shop = Shop(cls.settings).start()

    @classmethod
    def tearDownClass(cls):
        try:
            cls.shop.audit()
        finally:
            cls.shop.close()

    def refuse(self, answer, status, code, **members):
        expect(answer, status, code)
        seen = answer.json()
        self.assertTrue(seen["message"])
        self.assertEqual(answer.headers["cache-control"], "no-store")
        for name, value in members.items():
            self.assertEqual(seen.get(name), value, answer)
        return seen


class ClaimTest(ShopTest):

    def test_a_claim_is_answered_with_everything_a_buyer_needs(self):
        self.shop.make_sale("claim", units=5, limit=3)
        answer = expect(self.shop.buy("claim", "ana", 2), 202)
        order = answer.json()
        self.assertEqual(set(order), {"orderId", "status", "quantity", "amount", "payBy", "statusUrl"})
        self.assertEqual((order["status"], order["quantity"]), ("PENDING", 2))
        self.assertEqual(order["amount"], {"value": 3998, "currency": "EUR"})
        self.assertRegex(order["payBy"], TIME)
        self.assertRegex(order["orderId"], r"^[0-9a-f]{32}$")
        self.assertEqual(order["statusUrl"], ORDER.format(order["orderId"]))
        self.assertEqual(answer.headers["location"], order["statusUrl"])
        self.assertGreaterEqual(int(answer.headers["retry-after"]), 1)
        self.assertEqual(answer.headers["cache-control"], "no-store")
        seen = expect(self.shop.order(order["orderId"], "ana"), 200)
        self.assertEqual(seen.headers["cache-control"], "no-store")
        self.assertEqual(set(seen.json()), {"orderId", "status", "itemId", "saleId", "quantity", "amount", "createdAt",
                                            "payBy"})
        self.assertEqual(self.shop.counts("claim"), (5, 3, 2, 0))

    def test_an_empty_body_and_an_empty_object_claim_one_unit(self):
        self.shop.make_sale("empty", units=5)
        for buyer, body in (("a", None), ("b", b""), ("c", b"{}"), ("d", b" { } ")):
            answer = self.shop.ask("POST", PURCHASE.format("empty"), self.shop.token(buyer), body)
            self.assertEqual(expect(answer, 202).json()["quantity"], 1)

    def test_B052_B093_only_a_plain_whole_number_is_a_quantity(self):
        self.shop.make_sale("digits", units=2000, limit=1000)
        wrong = ["-5", "-0", "0", "-1", "1.5", "1.0", "1e0", '"1"', "true", "[1]", "null", "{}", "01", "+1", "1001",
                 "-2147483648", "4294967297", "99999999999999999999", "1e400", "0x1", "NaN"]
        with self.shop.connect() as connection:
            for value in wrong:
                answer = connection.ask("POST", PURCHASE.format("digits"), self.shop.token("ana"),
                                        '{"quantity":' + value + "}")
                self.refuse(answer, 400, "INVALID_REQUEST")
                self.assertIn(answer.json()["field"], ("quantity", "body"), value)
            twice = connection.ask("POST", PURCHASE.format("digits"), self.shop.token("ana"),
                                   '{"quantity":1,"quantity":5}')
            self.refuse(twice, 400, "INVALID_REQUEST")
            self.assertEqual(self.shop.counts("digits"), (2000, 2000, 0, 0))
            most = expect(self.shop.buy("digits", "ana", 1000, connection=connection), 202).json()
            self.assertEqual(most["quantity"], 1000)

    def test_B007_what_is_not_known_or_belongs_to_numbered_stock_is_refused(self):
        self.shop.make_sale("strict", units=3, limit=5)
        for body, field in (('{"lines":[{"item":"X","quantity":2},{"item":"X","quantity":2}]}', "lines"),
                            ('{"numbers":[7]}', "numbers"), ('{"random":1}', "random"), ('{"partial":true}', "partial"),
                            ('{"quantity":1,"price":1}', "price"), ('{"quantity":1,"user_id":"eve"}', "user_id"),
                            ('{"status":"PAID"}', "status"), ("[]", "body"), ("1", "body"), ('{"quantity":1', "body"),
                            ('{"quantity":1}x', "body"), ("[" * 40 + "]" * 40, "body")):
            answer = self.shop.ask("POST", PURCHASE.format("strict"), self.shop.token("ana"), body)
            self.refuse(answer, 400, "INVALID_REQUEST", field=field)
        text = self.shop.ask("POST", PURCHASE.format("strict"), self.shop.token("ana"), '{"quantity":1}',
                             [("Content-Type", "text/plain")])
        self.refuse(text, 415, "UNSUPPORTED_MEDIA_TYPE")
        self.assertEqual(self.shop.counts("strict"), (3, 3, 0, 0))

    def test_more_than_the_limit_leaves_is_limit_reached_with_the_numbers(self):
        self.shop.make_sale("one", units=9)
        self.refuse(self.shop.buy("one", "ana", 2), 409, "LIMIT_REACHED", limit=1, held=0)
        order = expect(self.shop.buy("one", "ana"), 202).json()["orderId"]
        self.refuse(self.shop.buy("one", "ana"), 409, "ALREADY_PURCHASED", orderId=order)
        self.shop.make_sale("four", units=9, limit=4)
        self.assertEqual([self.shop.buy("four", "ana", n).status for n in (3, 3, 1, 1)], [202, 409, 202, 409])
        self.refuse(self.shop.buy("four", "ana", 1), 409, "LIMIT_REACHED", limit=4, held=4)
        self.refuse(self.shop.buy("four", "bob", 5), 409, "LIMIT_REACHED", limit=4, held=0)

    def test_F57_the_limit_spans_the_items_of_a_sale(self):
        self.shop.make_sale("span", units=5)
        organiser = self.shop.token("o", "organiser")
        expect(self.shop.ask("POST", "/api/admin/items", organiser,
                             {"saleId": "span", "itemId": "span-2", "title": "Two", "units": 5,
                              "price": {"value": 1, "currency": "EUR"}}), 201)
        first = expect(self.shop.buy("span", "ana"), 202).json()["orderId"]
        self.refuse(self.shop.buy("span-2", "ana"), 409, "ALREADY_PURCHASED", orderId=first)

    def test_a_closed_door_says_why(self):
        self.shop.make_sale("later", opens="+1h", closes="+2h")
        opens = expect(self.shop.ask("GET", "/api/flash-sales/later"), 200).json()["opensAt"]
        self.refuse(self.shop.buy("later", "ana"), 403, "NOT_OPEN", opensAt=opens)
        self.refuse(self.shop.buy("nowhere", "ana"), 404, "UNKNOWN_ITEM")
        self.shop.make_sale("door")
        organiser = self.shop.token("o", "organiser")
        expect(self.shop.ask("POST", "/api/admin/sales/door/pause", organiser), 200)
        self.refuse(self.shop.buy("door", "ana"), 403, "NOT_OPEN")
        expect(self.shop.ask("POST", "/api/admin/sales/door/resume", organiser), 200)
        expect(self.shop.buy("door", "ana"), 202)
        expect(self.shop.ask("POST", "/api/admin/sales/door/close", organiser), 200)
        self.refuse(self.shop.buy("door", "bob"), 410, "SALE_ENDED")

    def test_a_sale_opens_by_itself_and_shows_its_address_only_then(self):
        self.shop.make_sale("dawn", opens="+2s", secretUrl=True)
        path = "/api/flash-sales/dawn"
        for _ in range(3):
            self.assertNotIn("purchase", self.shop.ask("GET", path).body.decode())
            self.assertNotIn("purchase", self.shop.ask("GET", path + "/state").body.decode())
        self.refuse(self.shop.buy("dawn", "ana"), 404, "UNKNOWN_ITEM")  # The secret is missing.
        sale = until(lambda: (seen := self.shop.ask("GET", path).json())["state"] == "OPEN" and seen, 5)
        url = sale["items"][0]["purchaseUrl"]
        self.assertRegex(url, r"^/api/flash-sales/items/dawn/purchase\?k=.{16,}$")
        state = self.shop.ask("GET", path + "/state").json()
        self.assertEqual((state["phase"], state["purchaseUrls"]), ("OPEN", {"dawn": url}))
        for wrong in ("", "?k=", "?k=wrong", url[len(PURCHASE.format("dawn")):-1], "?K=" + url.partition("=")[2]):
            self.refuse(self.shop.buy("dawn", "ana", path=PURCHASE.format("dawn") + wrong), 404, "UNKNOWN_ITEM")
        expect(self.shop.buy("dawn", "ana", path=url), 202)

    def test_sold_out_says_whether_units_may_return(self):
        self.shop.make_sale("gone", units=3, limit=3)
        order = expect(self.shop.buy("gone", "ana", 2), 202).json()["orderId"]
        self.refuse(self.shop.buy("gone", "bob", 2), 410, "SOLD_OUT", mayReturn=True)
        other = expect(self.shop.buy("gone", "bob", 1), 202).json()["orderId"]
        self.refuse(self.shop.buy("gone", "eve"), 410, "SOLD_OUT", mayReturn=True)
        self.assertEqual(self.shop.stock("gone")["state"], "ALL_HELD")
        self.shop.pay(order, "ana")
        self.shop.pay(other, "bob")
        until(lambda: self.shop.stock("gone")["state"] == "SOLD_OUT")
        self.refuse(self.shop.buy("gone", "eve"), 410, "SOLD_OUT", mayReturn=False)


class KeyTest(ShopTest):

    def test_the_same_key_and_request_meet_the_first_order(self):
        self.shop.make_sale("keys", units=50, limit=20)
        first = expect(self.shop.buy("keys", "ana", key="K"), 202).json()
        for body in (None, "{}", '{"quantity":1}', ' {\n "quantity" : 1 } '):
            again = self.shop.ask("POST", PURCHASE.format("keys"), self.shop.token("ana"), body,
                                  [("Idempotency-Key", "K")])
            self.assertEqual(expect(again, 202).json(), first)
            self.assertEqual(again.headers["location"], first["statusUrl"])
        self.refuse(self.shop.buy("keys", "ana", 2, key="K"), 422, "KEY_REUSED")
        self.shop.make_sale("keys-2", units=50, limit=20)
        self.refuse(self.shop.buy("keys-2", "ana", key="K"), 422, "KEY_REUSED")
        other = expect(self.shop.buy("keys", "bob", key="K"), 202).json()
        self.assertNotEqual(other["orderId"], first["orderId"])
        self.assertEqual(self.shop.counts("keys"), (50, 48, 2, 0))

    def test_keys_have_1_to_255_characters_once(self):
        self.shop.make_sale("key-form", units=9, limit=9)
        for key in ("", "k" * 256):
            self.refuse(self.shop.buy("key-form", "ana", key=key), 400, "INVALID_REQUEST", field="Idempotency-Key")
        twice = self.shop.buy("key-form", "ana", key="a", headers=[("Idempotency-Key", "a")])
        self.refuse(twice, 400, "INVALID_REQUEST", field="Idempotency-Key")
        expect(self.shop.buy("key-form", "ana", key="k" * 255), 202)

    def test_B044_a_refusal_is_not_kept_under_a_key_and_routes_do_not_share_answers(self):
        self.shop.make_sale("b044", units=2, limit=9)
        path, token, key = PURCHASE.format("b044"), self.shop.token("carl"), [("Idempotency-Key", "K")]
        self.refuse(self.shop.ask("POST", path, token, '{"quantity":0}', key), 400, "INVALID_REQUEST")
        self.refuse(self.shop.ask("POST", path, token, '{"quantity":3}', key), 410, "SOLD_OUT")
        mine = expect(self.shop.ask("POST", path, token, '{"quantity":1}', key), 202).json()["orderId"]
        other = expect(self.shop.buy("b044", "carl", key="L"), 202).json()["orderId"]
        cancelled = self.shop.ask("DELETE", ORDER.format(other), token, None, key)
        self.assertIn((cancelled.status, cancelled.code()), ((200, ""), (422, "KEY_REUSED")))
        if cancelled.status == 200:
            self.assertEqual(cancelled.json()["orderId"], other)
        self.assertEqual(self.shop.order(mine, "carl").json()["status"], "PENDING")

    def test_a_key_outlives_its_order(self):
        self.shop.make_sale("ended", units=1)
        order = expect(self.shop.buy("ended", "dora", key="K"), 202).json()["orderId"]
        expect(self.shop.ask("DELETE", ORDER.format(order), self.shop.token("dora")), 200)
        again = expect(self.shop.buy("ended", "dora", key="K"), 202).json()
        self.assertEqual((again["orderId"], again["status"]), (order, "CANCELLED"))
        self.assertEqual(self.shop.counts("ended"), (1, 1, 0, 0))
        # Also when the item is sold out by then, and after a restart.
        expect(self.shop.buy("ended", "bob"), 202)
        self.assertEqual(expect(self.shop.buy("ended", "dora", key="K"), 202).json()["status"], "CANCELLED")
        self.shop.kill()
        self.shop.start()
        self.assertEqual(expect(self.shop.buy("ended", "dora", key="K"), 202).json()["orderId"], order)
        self.refuse(self.shop.buy("ended", "dora", key="L"), 410, "SOLD_OUT")

    def test_B049_a_double_click_without_a_key_is_one_order(self):
        self.shop.make_sale("b049", units=5)
        with self.shop.connect() as one, self.shop.connect() as two:
            for connection in (one, two):
                connection.send(request_bytes("POST", PURCHASE.format("b049"), self.shop.token("ana")))
            answers = [one.read(), two.read()]
        self.assertEqual(sorted(answer.status for answer in answers), [202, 409])
        self.assertEqual(len({answer.json()["orderId"] for answer in answers}), 1)


class OrderTest(ShopTest):

    def test_B022_B035_cancelling_is_repeatable_and_returns_the_units_once(self):
        self.shop.make_sale("cancel", units=3)
        token = self.shop.token("ana")
        for _ in range(2):
            order = expect(self.shop.buy("cancel", "ana"), 202).json()["orderId"]
            connections = [self.shop.connect() for _ in range(10)]
            for connection in connections:
                connection.send(request_bytes("DELETE", ORDER.format(order), token) * 5)
            answers = [connection.read() for connection in connections for _ in range(5)]
            for connection in connections:
                connection.close()
            self.assertEqual({(answer.status, answer.body) for answer in answers}, {(200, answers[0].body)})
            self.assertEqual(answers[0].json()["status"], "CANCELLED")
            until(lambda: self.shop.counts("cancel") == (3, 3, 0, 0), 2)
        life = self.shop.cli("explain", order, "--json")
        self.assertEqual(sum("CANCEL" in line["what"].upper() for line in json.loads(life.stdout)["lines"]), 1, life)

    def test_B033_after_cancelling_the_same_buyer_buys_again(self):
        self.shop.make_sale("rebuy", units=1)
        first = expect(self.shop.buy("rebuy", "ana"), 202).json()["orderId"]
        expect(self.shop.ask("DELETE", ORDER.format(first), self.shop.token("ana")), 200)
        second = until(lambda: (answer := self.shop.buy("rebuy", "ana")).status == 202 and answer, 1).json()["orderId"]
        self.assertNotEqual(first, second)
        self.shop.pay(second, "ana")
        self.refuse(self.shop.ask("DELETE", ORDER.format(second), self.shop.token("ana")), 409, "NOT_CANCELLABLE")
        self.assertEqual(self.shop.order(first, "ana").json()["status"], "CANCELLED")

    def test_B111_foreign_and_unknown_orders_are_the_same_404(self):
        self.shop.make_sale("mine", units=5)
        order = expect(self.shop.buy("mine", "ana"), 202).json()["orderId"]
        bob = self.shop.token("bob")
        unknown = "0" * 31 + "1"
        for method, suffix, body in (("GET", "", None), ("DELETE", "", None), ("POST", "/payment", {}),
                                     ("HEAD", "", None)):
            answers = []
            for target in (order, unknown, "nonsense"):
                with self.shop.connect() as connection:
                    answers.append(connection.ask(method, ORDER.format(target) + suffix, bob, body))
            self.assertEqual({(answer.status, answer.body) for answer in answers}, {(404, answers[0].body)}, method)
            self.assertEqual(answers[0].headers["cache-control"], "no-store")
        # No other spelling of the address leads there, also not for its owner.
        ana = self.shop.token("ana")
        for path in (order + "/", "/" + order, order.upper(), "%2e/" + order, order + "%20", "./" + order):
            for token in (ana, bob):
                self.assertEqual(self.shop.ask("GET", ORDER.format(path), token).status, 404, path)
        self.assertEqual(self.shop.ask("GET", ORDER.format(order) + "?user=ana", bob).status, 404)
        self.assertEqual(self.shop.ask("GET", ORDER.format(order)).status, 401)
        self.assertEqual(self.shop.order(order, "ana").json()["status"], "PENDING")

    def test_the_list_is_newest_first_and_goes_on_at_its_cursor(self):
        self.shop.make_sale("many", units=200, limit=200)
        with self.shop.connect() as connection:
            made = [answer.json()["orderId"] for answer in connection.ask_all(
                [request_bytes("POST", PURCHASE.format("many"), self.shop.token("lister"))] * 120)]
        found, path = [], "/api/flash-sales/orders"
        for _ in range(3):
            page = expect(self.shop.ask("GET", path, self.shop.token("lister")), 200).json()
            found += page["orders"]
            self.assertEqual("cursor" in page, len(found) < 120)
            path = "/api/flash-sales/orders?cursor=" + page.get("cursor", "")
        self.assertEqual(len(found), 120)
        self.assertEqual({order["orderId"] for order in found}, set(made))
        times = [order["createdAt"] for order in found]
        self.assertEqual(times, sorted(times, reverse=True))
        nobody = self.shop.ask("GET", "/api/flash-sales/orders", self.shop.token("nobody")).json()
        self.assertEqual(nobody["orders"], [])
        wrong = self.shop.ask("GET", "/api/flash-sales/orders?cursor=wrong", self.shop.token("lister"))
        self.refuse(wrong, 400, "INVALID_REQUEST", field="cursor")

    def test_me_is_the_same_on_every_tab_until_the_attempt_has_ended(self):
        self.shop.make_sale("me", units=5)
        path, ana = "/api/flash-sales/me/me", self.shop.token("ana")

        def me():
            answer = expect(self.shop.ask("GET", path, ana), 200)
            self.assertEqual(answer.headers["cache-control"], "no-store")
            return answer.json()
        fresh = me()
        self.assertEqual((fresh["bought"], fresh["limit"], fresh["orders"]), (0, 1, []))
        order = expect(self.shop.buy("me", "ana", key=fresh["attemptId"]), 202).json()["orderId"]
        held = me()
        self.assertEqual((held["bought"], held["attemptId"]), (1, fresh["attemptId"]))
        self.assertEqual([row["orderId"] for row in held["orders"]], [order])
        self.assertEqual(expect(self.shop.buy("me", "ana", key=held["attemptId"]), 202).json()["orderId"], order)
        expect(self.shop.ask("DELETE", ORDER.format(order), ana), 200)
        ended = me()
        self.assertEqual(ended["bought"], 0)
        self.assertNotEqual(ended["attemptId"], fresh["attemptId"])
        second = expect(self.shop.buy("me", "ana", key=ended["attemptId"]), 202).json()
        self.assertEqual(second["status"], "PENDING")
        self.assertNotEqual(second["orderId"], order)
        self.refuse(self.shop.ask("GET", "/api/flash-sales/none/me", ana), 404, "UNKNOWN_SALE")


class ExpiryTest(ShopTest):

    def test_B018_B036_an_unpaid_unit_returns_in_time_and_may_be_bought_by_anybody(self):
        self.shop.make_sale("expiry", units=1, pay_within="2s")
        order = expect(self.shop.buy("expiry", "ana"), 202).json()
        self.refuse(self.shop.buy("expiry", "bob"), 410, "SOLD_OUT", mayReturn=True)
        due = parse_time(order["payBy"])
        bought = until(lambda: (answer := self.shop.buy("expiry", "bob")).status == 202 and answer, 6)
        late = time.time() - due
        self.assertGreaterEqual(late, -0.001, "never before its time")
        self.assertLessEqual(late, 2.0)
        print(f"returned {late * 1000:.0f} ms after payBy", flush=True)
        self.assertEqual(self.shop.order(order["orderId"], "ana").json()["status"], "EXPIRED")
        self.refuse(self.shop.ask("DELETE", ORDER.format(order["orderId"]), self.shop.token("ana")), 409,
                    "NOT_CANCELLABLE")
        self.refuse(self.shop.ask("POST", ORDER.format(order["orderId"]) + "/payment", self.shop.token("ana"), {}), 409,
                    "NOT_PAYABLE")
        # Bob leaves; Ana may try again although an earlier order of hers has expired.
        expect(self.shop.ask("DELETE", ORDER.format(bought.json()["orderId"]), self.shop.token("bob")), 200)
        expect(until(lambda: (answer := self.shop.buy("expiry", "ana")).status == 202 and answer, 1), 202)

    def test_B024_F65_expiry_needs_no_traffic(self):
        self.shop.make_sale("silent", units=1, pay_within="1s")
        order = expect(self.shop.buy("silent", "ana"), 202).json()["orderId"]

        def ended():
            # The ledger's own word, past the server: nobody asks it anything.
            lines = json.loads(self.shop.cli("explain", order, "--json").stdout)["lines"]
            return [line for line in lines if "EXPIRED" in line["what"].upper()]
        line = until(ended, 4)[0]
        made = json.loads(self.shop.cli("explain", order, "--json").stdout)["lines"][0]["at"]
        self.assertLessEqual(parse_time(line["at"]) - parse_time(made) - 1.0, 1.0)

    def test_B087_the_zone_of_the_machine_changes_nothing(self):
        with Shop(env={"TZ": "America/St_Johns"}) as server:
            server.start()
            server.make_sale("zone", units=1, pay_within="10m", opens="2026-01-01T02:30:00+02:00",
                             closes="2099-01-01T00:00:00Z")
            sale = server.ask("GET", "/api/flash-sales/zone").json()
            self.assertEqual(sale["opensAt"], "2026-01-01T00:30:00.000Z")
            order = expect(server.buy("zone", "ana"), 202).json()
            self.assertAlmostEqual(parse_time(order["payBy"]) - time.time(), 600, delta=1.5)


class PublicTest(ShopTest):

    def test_what_anybody_may_see_is_cacheable_and_says_when_it_was_so(self):
        self.shop.make_sale("public", units=2)
        sale = expect(self.shop.ask("GET", "/api/flash-sales/public"), 200)
        self.assertEqual(sale.json()["limitPerBuyer"], 1)
        self.assertEqual(sale.json()["items"][0]["price"], {"value": 1999, "currency": "EUR"})
        listed = expect(self.shop.ask("GET", "/api/flash-sales"), 200)
        row = next(row for row in listed.json()["sales"] if row["saleId"] == "public")
        self.assertEqual(set(row), {"saleId", "title", "state", "opensAt", "closesAt"})
        item = expect(self.shop.ask("GET", "/api/flash-sales/items/public"), 200)
        self.assertEqual(set(item.json()),
                         {"itemId", "total", "free", "held", "sold", "state", "version", "asOf"})
        for answer in (sale, listed, item, expect(self.shop.ask("GET", "/api/flash-sales/public/state"), 200)):
            self.assertRegex(answer.headers["cache-control"], r"^public, max-age=\d+$")
            self.assertTrue(answer.headers["etag"].startswith('"'))
            self.assertRegex(answer.json()["asOf"], TIME)
        for path in ("none", "none/state"):
            self.refuse(self.shop.ask("GET", f"/api/flash-sales/{path}"), 404, "UNKNOWN_SALE")
        self.refuse(self.shop.ask("GET", "/api/flash-sales/items/none"), 404, "UNKNOWN_ITEM")

    def test_an_unchanged_item_is_304_until_something_is_bought(self):
        self.shop.make_sale("etag", units=2)
        path = "/api/flash-sales/items/etag"
        first = self.shop.ask("GET", path)
        same = self.shop.ask("GET", path, headers=[("If-None-Match", first.headers["etag"])])
        self.assertEqual((same.status, same.body, same.headers["etag"]), (304, b"", first.headers["etag"]))
        expect(self.shop.buy("etag", "ana"), 202)
        changed = expect(self.shop.ask("GET", path, headers=[("If-None-Match", first.headers["etag"])]), 200)
        self.assertNotEqual(changed.headers["etag"], first.headers["etag"])
        self.assertGreater(changed.json()["version"], first.json()["version"])

    def test_an_unchanged_sale_list_or_state_is_304_however_much_later(self):
        self.shop.make_sale("still", units=2)
        for path in ("", "/still", "/still/state"):
            path = "/api/flash-sales" + path
            first = expect(self.shop.ask("GET", path), 200)
            tag = first.headers["etag"]
            # The moment of the answer goes on, what it says does not.
            until(lambda: self.shop.ask("GET", path).json()["asOf"] > first.json()["asOf"], 3)
            for given in (tag, "W/" + tag, f'"other", {tag}'):
                same = self.shop.ask("GET", path, headers=[("If-None-Match", given)])
                self.assertEqual((same.status, same.body, same.headers["etag"]), (304, b"", tag), path)
            self.assertEqual(self.shop.ask("GET", path, headers=[("If-None-Match", '"other"')]).status, 200)
        sale, state = (self.shop.ask("GET", f"/api/flash-sales/{path}").headers["etag"]
                       for path in ("still", "still/state"))
        expect(self.shop.buy("still", "ana"), 202)
        changed = self.shop.ask("GET", "/api/flash-sales/still", headers=[("If-None-Match", sale)])
        self.assertEqual((changed.status, changed.json()["items"][0]["free"]), (200, 1))
        until(lambda: self.shop.ask("GET", "/api/flash-sales/still/state",
                                    headers=[("If-None-Match", state)]).status == 200, 3)
        sales = self.shop.ask("GET", "/api/flash-sales").headers["etag"]
        expect(self.shop.ask("POST", "/api/admin/sales/still/pause", self.shop.token("boss", "organiser"), {}), 200)
        expect(self.shop.ask("GET", "/api/flash-sales", headers=[("If-None-Match", sales)]), 200)

    def test_the_state_is_made_once_a_second_whatever_the_crowd(self):
        self.shop.make_sale("state", units=2)
        path = "/api/flash-sales/state/state"
        with self.shop.connect() as connection:
            begin = time.monotonic()
            answers = connection.ask_all([request_bytes("GET", path)] * 200)
            seconds = time.monotonic() - begin
            self.assertLessEqual(len({answer.body for answer in answers}), 2 + int(seconds))
            same = connection.ask("GET", path, headers=[("If-None-Match", answers[-1].headers["etag"])])
            self.assertIn(same.status, (200, 304))
        for buyer in ("ana", "bob"):
            expect(self.shop.buy("state", buyer), 202)
        state = until(lambda: (seen := self.shop.ask("GET", path).json())["stock"]["state"]["free"] == 0 and seen, 3)
        self.assertEqual(state["stock"]["state"]["state"], "ALL_HELD")
        self.assertGreater(parse_time(state["stock"]["state"]["returnsUntil"]), time.time() + 600)
        self.assertGreater(state["pollAfterMs"], 0)

    def test_the_clock_is_told_in_utc(self):
        answer = expect(self.shop.ask("GET", "/api/time"), 200)
        self.assertAlmostEqual(parse_time(answer.json()["now"]), time.time(), delta=1.5)

    def test_a_guest_is_a_plain_buyer_of_the_tenant(self):
        self.shop.make_sale("guest", units=2)
        answer = expect(self.shop.ask("POST", "/api/auth/guest"), 200)
        token = answer.json()["token"]
        expect(self.shop.ask("POST", PURCHASE.format("guest"), token), 202)
        self.assertEqual(self.shop.ask("GET", "/api/admin/sales", token).status, 403)
        # B113: nothing in the body makes him more than that.
        for member in ("role", "roles", "is_admin", "tenant", "scopes", "sub"):
            self.refuse(self.shop.ask("POST", "/api/auth/guest", None, {member: "admin"}), 400, "INVALID_REQUEST")

    def test_the_operations_listener_is_apart(self):
        for path in ("/metrics", "/healthz", "/readyz"):
            self.assertEqual(self.shop.ask("GET", path).status, 404, path)
            expect(self.shop.operations(path), 200)
        with Connection(self.shop.ops_port) as connection:
            self.assertEqual(connection.ask("GET", "/api/flash-sales").status, 404)


def parse_time(text):
    """Seconds since 1970 of an answer's time."""
    whole, _, milliseconds = text.rstrip("Z").partition(".")
    return calendar_seconds(whole) + int(milliseconds) / 1000


def calendar_seconds(text):
    return calendar.timegm(time.strptime(text, "%Y-%m-%dT%H:%M:%S"))


if __name__ == "__main__":
    shop.main()
