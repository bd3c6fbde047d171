"""What organisers and staff may do, and that nobody else may: roles, sales, stock, refunds, tenants."""

import time
import unittest

import shop
from buying_test import ShopTest, parse_time
from shop import ORDER, Shop, expect, routes, until

ALLOWED = {
    "everyone": {"nobody", "buyer", "support", "organiser", "admin"},
    "buyer": {"buyer", "support", "organiser", "admin"},
    "support": {"support", "organiser", "admin"},
    "organiser": {"organiser", "admin"},
}
ONLY_ADMIN = {"admin_create_tenant"}


class RoleTest(ShopTest):

    def test_every_route_is_closed_to_every_role_that_it_is_not_for(self):
        unknown = "0" * 32
        roles = ("nobody", "buyer", "support", "organiser", "admin")
        checked = 0
        for name, method, pattern, audience in routes():
            if audience == "operations":
                continue
            path = pattern.replace("{orderId}", unknown).replace("{paymentId}", unknown).replace("{gateway}", "none")
            path = path.replace("{saleId}", "none").replace("{itemId}", "none")
            allowed = {"admin"} if name in ONLY_ADMIN else ALLOWED[audience]
            for role in roles:
                token = None if role == "nobody" else self.shop.token(f"x-{role}", role)
                # A body that no route takes: whoever passes the door meets 400, 404 or a plain answer.
                body = {"nothing": 1} if method == "POST" else None
                if name == "purchase":
                    body = {}  # The one route that looks at the body before the token.
                answer = self.shop.ask(method, path, token, body)
                is_open = answer.status not in (401, 403)
                self.assertEqual(is_open, role in allowed, f"{method} {path} as {role}: {answer}")
                if not is_open:
                    self.assertEqual(answer.status, 401 if role == "nobody" else 403, f"{method} {path} as {role}")
                    self.assertEqual("www-authenticate" in answer.headers, answer.status == 401)
                checked += 1
        self.assertGreater(checked, 150)

    def test_an_address_takes_its_methods_only(self):
        taken = {}
        for _, method, pattern, audience in routes():
            if audience != "operations":
                taken.setdefault(pattern, set()).add(method)
        for pattern, methods in taken.items():
            path = pattern.replace("{", "").replace("}", "")
            for method in {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"} - methods:
                answer = self.shop.ask(method, path, self.shop.token("a", "admin"))
                self.assertIn(answer.status, (404, 405, 501), f"{method} {path}")
            if "GET" in methods:
                with self.shop.connect() as connection:
                    head = connection.ask("HEAD", path, self.shop.token("a", "admin"))
                    get = connection.ask("GET", path, self.shop.token("a", "admin"))
                    self.assertEqual((head.status, head.body), (get.status, b""), path)


class SaleTest(ShopTest):

    def setUp(self):
        self.organiser = self.shop.token("organiser", "organiser")

    def post(self, path, body=None, **options):
        return self.shop.ask("POST", path, self.organiser, body, **options)

    def sale(self, **members):
        return self.post("/api/admin/sales", {"saleId": "s", "title": "S", "opensAt": "now", "closesAt": "+1h",
                                              **members})

    def test_B089_times_keep_the_instant_and_need_an_offset(self):
        for number, (opens, instant) in enumerate((("2025-10-26T02:30:00+02:00", "2025-10-26T00:30:00.000Z"),
                                                   ("2025-10-26T02:30:00+01:00", "2025-10-26T01:30:00.000Z"),
                                                   ("2025-03-30T02:30:00+01:00", "2025-03-30T01:30:00.000Z"))):
            expect(self.sale(saleId=f"zone-{number}", opensAt=opens, closesAt="2099-01-01T00:00:00Z"), 201)
            seen = self.shop.ask("GET", f"/api/flash-sales/zone-{number}").json()
            self.assertEqual(seen["opensAt"], instant)
        for wrong in ("2025-10-26T02:30:00", "2025-10-26", "tomorrow", "", "2025-13-26T02:30:00Z",
                      "2025-10-26T25:30:00Z", "10m"):
            self.refuse(self.sale(saleId="wrong", opensAt=wrong), 400, "INVALID_REQUEST", field="opensAt")
        self.refuse(self.sale(saleId="wrong", opensAt=5), 400, "INVALID_REQUEST", field="opensAt")
        self.assertEqual(self.shop.ask("GET", "/api/flash-sales/wrong").status, 404)

    def test_a_sale_is_checked_before_it_is_made(self):
        for members, field in (({"closesAt": "now"}, "closesAt"), ({"limitPerBuyer": 0}, "limitPerBuyer"),
                               ({"limitPerBuyer": 1001}, "limitPerBuyer"), ({"limitPerBuyer": 1.5}, "limitPerBuyer"),
                               ({"payWithin": "0s"}, "payWithin"), ({"payWithin": 600}, "payWithin"),
                               ({"payWithin": "10"}, "payWithin"), ({"saleId": "a b"}, "saleId"),
                               ({"saleId": ""}, "saleId"), ({"saleId": "s" * 65}, "saleId"), ({"title": ""}, "title"),
                               ({"title": "t" * 201}, "title"), ({"secretUrl": "yes"}, "secretUrl"),
                               ({"tenant": "other"}, "tenant"), ({"state": "OPEN"}, "state")):
            self.refuse(self.sale(**members), 400, "INVALID_REQUEST", field=field)
        made = expect(self.sale(saleId="made", payWithin="90s", limitPerBuyer=2), 201).json()
        self.assertEqual(made["saleId"], "made")
        self.refuse(self.sale(saleId="made"), 409, "ALREADY_EXISTS")
        row = next(row for row in self.shop.ask("GET", "/api/admin/sales", self.organiser).json()["sales"]
                   if row["saleId"] == "made")
        self.assertEqual((row["state"], row["limitPerBuyer"], row["payWithin"]), ("OPEN", 2, "90s"))

    def test_items_are_checked_before_they_are_added(self):
        expect(self.sale(saleId="with-items"), 201)
        good = {"saleId": "with-items", "itemId": "thing", "title": "Thing", "units": 3,
                "price": {"value": 5, "currency": "EUR"}}
        for members, field in (({"units": -1}, "units"), ({"units": 1.0}, "units"), ({"units": "3"}, "units"),
                               ({"units": 10_000_001}, "units"), ({"units": 2 ** 63}, "units"),
                               ({"price": 5}, "price"), ({"price": {"value": -1, "currency": "EUR"}}, "price"),
                               ({"price": {"value": 1, "currency": "euro"}}, "price"),
                               ({"price": {"value": 1, "currency": "EUR", "x": 1}}, "price"),
                               ({"itemId": "a/b"}, "itemId"), ({"numbers": "1-5"}, "numbers")):
            self.refuse(self.post("/api/admin/items", {**good, **members}), 400, "INVALID_REQUEST", field=field)
        self.assertEqual(expect(self.post("/api/admin/items", good), 201).json(), {"itemId": "thing", "total": 3})
        # The same again is a repeat; anything else under this id is not.
        expect(self.post("/api/admin/items", good), 201)
        self.refuse(self.post("/api/admin/items", {**good, "units": 4}), 409, "ALREADY_EXISTS")
        self.refuse(self.post("/api/admin/items", {**good, "saleId": "none", "itemId": "x"}), 404, "UNKNOWN_SALE")
        self.assertEqual(self.shop.counts("thing"), (3, 3, 0, 0))

    def test_opening_pausing_and_closing_follow_the_rules(self):
        self.shop.make_sale("rules", opens="+1h", closes="+2h")
        path = "/api/admin/sales/rules/"
        before = time.time()
        opened = expect(self.post(path + "open"), 200).json()
        self.assertEqual(opened["state"], "OPEN")
        self.assertAlmostEqual(parse_time(opened["opensAt"]), before, delta=2)
        expect(self.shop.buy("rules", "ana"), 202)
        self.assertEqual(expect(self.post(path + "pause"), 200).json()["state"], "PAUSED")
        expect(self.post(path + "pause"), 200)
        # Payments and look-ups go on.
        order = self.shop.ask("GET", "/api/flash-sales/orders", self.shop.token("ana")).json()["orders"][0]["orderId"]
        self.shop.pay(order, "ana")
        self.assertEqual(expect(self.post(path + "resume"), 200).json()["state"], "OPEN")
        self.assertEqual(expect(self.post(path + "close"), 200).json()["state"], "CLOSED")
        expect(self.post(path + "close"), 200)
        for action in ("open", "pause", "resume"):
            self.refuse(self.post(path + action), 409, "NOT_ALLOWED")
        self.refuse(self.post("/api/admin/sales/none/open"), 404, "UNKNOWN_SALE")

    def test_B090_stock_never_falls_below_what_is_held_and_sold(self):
        self.shop.make_sale("stock", units=100, limit=100)
        expect(self.shop.buy("stock", "ana", 60), 202)
        path = "/api/admin/items/stock/stock"
        self.refuse(self.post(path, {"delta": -41, "key": "a"}), 409, "BELOW_COMMITTED", minimum=60)
        self.refuse(self.post(path, {"delta": -50, "key": "b"}), 409, "BELOW_COMMITTED", minimum=60)
        self.assertEqual(self.shop.counts("stock"), (100, 40, 60, 0))
        self.assertEqual(expect(self.post(path, {"delta": -40, "key": "c"}), 200).json(),
                         {"total": 60, "repeated": False})
        self.assertEqual(expect(self.post(path, {"delta": -40, "key": "c"}), 200).json(),
                         {"total": 60, "repeated": True})
        self.refuse(self.shop.buy("stock", "bob"), 410, "SOLD_OUT", mayReturn=True)
        self.assertEqual(expect(self.post(path, {"delta": 7, "key": "d"}), 200).json()["total"], 67)
        expect(self.shop.buy("stock", "bob"), 202)
        self.assertEqual(self.shop.counts("stock"), (67, 6, 61, 0))

    def test_B093_a_change_of_stock_is_a_whole_number_once_a_key(self):
        self.shop.make_sale("delta", units=5)
        path = "/api/admin/items/delta/stock"
        for delta in ("0", "-0", "1.5", "1e3", '"1"', "null", "99999999999999999999", "10000001", "-2147483649"):
            self.refuse(self.post(path, '{"key":"k","delta":' + delta + "}"), 400, "INVALID_REQUEST")
        self.refuse(self.post(path, {"delta": 1}), 400, "INVALID_REQUEST", field="key")
        self.refuse(self.post(path, {"delta": 1, "key": ""}), 400, "INVALID_REQUEST", field="key")
        self.refuse(self.post("/api/admin/items/none/stock", {"delta": 1, "key": "k"}), 404, "UNKNOWN_ITEM")
        self.assertEqual(self.shop.counts("delta"), (5, 5, 0, 0))
        by_header = self.post(path, {"delta": 1}, headers=[("Idempotency-Key", "h")])
        self.assertEqual(expect(by_header, 200).json()["total"], 6)


class RefundTest(ShopTest):

    def setUp(self):
        self.support = self.shop.token("support", "support")

    def refund(self, order, **members):
        return self.shop.ask("POST", f"/api/admin/orders/{order}/refund", self.support, members)

    def paid(self, item, buyer, quantity=1):
        order = expect(self.shop.buy(item, buyer, quantity), 202).json()["orderId"]
        return order, self.shop.pay(order, buyer)

    def test_a_refund_gives_money_and_unit_back_once(self):
        self.shop.make_sale("refund", units=2)
        order, payment = self.paid("refund", "ana")
        for _ in range(3):
            seen = expect(self.refund(order, reason="Torn"), 200).json()
            self.assertEqual((seen["orderId"], seen["refund"]["amount"]), (order, {"value": 1999, "currency": "EUR"}))
        done = until(lambda: (row := self.shop.order(order, "ana").json())["refund"]["state"] == "DONE" and row)
        self.assertEqual(done["status"], "REFUNDED")
        money = self.shop.money(payment)
        self.assertEqual((money["captured"], money["refunded"], len(money["refunds"])), (1999, 1999, 1))
        until(lambda: self.shop.counts("refund") == (2, 2, 0, 0), 2)
        expect(self.shop.buy("refund", "ana"), 202)
        life = expect(self.shop.ask("GET", f"/api/admin/orders/{order}/explain", self.support), 200).json()["lines"]
        self.assertGreaterEqual(len(life), 4)
        self.assertEqual({"at", "source", "what", "detail"}, set(life[0]))

    def test_a_refund_without_restocking_keeps_the_unit_sold(self):
        self.shop.make_sale("kept", units=1)
        order, _ = self.paid("kept", "ana")
        expect(self.refund(order, restock=False), 200)
        until(lambda: self.shop.order(order, "ana").json()["refund"]["state"] == "DONE")
        self.assertEqual(self.shop.counts("kept"), (1, 0, 0, 1))
        self.refuse(self.shop.buy("kept", "bob"), 410, "SOLD_OUT", mayReturn=False)

    def test_only_money_that_was_taken_can_be_given_back(self):
        self.shop.make_sale("unpaid", units=3)
        order = expect(self.shop.buy("unpaid", "ana"), 202).json()["orderId"]
        self.refuse(self.refund(order), 409, "NOT_REFUNDABLE")
        self.refuse(self.refund("0" * 32), 404, "UNKNOWN_ORDER")
        self.refuse(self.refund("nonsense"), 404, "UNKNOWN_ORDER")
        for amount in (0, -1, "1", 1.5, True):
            self.refuse(self.refund(order, amount=amount), 400, "INVALID_REQUEST", field="amount")
        self.shop.pay(order, "ana")
        self.refuse(self.refund(order, amount=2000), 409, "NOT_REFUNDABLE")
        self.assertEqual(self.shop.order(order, "ana").json()["status"], "PAID")

    def test_staff_see_any_order_and_audit_and_reconcile_agree(self):
        self.shop.make_sale("staff", units=3)
        order, _ = self.paid("staff", "ana")
        seen = expect(self.shop.ask("GET", f"/api/admin/orders/{order}", self.support), 200)
        self.assertEqual(seen.json()["status"], "PAID")
        self.assertEqual(seen.headers["cache-control"], "no-store")
        self.refuse(self.shop.ask("GET", "/api/admin/orders/" + "0" * 32, self.support), 404, "UNKNOWN_ORDER")
        admin = self.shop.token("root", "admin")
        audit = expect(self.shop.ask("GET", "/api/admin/audit", admin), 200).json()
        self.assertTrue(audit["ok"])
        self.assertEqual([row["id"] for row in audit["invariants"]], [f"I{n}" for n in range(1, 8)])
        findings = expect(self.shop.ask("POST", "/api/admin/reconcile", admin, {"dryRun": True}), 200).json()
        self.assertEqual((findings["ok"], findings["dryRun"]), (True, True))
        refunds = expect(self.shop.ask("GET", "/api/admin/refunds", self.support), 200).json()
        self.assertIn("refunds", refunds)


class TenantTest(unittest.TestCase):

    def test_I8_tenants_do_not_meet(self):
        with Shop() as server:
            server.start()
            admin = server.token("root", "admin")
            made = server.ask("POST", "/api/admin/tenants", admin, {"tenantId": "blue", "domain": "blue.example"})
            expect(made, 201)
            again = server.ask("POST", "/api/admin/tenants", admin, {"tenantId": "blue", "domain": "b.example"},
                               host="blue.example")
            expect(again, 409, "ALREADY_EXISTS")
            listed = expect(server.ask("GET", "/api/admin/tenants", admin, host="blue.example"), 200).json()
            self.assertEqual([tenant["tenantId"] for tenant in listed["tenants"]], ["default", "blue"])
            # Two tenants: the Host decides, and only a registered one serves.
            expect(server.ask("GET", "/api/flash-sales", host="other.example"), 404, "UNKNOWN_TENANT")
            blue = server.token("boss", "organiser", tenant="blue")
            own = expect(server.ask("GET", "/api/admin/tenants", blue, host="blue.example"), 200).json()
            self.assertEqual(own["tenants"], [{"tenantId": "blue", "domains": ["blue.example"]}])
            self.make_sale(server, blue, "blue.example:8080", "drop")
            listed = server.ask("GET", "/api/flash-sales", host="BLUE.example").json()["sales"]
            self.assertEqual([sale["saleId"] for sale in listed], ["drop"])
            bought = server.ask("POST", shop.PURCHASE.format("drop"), server.token("ana", tenant="blue"),
                                host="blue.example")
            order = expect(bought, 202).json()["orderId"]
            # A token of one tenant is worth nothing at another, an organiser of one does not see all.
            foreign = server.token("ana", tenant="default")
            expect(server.ask("GET", ORDER.format(order), foreign, host="blue.example"), 401)
            for path in ("/api/admin/audit", "/api/admin/refunds"):
                expect(server.ask("GET", path, blue, host="blue.example"), 403)
            for method, path in (("GET", "/api/admin/sales"), ("POST", "/api/admin/sales/drop/close")):
                expect(server.ask(method, path, server.token("o", "organiser", tenant="default"), host="blue.example"),
                       401)
            expect(server.ask("GET", "/api/admin/audit", server.token("root", "admin"), host="blue.example"), 200)
            server.audit()

    def make_sale(self, server, token, host, sale):
        expect(server.ask("POST", "/api/admin/sales", token,
                          {"saleId": sale, "title": sale, "opensAt": "now", "closesAt": "+1h"}, host=host), 201)
        expect(server.ask("POST", "/api/admin/items", token,
                          {"saleId": sale, "itemId": sale, "title": "T", "units": 3,
                           "price": {"value": 5, "currency": "EUR"}}, host=host), 201)


if __name__ == "__main__":
    shop.main()
