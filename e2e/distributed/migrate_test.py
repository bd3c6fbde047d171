"""A shop that began in a folder moves into PostgreSQL, whole and once; then one process serves it from there."""

import json
import os
import sqlite3
import unittest

import cluster
from cluster import Services, Shop, expect, run_weir, skip_reason


def past_of(explained):
    """An order's life without its last line, which says how it stands at this very moment."""
    return [line for line in json.loads(explained.stdout)["lines"] if line["what"] != "now"]


class MigrateTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        reason = skip_reason(["postgres"])
        if reason:
            print(f"SKIPPED: {cls.__name__}: {reason}", flush=True)
            raise unittest.SkipTest(reason)

    def setUp(self):
        self.services = Services(["postgres"])
        self.addCleanup(self.services.stop)
        self.env = {"WEIR_POSTGRES_DSN": self.services.environment()["WEIR_TEST_POSTGRES"]}
        self.shop = Shop()
        self.addCleanup(self.shop.close)

    def weir(self, *arguments, code=0):
        done = run_weir(*arguments, "--ledger", "postgres", "--data", self.shop.data, env=self.env, timeout=60)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def sell_a_little(self):
        """Orders that are pending, paid, cancelled, expired and refunded."""
        shop = self.shop.start()
        shop.make_sale("old", units=20, limit=5)
        shop.make_sale("short", units=5, pay_within="1s")
        orders = {name: expect(shop.buy("old", name, quantity=2), 202).json()["orderId"]
                  for name in ("ana", "ben", "cia", "dan")}
        shop.pay(orders["ben"], "ben")
        expect(shop.ask("DELETE", cluster.ORDER.format(orders["cia"]), shop.token("cia")), 200)
        shop.pay(orders["dan"], "dan")
        expect(shop.ask("POST", f"/api/admin/orders/{orders['dan']}/refund", shop.token("eve", "support"), {}), 200)
        orders["fay"] = expect(shop.buy("short", "fay"), 202).json()["orderId"]
        shop.wait_for_status(orders["fay"], "fay", "EXPIRED")
        return orders

    def test_a_shop_moves_whole_and_is_served_from_there(self):
        orders = self.sell_a_little()
        self.weir("migrate")
        self.weir("migrate")  # Repeatable.
        refused = self.weir("migrate", "--from-sqlite", self.shop.data, code=3)
        self.assertIn("serves the ledger", refused.stderr)
        lives = {name: past_of(self.shop.cli("explain", order, "--json")) for name, order in orders.items()}
        code, _ = self.shop.stop()
        self.assertEqual(code, 0)
        before = self.shop.audit()
        moved = json.loads(self.weir("migrate", "--from-sqlite", self.shop.data, "--json").stdout)
        self.assertEqual(moved["moved"]["flash_sale_order"], 5)
        after = json.loads(self.weir("audit", "--json").stdout)
        self.assertEqual({item["itemId"]: item for item in after["items"]},
                         {item["itemId"]: item for item in before["items"]})
        self.assertEqual(*({status: count for status, count in audit["orders"].items() if count}
                           for audit in (before, after)))
        for name, order in orders.items():
            self.assertEqual(past_of(self.weir("explain", order, "--json")), lives[name])
            self.assertGreater(len(lives[name]), 0)
        refused = self.weir("migrate", "--from-sqlite", self.shop.data, code=3)
        self.assertIn("not empty", refused.stderr)

        served = Shop(["--ledger", "postgres"], data=self.shop.folder, env=self.env)
        self.addCleanup(served.kill)
        served.start()
        for name, status in (("ana", "PENDING"), ("ben", "PAID"), ("cia", "CANCELLED"), ("dan", "REFUNDED")):
            self.assertEqual(expect(served.order(orders[name], name), 200).json()["status"], status)
        self.assertEqual(served.counts("old"), (20, 16, 2, 2))
        expect(served.buy("old", "gil", quantity=5), 202)
        self.assertEqual(served.counts("old"), (20, 11, 7, 2))
        second = run_weir("serve", "--ledger", "postgres", "--data", os.path.join(self.shop.folder, "other"),
                          "--http.listen", "127.0.0.1:0", "--ops.listen", "127.0.0.1:0", env=self.env, timeout=30)
        self.assertEqual(second.returncode, 3, second.stderr)
        self.assertIn("another process", second.stderr)
        self.assertTrue(json.loads(self.weir("audit", "--json").stdout)["ok"])
        self.weir("sale", "pause", "--id", "old", code=3)  # The server would not hear of it: it is told by --url.

    def test_a_folder_that_is_broken_does_not_move_at_all(self):
        self.sell_a_little()
        self.shop.stop()
        with sqlite3.connect(os.path.join(self.shop.data, "ledger.db")) as ledger:
            ledger.execute("UPDATE flash_sale_item SET held = held + 1 WHERE id = 'old'")
        ledger.close()
        self.weir("migrate")
        self.assertIn("I1", self.weir("migrate", "--from-sqlite", self.shop.data, code=3).stderr)
        self.assertEqual(json.loads(self.weir("audit", "--json").stdout)["items"], [])

    def test_a_schema_that_is_missing_is_named(self):
        done = self.weir("audit", code=3)
        self.assertIn("weir migrate", done.stderr)
        done = run_weir("serve", "--ledger", "postgres", "--data", self.shop.data, timeout=30)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("postgres.dsn", done.stderr)

    def test_the_password_is_never_printed(self):
        secret = "hunter2hunter2"
        path = os.path.join(self.shop.folder, "password")
        with open(path, "w", encoding="ascii") as file:
            file.write(secret + "\n")
        for env in ({"WEIR_POSTGRES_DSN": f"postgres://ana:{secret}@127.0.0.1:1/weir"},
                    {"WEIR_POSTGRES_DSN": "host=127.0.0.1 port=1", "WEIR_POSTGRES_PASSWORD_FILE": path}):
            for command in (("migrate",), ("audit",), ("serve", "--print-config")):
                done = run_weir(*command, "--ledger", "postgres", "--data", self.shop.data, env=env, timeout=30)
                self.assertNotIn(secret, done.stdout + done.stderr)


if __name__ == "__main__":
    cluster.main()
