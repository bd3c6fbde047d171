#!/usr/bin/env python3
"""Kills a selling server again and again, and holds it to every promise that it had made before.

    crash_loop.py N [--seed S] [--keep]

Each round a real server sells under load, is killed with SIGKILL at a random moment (now and then again while it
starts), and is started on the same data. The load writes down what it was promised: every 202, every answer that said
PAID, CANCELLED or EXPIRED, every stock change; a line counts only after it was synced. After each restart every promise
of the last rounds is asked for, the counts must add up and `weir audit` must find every invariant held; at the end this
is done for all of them, and when everything has come to rest no unit and no cent may be missing.

Exit codes: 0 every promise was kept, 1 one was broken, 2 wrong use. WEIR_BINARY names the program; without it
build/weir is taken.
"""

import argparse
import json
import os
import random
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "api"))

from shop import BINARY, ORDER, PURCHASE, Connection, Shop, expect, request_bytes, until  # noqa: E402

WORKERS = 4
BUYERS_EACH = 150
CHURN_UNITS = 60
ROUND_UNITS = 150
RESTOCK_UNITS = 3
PAY_WITHIN_S = 3
GRACE_S = 1
LOAD_S = (0.05, 1.0)
ROUNDS_LOOKED_BACK = 2
# What an order may be after it was seen in a state; an end stays, except that late money may take an expired one back.
LAWFUL = {
    "PENDING": {"PENDING", "PAID", "EXPIRED", "CANCELLED"},
    "PAID": {"PAID"},
    "EXPIRED": {"EXPIRED", "PAID"},
    "CANCELLED": {"CANCELLED"},
}


class Broken(Exception):
    """A promise that was not kept."""


class Journal:
    """What the server has promised. A promise is believed once its line is on disk."""

    def __init__(self, path):
        self.file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self.lock = threading.Lock()
        self.orders = {}    # id: {"buyer", "status", "round"}
        self.keys = {}      # (buyer, key): order id
        self.payments = {}  # id: {"order", "buyer"}
        self.accepted = 0

    def write(self, lines):
        os.write(self.file, "".join(json.dumps(line) + "\n" for line in lines).encode())
        os.fdatasync(self.file)

    def accept(self, found):
        """Every 202 of a batch: (buyer, key, order, round)."""
        if not found:
            return
        self.write([{"accepted": order, "buyer": buyer, "key": key, "round": round_no}
                    for buyer, key, order, round_no in found])
        with self.lock:
            for buyer, key, order, round_no in found:
                if self.keys.setdefault((buyer, key), order) != order:
                    raise Broken(f"key {key} of {buyer} made {self.keys[buyer, key]} and {order}")
                self.accepted += 1
                self.orders.setdefault(order, {"buyer": buyer, "status": "PENDING", "round": round_no})

    def see(self, answer):
        """What a GET of an order said."""
        order, status = answer["orderId"], answer["status"]
        with self.lock:
            known = self.orders[order]
            if status not in LAWFUL[known["status"]]:
                raise Broken(f"order {order} was {known['status']} and is {status}")
            is_news = status != known["status"]
        if is_news:
            self.write([{"seen": order, "status": status}])
            with self.lock:
                known["status"] = status


class Worker:
    """One part of the crowd: buyers of its own, one connection, until the server is gone."""

    def __init__(self, number, journal, rng):
        self.number = number
        self.journal = journal
        self.rng = rng
        self.buyers = [f"w{number}-{i}" for i in range(1, BUYERS_EACH + 1)]
        self.tokens = {}
        self.made_keys = 0
        self.unknown = []    # Claims without an answer: (buyer, key, item, quantity).
        self.open = []       # Orders that may still be PENDING.
        self.restocks = 0    # Stock changes whose answer has come.
        self.restock_wanted = False
        self.broken = None

    def load_tokens(self, shop):
        if not self.tokens:
            self.tokens = dict(zip(self.buyers, shop.tokens(f"w{self.number}-", BUYERS_EACH)))

    def run(self, shop, items, round_no, stop):
        try:
            with Connection(shop.port, timeout=15) as connection:
                while not stop.is_set():
                    self.step(shop, connection, items, round_no)
        except (ConnectionError, TimeoutError, OSError):
            pass  # The server was killed.
        except Exception as error:  # pylint: disable=broad-except
            self.broken = self.broken or error

    def step(self, shop, connection, items, round_no):
        dice = self.rng.random()
        if dice < 0.10 and self.unknown:
            self.claim(connection, self.unknown[:4], round_no)
        elif dice < 0.60:
            self.claim(connection, [self.new_claim(items) for _ in range(self.rng.randint(1, 8))], round_no)
        elif dice < 0.72:
            self.cancel(connection)
        elif dice < 0.88:
            self.pay(connection)
        elif dice < 0.90 and self.number == 0:
            self.restock(shop, connection)
        else:
            self.look(connection, self.rng.sample(self.open, min(8, len(self.open))))

    def new_claim(self, items):
        self.made_keys += 1
        item = self.rng.choice(items)
        quantity = self.rng.randint(1, 2) if item == "churn" else 1
        return self.rng.choice(self.buyers), f"k{self.number}-{self.made_keys}", item, quantity

    def claim(self, connection, claims, round_no):
        # Until the answer is there, nobody knows: the claim is sent again after the restart.
        self.unknown += [claim for claim in claims if claim not in self.unknown]
        connection.send(b"".join(
            request_bytes("POST", PURCHASE.format(item), self.tokens[buyer], {"quantity": quantity},
                          [("Idempotency-Key", key)]) for buyer, key, item, quantity in claims))
        accepted = []
        try:
            for claim in claims:
                answer = connection.read()
                if answer.status == 202:
                    accepted.append((claim[0], claim[1], answer.json()["orderId"], round_no))
                elif answer.status not in (403, 409, 410, 503):
                    raise Broken(f"a claim met {answer}")
                if answer.status != 503:
                    self.unknown.remove(claim)
        finally:
            self.journal.accept(accepted)
            self.open += [order for _, _, order, _ in accepted if order not in self.open]

    def take_open(self):
        if not self.open:
            return None, None
        order = self.rng.choice(self.open)
        return order, self.journal.orders[order]["buyer"]

    def cancel(self, connection):
        order, buyer = self.take_open()
        if order is None:
            return
        answer = connection.ask("DELETE", ORDER.format(order), self.tokens[buyer])
        if answer.status == 200:
            self.journal.see(answer.json())
            self.open.remove(order)
        elif answer.status not in (409, 503):
            raise Broken(f"cancelling {order} met {answer}")

    def pay(self, connection):
        order, buyer = self.take_open()
        if order is None:
            return
        answer = connection.ask("POST", ORDER.format(order) + "/payment", self.tokens[buyer], {})
        if answer.status == 201:
            payment = answer.json()["paymentId"]
            self.journal.payments[payment] = {"order": order, "buyer": buyer}
            outcome = "approve" if self.rng.random() < 0.85 else "decline"
            done = connection.ask("POST", f"/api/payments/sandbox/{payment}/complete", None,
                                  {"outcome": outcome, "times": self.rng.randint(1, 2)})
            if done.status not in (202, 503):
                raise Broken(f"completing {payment} met {done}")
        elif answer.status not in (409, 503):
            raise Broken(f"paying {order} met {answer}")

    def restock(self, shop, connection):
        self.restock_wanted = True
        answer = connection.ask("POST", "/api/admin/items/churn/stock", shop.token("organiser", "organiser"),
                                {"delta": RESTOCK_UNITS, "key": f"restock-{self.restocks + 1}"})
        expect(answer, 200)
        self.restocks += 1
        self.restock_wanted = False

    def look(self, connection, orders):
        """Asks for orders; each must be there."""
        look_at(connection, self.journal, orders, self.tokens)
        self.open = [order for order in self.open if self.journal.orders[order]["status"] == "PENDING"]


def look_at(connection, journal, orders, tokens):
    for at in range(0, len(orders), 64):
        part = orders[at:at + 64]
        answers = connection.ask_all([request_bytes("GET", ORDER.format(order), tokens[journal.orders[order]["buyer"]])
                                      for order in part])
        for order, answer in zip(part, answers):
            if answer.status == 503:
                answer = until(lambda order=order: again(connection, order, tokens[journal.orders[order]["buyer"]]))
            if answer.status != 200 or answer.json()["orderId"] != order:
                raise Broken(f"order {order} was acknowledged and is {answer}")
            journal.see(answer.json())


def again(connection, order, token):
    answer = connection.ask("GET", ORDER.format(order), token)
    return answer if answer.status != 503 else None


class Loop:
    """The rounds: load, kill, start, check."""

    def __init__(self, rounds, seed):
        self.rounds = rounds
        self.rng = random.Random(seed)
        self.shop = Shop(["--sale.payment_grace_s", str(GRACE_S), "--log.level", "warn"])
        self.journal = Journal(os.path.join(self.shop.folder, "journal"))
        self.workers = [Worker(i, self.journal, random.Random(self.rng.random())) for i in range(WORKERS)]
        self.items = []
        self.asked = 0
        self.early_kills = 0

    def tokens(self):
        return {buyer: token for worker in self.workers for buyer, token in worker.tokens.items()}

    def make_sale(self, sale, units, limit):
        self.shop.make_sale(sale, units=units, limit=limit, pay_within=f"{PAY_WITHIN_S}s")
        self.items.append(sale)

    def run(self):
        self.shop.start()
        for worker in self.workers:
            worker.load_tokens(self.shop)
        self.make_sale("churn", CHURN_UNITS, 2)
        for round_no in range(1, self.rounds + 1):
            self.make_sale(f"round-{round_no}", ROUND_UNITS, 1)
            self.load(round_no)
            self.restart(round_no)
            self.check(round_no)
            if round_no % 10 == 0:
                print(f"{round_no} kills: {self.journal.accepted} answers 202, {len(self.journal.orders)} orders, "
                      f"{self.asked} looked up", flush=True)
        self.rest()

    def load(self, round_no):
        stop = threading.Event()
        threads = [threading.Thread(target=worker.run, args=(self.shop, ["churn", f"round-{round_no}"], round_no, stop))
                   for worker in self.workers]
        for thread in threads:
            thread.start()
        time.sleep(self.rng.uniform(*LOAD_S))  # The moment of the kill is meant to be anywhere.
        if self.shop.process.poll() is not None:
            raise Broken(f"the server ended by itself: {self.shop.log()[-2000:]}")
        self.shop.kill()
        stop.set()
        for thread in threads:
            thread.join(30)
        for worker in self.workers:
            if worker.broken is not None:
                raise worker.broken

    def restart(self, round_no):
        if round_no % 5 == 0:
            self.shop.audit()  # The files as the kill left them.
        while self.rng.random() < 0.2:
            self.shop.spawn()
            time.sleep(self.rng.uniform(0, 0.06))
            self.shop.kill()
            self.early_kills += 1
        self.shop.start()

    def check(self, round_no):
        recent = [order for order, known in self.journal.orders.items()
                  if known["round"] > round_no - ROUNDS_LOOKED_BACK]
        self.look(recent)
        for item in ("churn", f"round-{round_no}"):
            self.shop.counts(item)
        self.shop.audit()

    def look(self, orders):
        with self.shop.connect(timeout=30) as connection:
            look_at(connection, self.journal, orders, self.tokens())
        self.asked += len(orders)

    def rest(self):
        """Everything comes to rest: no unit is held, none is missing, all money is accounted for."""
        self.finish_unknown()
        until(lambda: "PENDING" not in self.shop.audit()["orders"], PAY_WITHIN_S + GRACE_S + 10,
              "the end of every unpaid order")
        self.look(list(self.journal.orders))
        until(self.is_money_settled, 30, "every payment to be kept or given back")
        audit = self.shop.audit()
        rows = {row["itemId"]: row for row in audit["items"]}
        for item in self.items:
            total, free, held, sold = self.shop.counts(item)
            row = rows[item]
            if (total, free, held, sold) != (row["total"], row["free"], row["held"], row["sold"]):
                raise Broken(f"gate and ledger disagree on {item}: {(total, free, held, sold)} and {row}")
            wanted = CHURN_UNITS + RESTOCK_UNITS * self.workers[0].restocks if item == "churn" else ROUND_UNITS
            if held != 0 or total != wanted or free + sold != total:
                raise Broken(f"{item} is not whole: {row}, {wanted} in all")
        organiser = self.shop.token("organiser", "admin")
        findings = expect(self.shop.ask("POST", "/api/admin/reconcile", organiser, {"dryRun": True}), 200).json()
        if not findings["ok"]:
            raise Broken(f"gate and ledger disagree: {findings}")
        code, _ = self.shop.stop()
        if code != 0:
            raise Broken(f"the server ended with {code}")
        self.report(audit)

    def finish_unknown(self):
        """Claims and stock changes that never had an answer are sent until they have one."""
        with self.shop.connect(timeout=15) as connection:
            for worker in self.workers:
                until(lambda worker=worker: self.is_finished(worker, connection), 30, "an answer to every claim")
                if worker.restock_wanted:
                    worker.restock(self.shop, connection)

    def is_finished(self, worker, connection):
        worker.claim(connection, worker.unknown[:16], self.rounds)
        return not worker.unknown

    def is_money_settled(self):
        payments = list(self.journal.payments)
        with self.shop.connect(timeout=30) as connection:
            for at in range(0, len(payments), 64):
                part = payments[at:at + 64]
                answers = connection.ask_all([request_bytes("GET", f"/api/payments/sandbox/{payment}")
                                              for payment in part])
                for payment, answer in zip(part, answers):
                    if not self.is_settled(payment, answer):
                        return False
        return True

    def is_settled(self, payment, answer):
        """Captured money belongs to a paid order, or has gone back."""
        money = expect(answer, 200).json()
        if money["refunded"] > money["captured"]:
            raise Broken(f"payment {payment} gave back more than it took: {money}")
        if money["captured"] == money["refunded"]:
            return True
        order = self.journal.payments[payment]["order"]
        if self.journal.orders[order]["status"] != "PAID":
            self.look([order])
        return self.journal.orders[order]["status"] == "PAID"

    def report(self, audit):
        print(f"{self.rounds} kills under load and {self.early_kills} while starting: {self.journal.accepted} answers "
              f"202 for {len(self.journal.orders)} orders, each found ({self.asked} look-ups); "
              f"{len(self.journal.payments)} payments settled; orders {audit['orders']}; every unit is there.",
              flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rounds", nargs="?", type=int, default=100, help="how often the server is killed (100)")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32),
                        help="of the choices; the moment of a kill still depends on the machine")
    parser.add_argument("--keep", action="store_true", help="keep the data folder when a promise was broken")
    arguments = parser.parse_args()
    if arguments.rounds < 1 or not os.access(BINARY, os.X_OK):
        parser.error(f"N must be at least 1, and {BINARY} (WEIR_BINARY) a program")
    print(f"seed {arguments.seed}", flush=True)
    loop = Loop(arguments.rounds, arguments.seed)
    try:
        loop.run()
    except (Broken, AssertionError, OSError) as error:
        print(f"BROKEN (seed {arguments.seed}): {error}", flush=True)
        print(loop.shop.log()[-4000:], flush=True)
        loop.shop.owns_folder = not arguments.keep
        if arguments.keep:
            print(f"the data folder is {loop.shop.folder}", flush=True)
        return 1
    finally:
        loop.shop.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
