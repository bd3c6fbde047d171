"""Numbered stock from outside: numbers that are named, drawn at random, given back, shown, and never sold twice."""

import base64
import json
import os
import random
import re
import subprocess
import sys
import threading
import unittest

import shop
from buying_test import ShopTest
from shop import PURCHASE, Shop, expect, until

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NUMBERS = "/api/flash-sales/items/{}/numbers"


def free_numbers(seen):
    """The numbers that a page in JSON shows as free."""
    bits = base64.b64decode(seen["bits"])
    return {seen["first"] + at for at in range(seen["count"]) if bits[at // 8] & 0x80 >> at % 8}


class NumbersTest(ShopTest):
    settings = ["--sale.payment_grace_s", "1"]

    def free(self, item, page=0):
        seen = expect(self.shop.ask("GET", f"{NUMBERS.format(item)}?page={page}", None, None,
                                    [("Accept", "application/json")]), 200).json()
        found = free_numbers(seen)
        self.assertEqual(len(found), seen["free"])
        return found

    def test_named_numbers_are_had_all_or_none(self):
        self.shop.make_sale("named", numbers=(1, 100), limit=5)
        order = expect(self.shop.claim("named", "ana", {"numbers": [42, 7]}), 202).json()
        self.assertEqual((order["numbers"], order["quantity"]), ([7, 42], 2))
        self.assertEqual(order["amount"], {"value": 3998, "currency": "EUR"})
        self.refuse(self.shop.claim("named", "bob", {"numbers": [7, 8, 42]}), 409, "NUMBER_TAKEN", taken=[7, 42])
        self.assertEqual(self.shop.counts("named"), (100, 98, 2, 0))
        self.assertEqual(self.free("named"), set(range(1, 101)) - {7, 42})
        seen = expect(self.shop.order(order["orderId"], "ana"), 200).json()
        self.assertEqual(seen["numbers"], [7, 42])

    def test_in_part_gives_what_is_free_and_names_the_rest(self):
        self.shop.make_sale("part", numbers=(1, 10), limit=5)
        expect(self.shop.claim("part", "ana", {"numbers": [3, 4]}), 202)
        got = expect(self.shop.claim("part", "bob", {"numbers": [2, 3, 4, 5], "partial": True}, key="k"), 202).json()
        self.assertEqual((got["numbers"], got["taken"], got["quantity"]), ([2, 5], [3, 4], 2))
        again = expect(self.shop.claim("part", "bob", {"numbers": [5, 4, 3, 2], "partial": True}, key="k"), 202).json()
        self.assertEqual(again, got)
        self.refuse(self.shop.claim("part", "bob", {"numbers": [2, 3, 4, 5]}, key="k"), 422, "KEY_REUSED")
        self.refuse(self.shop.claim("part", "eve", {"numbers": [3, 5], "partial": True}), 409, "NUMBER_TAKEN",
                    taken=[3, 5])

    def test_random_numbers_are_free_ones_to_the_last(self):
        self.shop.make_sale("draw", numbers=(11, 30), limit=3)
        had = []
        for buyer in range(6):
            had += expect(self.shop.claim("draw", f"b{buyer}", {"random": 3}), 202).json()["numbers"]
        self.assertEqual(len(set(had)), 18)
        self.refuse(self.shop.claim("draw", "late", {"random": 3}), 410, "SOLD_OUT", mayReturn=True)
        had += expect(self.shop.claim("draw", "late", {"random": 2}), 202).json()["numbers"]
        self.assertEqual(set(had), set(range(11, 31)))
        self.refuse(self.shop.claim("draw", "too-late"), 410, "SOLD_OUT", mayReturn=True)
        self.assertEqual(self.free("draw"), set())

    def test_an_empty_body_is_one_random_number(self):
        self.shop.make_sale("any", numbers=(0, 9))
        for buyer, body in (("a", None), ("b", b"{}")):
            order = expect(self.shop.claim("any", buyer, body), 202).json()
            self.assertEqual((order["quantity"], len(order["numbers"])), (1, 1))

    def test_the_same_key_meets_the_same_numbers(self):
        self.shop.make_sale("keyed", numbers=(1, 1000), limit=10)
        first = expect(self.shop.claim("keyed", "ana", {"random": 5}, key="once"), 202).json()
        again = expect(self.shop.claim("keyed", "ana", {"random": 5}, key="once"), 202).json()
        self.assertEqual(again, first)
        self.refuse(self.shop.claim("keyed", "ana", {"random": 4}, key="once"), 422, "KEY_REUSED")
        self.refuse(self.shop.claim("keyed", "ana", {"numbers": first["numbers"]}, key="once"), 422, "KEY_REUSED")
        self.assertEqual(self.shop.counts("keyed"), (1000, 995, 5, 0))

    def test_the_limit_counts_numbers_across_the_sale(self):
        self.shop.make_sale("limit", numbers=(1, 100), limit=3)
        organiser = self.shop.token("o", "organiser")
        expect(self.shop.ask("POST", "/api/admin/items", organiser,
                             {"saleId": "limit", "itemId": "limit-2", "title": "Two", "units": 5,
                              "price": {"value": 1, "currency": "EUR"}}), 201)
        expect(self.shop.claim("limit", "ana", {"numbers": [1, 2]}), 202)
        self.refuse(self.shop.claim("limit", "ana", {"numbers": [3, 4]}), 409, "LIMIT_REACHED", limit=3, held=2)
        self.refuse(self.shop.buy("limit-2", "ana", 2), 409, "LIMIT_REACHED", limit=3, held=2)
        expect(self.shop.buy("limit-2", "ana", 1), 202)
        self.refuse(self.shop.claim("limit", "ana", {"random": 1}), 409, "LIMIT_REACHED", limit=3, held=3)

    def test_F76_B057_only_one_spelling_names_a_number(self):
        self.shop.make_sale("alias", numbers=(1, 100), labels="A-##", limit=9)
        with self.shop.connect() as connection:
            for spelling in ("07", '"7"', '"A-07"', '"a-7"', "7.0", "7e0", "-7", '"\uff17"', "null", "true", "[7]",
                             "0", "101", "4294967303"):
                answer = connection.ask("POST", PURCHASE.format("alias"), self.shop.token("ana"),
                                        ('{"numbers":[' + spelling + "]}").encode())
                self.assertIn(self.refuse(answer, 400, "INVALID_REQUEST")["field"], ("numbers", "body"), spelling)
        for body, field in (({"numbers": [7, 7]}, "numbers"), ({"quantity": 1}, "quantity"),
                            ({"numbers": []}, "numbers"), ({"random": 0}, "random"), ({"random": 1001}, "random"),
                            ({"numbers": [7], "random": 1}, "random"), ({"partial": True}, "partial")):
            self.refuse(self.shop.claim("alias", "ana", body), 400, "INVALID_REQUEST", field=field)
        self.assertEqual(self.shop.counts("alias"), (100, 100, 0, 0))

    def test_F22_crossing_pairs_leave_no_half(self):
        self.shop.make_sale("pairs", numbers=(1, 2), limit=2)
        for round_no in range(15):
            first = self.shop.claim("pairs", f"a{round_no}", {"numbers": [1, 2]})
            second = self.shop.claim("pairs", f"b{round_no}", {"numbers": [2, 1]})
            self.assertEqual(sorted((first.status, second.status)), [202, 409], (first, second))
            self.assertEqual(self.shop.counts("pairs"), (2, 0, 2, 0))
            winner, name = (first, "a") if first.status == 202 else (second, "b")
            expect(self.shop.ask("DELETE", winner.json()["statusUrl"], self.shop.token(f"{name}{round_no}")), 200)
            until(lambda: self.shop.counts("pairs") == (2, 2, 0, 0), what="both numbers to come back")

    def test_B053_one_winner_a_number_whoever_comes(self):
        self.shop.make_sale("crowd", numbers=(1, 10), limit=2)
        tokens = self.shop.tokens("crowd", 200)
        answers = []

        def press(share, seed):
            chance = random.Random(seed)
            with self.shop.connect() as connection:
                for token in share:
                    wish = sorted(chance.sample(range(1, 11), 2))
                    answers.append((wish, connection.ask("POST", PURCHASE.format("crowd"), token, {"numbers": wish})))

        threads = [threading.Thread(target=press, args=(tokens[at::8], at)) for at in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        sold = []
        for wish, answer in answers:
            if answer.status == 202:
                self.assertEqual(answer.json()["numbers"], wish)
                sold += wish
            else:
                self.assertIn((answer.status, answer.code()), ((409, "NUMBER_TAKEN"), (410, "SOLD_OUT")))
                if answer.status == 409:
                    self.assertTrue(set(answer.json()["taken"]) <= set(wish))
        self.assertEqual(len(answers), 200)
        self.assertEqual(len(sold), len(set(sold)))
        self.assertEqual(self.shop.counts("crowd")[1], 10 - len(sold))

    def test_a_number_is_sold_again_after_a_cancel(self):
        self.shop.make_sale("again", numbers=(1, 3))
        order = expect(self.shop.claim("again", "ana", {"numbers": [2]}), 202).json()
        self.refuse(self.shop.claim("again", "bob", {"numbers": [2]}), 409, "NUMBER_TAKEN", taken=[2])
        expect(self.shop.ask("DELETE", order["statusUrl"], self.shop.token("ana")), 200)
        until(lambda: 2 in self.free("again"), what="the number to come back")
        expect(self.shop.claim("again", "bob", {"numbers": [2]}), 202)
        gone = expect(self.shop.order(order["orderId"], "ana"), 200).json()
        self.assertEqual((gone["status"], gone["numbers"]), ("CANCELLED", [2]))

    def test_B036_who_let_a_seat_go_may_ask_for_it_again(self):
        self.shop.make_sale("expire", numbers=(7, 7), pay_within="1s")
        first = expect(self.shop.claim("expire", "ana", {"numbers": [7]}), 202).json()
        self.shop.wait_for_status(first["orderId"], "ana", "EXPIRED")
        until(lambda: self.free("expire") == {7}, what="the seat to come back")
        second = expect(self.shop.claim("expire", "ana", {"numbers": [7]}), 202).json()
        self.assertNotEqual(second["orderId"], first["orderId"])

    def test_late_money_gets_its_numbers_back_or_a_refund(self):
        self.shop.make_sale("late", numbers=(1, 2), pay_within="1s")
        orders = {}
        for buyer, number in (("ana", 1), ("bob", 2)):
            order = expect(self.shop.claim("late", buyer, {"numbers": [number]}), 202).json()["orderId"]
            orders[buyer] = (order, self.shop.start_payment(order, buyer))
        # A started payment has its grace; the money is to come after that, so it is told by hand once both are gone.
        for buyer, (order, _) in orders.items():
            self.shop.wait_for_status(order, buyer, "EXPIRED", 30)
        expect(self.shop.claim("late", "eve", {"numbers": [2]}), 202)
        for _, payment in orders.values():
            self.shop.complete(payment)
        self.assertEqual(self.shop.wait_for_status(orders["ana"][0], "ana", "PAID")["numbers"], [1])
        until(lambda: expect(self.shop.order(orders["bob"][0], "bob"), 200).json().get("refund"), what="a refund")
        self.assertEqual(expect(self.shop.order(orders["bob"][0], "bob"), 200).json()["status"], "EXPIRED")

    def test_pages_say_which_numbers_are_free(self):
        self.shop.make_sale("pages", numbers=(1, 70_000), limit=1000)
        taken = [1, 2, 9, 65_536, 65_537, 70_000]
        expect(self.shop.claim("pages", "ana", {"numbers": taken}), 202)
        seen = [expect(self.shop.ask("GET", f"{NUMBERS.format('pages')}?page={page}"), 200) for page in (0, 1)]
        self.assertEqual([answer.headers["x-first-number"] for answer in seen], ["1", "65537"])
        self.assertEqual([answer.headers["x-count"] for answer in seen], ["65536", "4464"])
        self.assertEqual([len(answer.body) for answer in seen], [8192, 558])
        self.assertEqual(seen[0].headers["content-type"], "application/octet-stream")
        self.assertEqual(seen[0].body[:2], bytes([0b00111111, 0b01111111]))
        self.assertEqual(seen[0].body[-1], 0b11111110)
        self.assertEqual(seen[1].body[0], 0b01111111)
        self.assertEqual(self.free("pages", 0) | self.free("pages", 1), set(range(1, 70_001)) - set(taken))
        for page in ("2", "-1", "x", "", "4294967296"):
            self.refuse(self.shop.ask("GET", f"{NUMBERS.format('pages')}?page={page}"), 400, "INVALID_REQUEST",
                        field="page")
        self.shop.make_sale("counted")
        self.refuse(self.shop.ask("GET", NUMBERS.format("counted")), 400, "INVALID_REQUEST", field="page")
        self.refuse(self.shop.ask("GET", NUMBERS.format("nothing")), 404, "UNKNOWN_ITEM")

    def test_a_page_that_has_not_changed_costs_little(self):
        self.shop.make_sale("etag", numbers=(1, 65_537))
        first = expect(self.shop.ask("GET", NUMBERS.format("etag")), 200)
        tag = [("If-None-Match", first.headers["etag"])]
        expect(self.shop.claim("etag", "ana", {"numbers": [65_537]}), 202)  # Another page.
        same = expect(self.shop.ask("GET", NUMBERS.format("etag"), None, None, tag), 304)
        self.assertEqual(same.body, b"")
        expect(self.shop.claim("etag", "bob", {"numbers": [5]}), 202)
        changed = expect(self.shop.ask("GET", NUMBERS.format("etag"), None, None, tag), 200)
        self.assertNotEqual(changed.headers["etag"], first.headers["etag"])
        json_tag = expect(self.shop.ask("GET", NUMBERS.format("etag"), None, None,
                                        [("Accept", "application/json")]), 200).headers["etag"]
        self.assertNotEqual(json_tag, changed.headers["etag"])

    def test_a_page_of_few_free_numbers_is_short_as_gaps(self):
        self.shop.make_sale("gaps", numbers=(1, 1000), limit=1000)
        expect(self.shop.claim("gaps", "ana", {"random": 990}), 202)
        answer = expect(self.shop.ask("GET", NUMBERS.format("gaps"), None, None,
                                      [("Accept", "application/vnd.weir.gaps")]), 200)
        self.assertEqual(answer.headers["content-type"], "application/vnd.weir.gaps")
        self.assertLess(len(answer.body), 20)
        bits = "".join(f"{byte:08b}" for byte in answer.body)
        listed, shift, at, place, found = int(bits[8:32], 2), int(bits[4:8], 2), 32, 1, set()
        for _ in range(listed):
            end = bits.index("0", at)
            low = bits[end + 1:end + 1 + shift]
            place += ((end - at) << shift) + (int(low, 2) if low else 0)
            found.add(place)
            place, at = place + 1, end + 1 + shift
        self.assertEqual(bits[0], "1")
        self.assertEqual(found, self.free("gaps"))

    def test_labels_are_shown_and_never_asked_for(self):
        self.shop.make_sale("seats", numbers=(101, 126), labels="A:12,B:14", limit=4)
        item = self.shop.stock("seats")
        self.assertEqual((item["numbers"], item["labels"]), ({"first": 101, "last": 126}, "A:12,B:14"))
        order = expect(self.shop.claim("seats", "ana", {"numbers": [112, 113]}), 202).json()
        seen = expect(self.shop.order(order["orderId"], "ana"), 200).json()
        self.assertEqual((seen["numbers"], seen["labels"]), ([112, 113], ["A-12", "B-1"]))

    def test_items_with_numbers_are_checked_when_they_are_made(self):
        self.shop.make_sale("made")
        organiser = self.shop.token("o", "organiser")
        for stock, field in (({"numbers": {"first": 5, "last": 4}}, "numbers"), ({"numbers": {"first": 1}}, "numbers"),
                             ({"numbers": {"first": -1, "last": 4}}, "numbers"), ({"numbers": 7}, "numbers"),
                             ({"numbers": {"first": 1, "last": 10_000_001}}, "numbers"),
                             ({"numbers": {"first": 1, "last": 9}, "units": 9}, "units"),
                             ({"numbers": {"first": 1, "last": 9}, "labels": "A:8"}, "numbers"),
                             ({"units": 9, "labels": "A-##"}, "labels")):
            answer = self.shop.ask("POST", "/api/admin/items", organiser,
                                   {"saleId": "made", "itemId": "x", "title": "X",
                                    "price": {"value": 1, "currency": "EUR"}, **stock})
            self.refuse(answer, 400, "INVALID_REQUEST", field=field)
        self.shop.make_sale("fixed", numbers=(1, 9))
        answer = self.shop.ask("POST", "/api/admin/items/fixed/stock", organiser, {"delta": 1, "key": "k"})
        self.refuse(answer, 409, "NOT_ALLOWED")

    def test_ten_million_numbers_are_made_at_once(self):
        self.shop.make_sale("huge", numbers=(1, 10_000_000), limit=3)
        order = expect(self.shop.claim("huge", "ana", {"numbers": [1, 5_000_000, 10_000_000]}), 202).json()
        self.assertEqual(order["numbers"], [1, 5_000_000, 10_000_000])
        page = expect(self.shop.ask("GET", f"{NUMBERS.format('huge')}?page=152"), 200)
        self.assertEqual(page.headers["x-count"], str(10_000_000 - 152 * 65_536))


class RestartTest(unittest.TestCase):

    def test_numbers_survive_a_kill(self):
        with Shop() as kept:
            kept.make_sale("kept", numbers=(1, 50), limit=5)
            orders = {}
            for buyer in range(8):
                answer = expect(kept.claim("kept", f"b{buyer}", {"random": 5}), 202).json()
                orders[f"b{buyer}"] = answer
            kept.kill()
            kept.start()
            self.assertEqual(kept.counts("kept"), (50, 10, 40, 0))
            seen = expect(kept.ask("GET", NUMBERS.format("kept"), None, None, [("Accept", "application/json")]), 200)
            taken = {number for order in orders.values() for number in order["numbers"]}
            self.assertEqual(free_numbers(seen.json()), set(range(1, 51)) - taken)
            for buyer, order in orders.items():
                again = expect(kept.order(order["orderId"], buyer), 200).json()
                self.assertEqual(again["numbers"], order["numbers"])
            number = orders["b0"]["numbers"][0]
            refused = expect(kept.claim("kept", "eve", {"numbers": [number]}), 409, "NUMBER_TAKEN")
            self.assertEqual(refused.json()["taken"], [number])
            expect(kept.ask("DELETE", orders["b0"]["statusUrl"], kept.token("b0")), 200)
            until(lambda: kept.counts("kept") == (50, 15, 35, 0), what="numbers to come back")
            expect(kept.claim("kept", "eve", {"numbers": orders["b0"]["numbers"]}), 202)
            kept.audit()

    def test_numbers_are_made_on_the_command_line(self):
        with Shop() as made:
            made.make_sale("cli")
            done = made.cli("item", "add", "--sale", "cli", "--id", "raffle", "--price", "100", "--numbers",
                            "1-1000000", "--labels", "######")
            self.assertNotEqual(done.returncode, 0, "the ledger is held by the server")
            made.stop()
            done = made.cli("item", "add", "--sale", "cli", "--id", "raffle", "--price", "100", "--numbers",
                            "1-1000000", "--labels", "######", "--json")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(json.loads(done.stdout), {"itemId": "raffle", "total": 1_000_000,
                                                       "numbers": {"first": 1, "last": 1_000_000}, "labels": "######"})
            for wrong in ("5", "9-1", "1-", "a-b", "1-10000001", "0x1-5"):
                done = made.cli("item", "add", "--sale", "cli", "--id", "wrong", "--price", "1", "--numbers", wrong)
                self.assertEqual(done.returncode, 2, (wrong, done.stderr))
            made.start()
            self.assertEqual(made.stock("raffle")["total"], 1_000_000)


class DrawTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.shop = Shop().start()
        with open(os.path.join(ROOT, "docs/numbered.md"), encoding="utf-8") as file:
            cls.script = re.search(r"```python\n(.*?)```", file.read(), re.S).group(1)

    @classmethod
    def tearDownClass(cls):
        try:
            cls.shop.audit()
        finally:
            cls.shop.close()

    def raffle(self, name, sold=5):
        self.shop.make_sale(name, numbers=(1, 100), limit=10, price=100)
        for buyer in range(sold):
            order = expect(self.shop.claim(name, f"b{buyer}", {"random": 4}), 202).json()
            self.shop.pay(order["orderId"], f"b{buyer}")

    def draw(self, item, **members):
        return self.shop.ask("POST", f"/api/admin/items/{item}/draw", self.shop.token("o", "organiser"), members)

    def close(self, sale):
        expect(self.shop.ask("POST", f"/api/admin/sales/{sale}/close", self.shop.token("o", "organiser")), 200)

    def check(self, proof):
        path = os.path.join(self.shop.folder, "proof.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(proof, file)
        return subprocess.run([sys.executable, "-c", self.script, path], capture_output=True, text=True, timeout=30,
                              check=False)

    def test_B058_F76_an_item_is_drawn_once_and_anyone_can_check_it(self):
        self.raffle("once")
        promised = self.shop.stock("once")["drawCommitment"]
        expect(self.draw("once", winners=3), 409, "NOT_ALLOWED")  # Still open.
        self.close("once")
        answers = []
        threads = [threading.Thread(target=lambda: answers.append(self.draw("once", winners=3, mix="m")))
                   for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        proofs = [expect(answer, 200).json() for answer in answers]
        self.assertEqual(sorted(proof.pop("repeated") for proof in proofs), [False, True, True, True])
        self.assertEqual(len({json.dumps(proof) for proof in proofs}), 1)
        proof = proofs[0]
        self.assertEqual((len(proof["winners"]), proof["entrantsCount"]), (3, 20))
        self.assertEqual(proof["commitment"], promised)
        done = self.check(proof)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(str(proof["winners"]), done.stdout)
        for name, value in (("seed", "00" * 32), ("winners", proof["winners"][::-1]), ("mix", "n"),
                            ("entrants", proof["entrants"][1:])):
            self.assertNotEqual(self.check({**proof, name: value}).returncode, 0, name)
        self.shop.kill()
        self.shop.start()
        again = expect(self.draw("once", winners=50, mix="other"), 200).json()
        self.assertTrue(again.pop("repeated"))
        self.assertEqual(again, proof)

    def test_a_draw_waits_for_every_order(self):
        self.raffle("waits")
        order = expect(self.shop.claim("waits", "slow", {"random": 1}), 202).json()
        self.close("waits")
        refused = expect(self.draw("waits", winners=1), 409, "NOT_ALLOWED").json()
        self.assertIn("1 orders may still be paid", refused["message"])
        self.shop.pay(order["orderId"], "slow")
        proof = expect(self.draw("waits", winners=1), 200).json()
        self.assertEqual(proof["entrantsCount"], 21)

    def test_what_cannot_be_drawn_is_refused(self):
        self.shop.make_sale("count")
        self.close("count")
        expect(self.draw("count", winners=1), 409, "NOT_ALLOWED")
        self.shop.make_sale("none", numbers=(1, 5))
        self.close("none")
        expect(self.draw("none", winners=1), 409, "NOT_ALLOWED")
        expect(self.draw("nothing", winners=1), 404, "UNKNOWN_ITEM")
        for members in ({}, {"winners": 0}, {"winners": "3"}, {"winners": 100_001}, {"winners": 1, "mix": 5}):
            expect(self.draw("none", **members), 400, "INVALID_REQUEST")
        answer = self.shop.ask("POST", "/api/admin/items/none/draw", self.shop.token("ana"), {"winners": 1})
        expect(answer, 403, "FORBIDDEN")

    def test_the_command_line_draws_without_a_server(self):
        with Shop() as shop_:
            shop_.make_sale("cli", numbers=(1, 10), limit=5)
            order = expect(shop_.claim("cli", "ana", {"numbers": [2, 3, 5]}), 202).json()
            shop_.pay(order["orderId"], "ana")
            expect(shop_.ask("POST", "/api/admin/sales/cli/close", shop_.token("o", "organiser")), 200)
            self.assertEqual(shop_.cli("draw", "--item", "cli", "--winners", "1").returncode, 3)
            shop_.stop()
            proof = os.path.join(shop_.folder, "p.json")
            done = shop_.cli("draw", "--item", "cli", "--winners", "2", "--mix", "x", "--proof", proof, "--json")
            self.assertEqual(done.returncode, 0, done.stderr)
            told = json.loads(done.stdout)
            self.assertTrue(set(told["winners"]) < {2, 3, 5})
            with open(proof, encoding="utf-8") as file:
                self.assertEqual(json.load(file), told)
            self.assertEqual(self.check(told).returncode, 0)
            again = shop_.cli("draw", "--item", "cli", "--winners", "1")
            self.assertEqual(again.returncode, 0)
            self.assertIn("drawn before", again.stdout)
            self.assertEqual(shop_.cli("draw", "--item", "nothing", "--winners", "1").returncode, 1)
            self.assertEqual(shop_.cli("draw", "--item", "cli", "--winners", "0").returncode, 2)
            shop_.start()


if __name__ == "__main__":
    shop.main()
