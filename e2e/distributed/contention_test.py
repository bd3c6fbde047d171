"""A thousand buyers and two nodes for a hundred units: exactly a hundred are sold, and every node says the same."""

import cluster
from cluster import DistributedTest, expect, tally, until


class ContentionTest(DistributedTest):

    def test_F15_a_thousand_buyers_for_a_hundred_units_through_two_nodes(self):
        self.cluster.make_sale("hundred", units=100)
        crowd = self.cluster.rush("hundred", [f"buyer-{number}" for number in range(1000)])
        self.assertEqual(tally(crowd), {202: 100, "SOLD_OUT": 900})
        self.check_whole("hundred", 100, crowd)

    def test_B010_a_buyer_of_one_node_is_known_at_the_other(self):
        self.cluster.make_sale("known", units=3)
        here, there = self.cluster.nodes
        order = expect(here.buy("known", "ana"), 202).json()["orderId"]
        answer = expect(there.buy("known", "ana"), 409, "ALREADY_PURCHASED")
        self.assertEqual(answer.json()["orderId"], order)
        for name in ("ben", "cia"):
            expect(there.buy("known", name), 202)

        def hears_of_his_order():
            # Sold out by now: the node learns of others' buyers a moment later.
            answer = there.buy("known", "ana")
            return answer.status == 409 and answer.json()["orderId"] == order
        until(hears_of_his_order, 5.0, "the other node telling ana of her order")
        expect(here.order(order, "ana"), 200)
        expect(there.order(order, "ana"), 200)
        expect(there.order(order, "ben"), 404)

    def test_F30_the_same_key_at_every_node_is_one_order(self):
        self.cluster.make_sale("keyed", units=10, limit=5)
        orders = set()
        for node in (*self.cluster.nodes, *self.cluster.nodes):
            orders.add(expect(node.buy("keyed", "ana", key="one"), 202).json()["orderId"])
        self.assertEqual(len(orders), 1)
        until(lambda: self.cluster.in_ledger("keyed") == (10, 9, 1, 0), 10.0, "one unit being held")

    def test_what_expires_can_be_bought_again_at_every_node(self):
        self.cluster.make_sale("again", units=2, pay_within="2s")
        here, there = self.cluster.nodes
        first = [expect(here.buy("again", name), 202).json()["orderId"] for name in ("ana", "ben")]
        for order, name in zip(first, ("ana", "ben")):
            here.wait_for_status(order, name, "EXPIRED", 15)
        until(lambda: there.buy("again", "cia").status == 202, 5.0, "a unit that came back being sold")
        until(lambda: there.buy("again", "dan").status == 202, 5.0, "the other unit being sold")
        self.cluster.audit()

    def test_cancelling_at_one_node_frees_the_unit_at_the_other(self):
        self.cluster.make_sale("cancel", units=1)
        here, there = self.cluster.nodes
        order = expect(here.buy("cancel", "ana"), 202).json()["orderId"]

        def is_cancelled():
            answer = there.ask("DELETE", cluster.ORDER.format(order), there.token("ana"))
            return None if answer.status == 503 else expect(answer, 200).json()["status"] == "CANCELLED"
        until(is_cancelled, 10.0, "the order being cancelled")
        until(lambda: here.buy("cancel", "ben").status == 202, 5.0, "the unit being sold again")
        self.cluster.audit()


if __name__ == "__main__":
    cluster.main()
