"""What gate and ledger disagree on is found, each by its kind, repaired by its kind, and nothing else is touched.

Disagreements are planted by hand, in the stores themselves: a hold too many, a hold too few, a release that was lost,
a count that is wrong. `weir reconcile` runs beside nodes and workers, as an operator runs it.
"""

import json
import socket
import struct
import threading
import time

import cluster
from cluster import ORDER, DistributedTest, expect, tally, until

EXTRA = b"a hold of nobody"  # Its sixteen bytes are an order id.
SETTLE_S = 10.0


def ask_redis(port, *words):
    """One command, words and answer as bytes: a list, a number, bytes or None."""
    request = b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)
    with socket.create_connection(("127.0.0.1", port), timeout=5.0) as connection:
        connection.sendall(request)
        return read_reply(connection.makefile("rb"))


def read_reply(stream):
    line = stream.readline().rstrip(b"\r\n")
    kind, text = line[:1], line[1:]
    if kind == b"-":
        raise AssertionError(text.decode())
    if kind == b"*":
        return [read_reply(stream) for _ in range(int(text))]
    if kind == b"$":
        return None if text == b"-1" else stream.read(int(text) + 2)[:-2]
    return int(text) if kind == b":" else text


def ask_postgres(port, query):
    """One statement of an operator; its rows, every value as text."""
    def message(kind, body):
        return kind + struct.pack("!i", len(body) + 4) + body
    rows = []
    with socket.create_connection(("127.0.0.1", port), timeout=10.0) as connection:
        connection.sendall(message(b"", struct.pack("!i", 196608) + b"user\0weir\0database\0postgres\0\0"))
        connection.sendall(message(b"Q", query.encode() + b"\0"))
        stream = connection.makefile("rb")
        ready = 0
        while ready < 2:  # Once after the greeting, once after the query.
            kind = stream.read(1)
            body = stream.read(struct.unpack("!i", stream.read(4))[0] - 4)
            if kind == b"E":
                raise AssertionError(body)
            ready += kind == b"Z"
            if kind == b"D":
                rows.append(values_of(body))
    return rows


def values_of(body):
    count, at, values = struct.unpack("!h", body[:2])[0], 2, []
    for _ in range(count):
        size = struct.unpack("!i", body[at:at + 4])[0]
        at += 4
        values.append(None if size < 0 else body[at:at + size].decode())
        at += max(size, 0)
    return values


class GateKeys:
    """The keys of one sale's gate, as an operator with too much power sees them. One item, numbered by the ledger."""

    def __init__(self, shop, sale):
        self.port = shop.services["redis"].port
        self.prefix = b"{default:%s}:" % sale.encode()
        self.epoch = self.ask(b"HGET", b"meta", b"epoch", bare=True)
        self.item = next(field for field in self.ask(b"HKEYS", b"shelf") if field != b"_")

    def ask(self, command, key, *words, bare=False):
        name = self.prefix + (key if bare else self.epoch + b":" + key)
        return ask_redis(self.port, command, name, *words)

    def is_confirmed(self, order):
        return self.ask(b"ZSCORE", b"inflight", bytes.fromhex(order)) is None

    def shelf(self):
        """free, held, sold, version."""
        return [int(word) for word in self.ask(b"HGET", b"shelf", self.item).split()]

    def move(self, units):
        """Units from free to held, as if they had been taken; back, if negative."""
        free, held, sold, version = self.shelf()
        self.ask(b"HSET", b"shelf", self.item, b"%d %d %d %d" % (free - units, held + units, sold, version + 1))

    def plant_extra(self, buyer=b"mallory"):
        self.ask(b"HSET", b"held", EXTRA, b"%s 1 claim 0 0 0 %s" % (self.item, buyer))
        self.ask(b"HSET", b"buyers", b"=" + buyer, b"1 " + EXTRA)
        self.move(1)

    def lose(self, order, buyer):
        """The hold is gone as if it had never been taken."""
        self.lose_hold_alone(order)
        self.ask(b"HDEL", b"buyers", b"=" + buyer.encode())
        self.move(-1)

    def lose_hold_alone(self, order):
        if self.ask(b"HDEL", b"held", bytes.fromhex(order)) != 1:
            raise AssertionError(f"the gate did not hold {order}")

    def holds(self, order):
        return self.ask(b"HGET", b"held", bytes.fromhex(order)) is not None

    def contents(self):
        """Everything that selling depends on."""
        pairs = {}
        for key in (b"held", b"shelf", b"buyers"):
            flat = self.ask(b"HGETALL", key)
            pairs[key] = dict(zip(flat[::2], flat[1::2]))
        return self.epoch, pairs, sorted(self.ask(b"SMEMBERS", b"ended")), self.ask(b"ZRANGE", b"inflight", b"0", b"-1")


class ReconcileTest(DistributedTest):

    def reconcile(self, *flags):
        """Exit code and answer of `weir reconcile`."""
        done = self.cluster.cli("reconcile", "--json", *flags)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return done.returncode, json.loads(done.stdout)

    def kinds(self, answer):
        return sorted((one["what"], one.get("orderId", "")) for one in answer["findings"])

    def repairs(self):
        rows = ask_postgres(self.cluster.services["postgres"].port,
                            "SELECT finding, coalesce(order_id::text, '') FROM flash_sale_repair ORDER BY repair_no")
        return sorted((finding.upper(), order.replace("-", "")) for finding, order in rows)

    def sell(self, item, buyers):
        """Orders by buyer, all recorded and confirmed."""
        orders = {name: expect(self.cluster.nodes[0].buy(item, name), 202).json()["orderId"] for name in buyers}
        keys = GateKeys(self.cluster, item)
        until(lambda: all(keys.is_confirmed(order) for order in orders.values()), SETTLE_S, "every order confirmed")
        return orders, keys

    def cancel_without_release(self, order, buyer, keys):
        """The order ends while no worker delivers, and what was to be delivered is lost."""
        for worker in self.cluster.workers:
            worker.stop()
        node = self.cluster.nodes[0]
        expect(node.ask("DELETE", ORDER.format(order), node.token(buyer)), 200)
        gone = ask_postgres(self.cluster.services["postgres"].port, "DELETE FROM flash_sale_release RETURNING hold_id")
        self.assertEqual([[order]], [[row[0].replace("-", "")] for row in gone])
        for worker in self.cluster.workers:
            worker.start()
        self.assertTrue(keys.holds(order))

    def test_F74_planted_disagreements_are_found_and_repaired_one_by_one(self):
        self.cluster.make_sale("apart", units=20)
        orders, keys = self.sell("apart", ["ana", "ben", "cia", "dan"])
        self.cluster.make_sale("miscounted", units=20)
        others, other_keys = self.sell("miscounted", ["eva", "fay"])
        self.assertEqual(self.reconcile("--dry-run")[0], 0, "they agree before anything is planted")

        self.cancel_without_release(orders["ana"], "ana", keys)
        keys.plant_extra()
        keys.lose(orders["ben"], "ben")
        planted = sorted([("UNRELEASED", orders["ana"]), ("GATE_ONLY", EXTRA.hex()), ("LEDGER_ONLY", orders["ben"])])
        before = keys.contents()

        code, answer = self.reconcile("--dry-run")
        self.assertEqual((code, self.kinds(answer)), (1, planted))
        self.assertEqual(sorted(answer["gateOnly"]), sorted([orders["ana"], EXTRA.hex()]))
        self.assertEqual(answer["ledgerOnly"], [orders["ben"]])
        self.assertEqual(keys.contents(), before, "a dry run changes nothing")
        self.assertEqual(self.repairs(), [])

        code, answer = self.reconcile()
        self.assertEqual((code, self.kinds(answer)), (0, planted), answer)
        self.assertTrue(all(one["repaired"] for one in answer["findings"]), answer)
        self.assertEqual(self.repairs(), planted, "one entry a repair")
        self.assertEqual(keys.shelf()[:3], [17, 3, 0])
        self.assertFalse(keys.holds(orders["ana"]))
        self.assertFalse(keys.holds(EXTRA.hex()))
        self.assertTrue(keys.holds(orders["ben"]))
        self.assertEqual(self.reconcile()[1]["findings"], [], "the next run finds nothing")
        self.assertEqual(GateKeys(self.cluster, "apart").epoch, keys.epoch, "no gate was built for it")

        # A hold that is gone while the counts know it: no count is set, the gate is built anew.
        other_keys.lose_hold_alone(others["eva"])
        code, answer = self.reconcile("--dry-run")
        self.assertEqual((code, sorted(one["what"] for one in answer["findings"])), (1, ["COUNTS", "LEDGER_ONLY"]))
        code, answer = self.reconcile()
        self.assertEqual(code, 0, answer)
        built = GateKeys(self.cluster, "miscounted")
        self.assertGreater(int(built.epoch), int(other_keys.epoch))
        self.assertEqual(built.shelf()[:3], [18, 2, 0])
        self.assertTrue(built.holds(others["eva"]))
        code, answer = self.reconcile()
        self.assertEqual((code, answer["ok"], answer["findings"]), (0, True, []), answer)
        for name in ("apart", "miscounted"):
            self.cluster.wait_until_sold_from(self.cluster.nodes[1], name)
        expect(self.cluster.nodes[1].buy("apart", "ana"), 202)
        self.cluster.audit()
        self.explain(orders["ana"], orders["ben"])

    def explain(self, cancelled, adopted):
        """What was repaired stands in the life of the order, with its time and who says so."""
        lines = json.loads(self.cluster.cli("explain", adopted, "--json").stdout)["lines"]
        told = [(line["source"], line["what"]) for line in lines]
        for one in (("ledger", "recorded"), ("ledger", "reconciled"), ("ledger", "outbox"), ("gate", "held")):
            self.assertIn(one, told)
        self.assertTrue(all(line["at"].endswith("Z") for line in lines))
        text = self.cluster.cli("explain", cancelled).stdout
        for word in ("cancelled", "unreleased", "not_held"):
            self.assertIn(word, text)
        node = self.cluster.nodes[1]
        support = node.token("staff", "support")
        served = expect(node.ask("GET", f"/api/admin/orders/{adopted}/explain", support), 200).json()["lines"]
        self.assertEqual([(line["source"], line["what"]) for line in served], told)
        unknown = self.cluster.cli("explain", "0" * 32)
        self.assertEqual(unknown.returncode, 1)
        self.assertIn("there is no order", unknown.stderr)

    def test_explain_tells_of_an_order_that_no_worker_has_recorded(self):
        self.cluster.make_sale("early", units=5)
        for worker in self.cluster.workers:
            worker.stop()
        try:
            order = expect(self.cluster.nodes[0].buy("early", "ana"), 202).json()["orderId"]
            done = self.cluster.cli("explain", order, "--json")
            # Nobody knows its sale, so the gates of other sales are asked as well and do not hold it.
            told = [(line["source"], line["what"]) for line in json.loads(done.stdout)["lines"]
                    if line["what"] != "not_held"]
            self.assertEqual(told, [("ledger", "not_recorded"), ("gate", "held"), ("log", "not_recorded_yet")])
            self.assertEqual(done.returncode, 0)
            code, answer = self.reconcile()
            self.assertEqual((code, answer["findings"]), (0, []), "what is in flight is nobody's to repair")
        finally:
            for worker in self.cluster.workers:
                worker.start()
        until(lambda: self.cluster.in_ledger("early")[2] == 1, SETTLE_S, "the order being recorded")

    def test_F74_a_reconciler_in_the_rush_changes_nothing(self):
        self.cluster.make_sale("rushed", units=150, pay_within="3s")
        known = self.repairs()
        stop = threading.Event()
        answers, troubles = [], []

        def keep_reconciling(node):
            admin = node.token("root", "admin")
            while not stop.wait(0.1):
                answer = node.ask("POST", "/api/admin/reconcile", admin, {})
                (answers if answer.status == 200 else troubles).append(answer.json())
        threads = [threading.Thread(target=keep_reconciling, args=(node,)) for node in self.cluster.nodes]
        for thread in threads:
            thread.start()
        try:
            crowd = self.cluster.rush("rushed", [f"buyer-{number}" for number in range(400)])
            # Every order runs out of time, and its unit goes back, while they look.
            until(lambda: self.cluster.in_ledger("rushed")[1] == 150, 30.0, "every order being expired")
            time.sleep(8.0)
        finally:
            stop.set()
            for thread in threads:
                thread.join(20.0)
        self.assertGreaterEqual(tally(crowd).get(202, 0), 150)
        self.assertGreater(len(answers), 20, troubles[:3])
        self.assertEqual([answer["findings"] for answer in answers if answer["findings"]], [])
        self.assertEqual(self.repairs(), known)
        keys = GateKeys(self.cluster, "rushed")
        self.assertEqual(keys.epoch, b"1")
        self.assertEqual(keys.shelf()[:3], [150, 0, 0])
        self.cluster.audit()


if __name__ == "__main__":
    cluster.main()
