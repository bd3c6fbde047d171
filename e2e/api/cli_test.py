"""The command line: exit codes, JSON, settings and their sources, and the same answer on a ledger and on a server."""

import json
import os
import re
import sqlite3
import tempfile
import unittest

import shop
from shop import ROOT, Shop, expect, run_weir, sign_token

SALE = ("--opens-at", "2026-01-01T00:00:00Z", "--closes-at", "2099-01-01T00:00:00Z")
COMMANDS = ("serve", "sale", "item", "tenant", "staff", "token", "audit", "explain", "reconcile", "backup", "restore",
            "doctor", "demo", "rehearse")
SUBCOMMANDS = {"sale": ("create", "list", "show", "open", "pause", "resume", "close"), "item": ("add", "stock"),
               "tenant": ("create", "list", "show"), "token": ("issue",)}


class CommandTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="weir-e2e-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.data = os.path.join(self.folder, "data")

    def run_on_data(self, *arguments, code=0, **options):
        done = run_weir(*arguments, "--data", self.data, cwd=self.folder, **options)
        self.assertEqual(done.returncode, code, f"{arguments}: {done.stdout} {done.stderr}")
        return done

    def make_shop(self):
        self.run_on_data("sale", "create", "--id", "spring", "--title", "Spring", *SALE)
        self.run_on_data("item", "add", "--sale", "spring", "--id", "shirt", "--price", "1999", "--currency", "EUR",
                         "--units", "10")


class HelpTest(CommandTest):

    def test_the_help_of_every_command_is_there_and_names_its_flags(self):
        top = run_weir("--help")
        self.assertEqual(top.returncode, 0)
        for code in ("0 done", "1 the check failed", "2 wrong use", "3 the environment"):
            self.assertIn(code, top.stdout)
        for command in COMMANDS:
            self.assertRegex(top.stdout, rf"(?m)^  {command} ")
            for words in [(command,)] + [(command, name) for name in SUBCOMMANDS.get(command, ())]:
                done = run_weir(*words, "--help")
                self.assertEqual(done.returncode, 0, words)
                self.assertIn("--help", done.stdout)
                # Every flag has a word of explanation.
                for line in re.findall(r"^  (--[\w.-]+.*)$", done.stdout, re.MULTILINE):
                    self.assertGreater(len(line.split()), 1, f"{words}: {line}")
                if words[0] in ("audit", "explain", "reconcile") or (len(words) > 1 and words[0] != "token"):
                    for flag in ("--url", "--token-file", "--json", "--data", "--config"):
                        self.assertIn(flag, done.stdout, words)

    def test_wrong_use_is_2(self):
        self.make_shop()
        for arguments in ((), ("nothing",), ("serve", "--nothing", "1"), ("sale",), ("sale", "create"),
                          ("sale", "create", "--id", "a b", *SALE),
                          ("sale", "create", "--id", "x", "--opens-at", "soon", "--closes-at", "+1h"),
                          ("sale", "create", "--id", "x", "--opens-at", "2026-01-01T00:00:00", "--closes-at", "+1h"),
                          ("sale", "create", "--id", "x", "--opens-at", "+2h", "--closes-at", "+1h"),
                          ("sale", "create", "--id", "x", *SALE, "--pay-within", "0s"),
                          ("sale", "create", "--id", "x", *SALE, "--pay-within", "600"),
                          ("sale", "create", "--id", "x", *SALE, "--limit-per-buyer", "0"),
                          ("item", "add", "--sale", "spring", "--id", "y", "--price", "1"),
                          ("item", "add", "--sale", "spring", "--id", "y", "--price", "-1", "--units", "1"),
                          ("item", "add", "--sale", "spring", "--id", "y", "--price", "1", "--units", "-1"),
                          ("item", "add", "--sale", "spring", "--id", "y", "--price", "1.5", "--units", "1"),
                          ("item", "add", "--sale", "spring", "--id", "y", "--price", "1", "--units", "1", "--currency",
                           "euro"),
                          ("item", "stock", "--id", "shirt", "--key", "k"),
                          ("item", "stock", "--id", "shirt", "--add", "1"),
                          ("item", "stock", "--id", "shirt", "--add", "1", "--remove", "1", "--key", "k"),
                          ("explain", "nonsense"), ("explain",), ("token", "issue"),
                          ("token", "issue", "--sub", "a", "--role", "king"),
                          ("token", "issue", "--sub", "a", "--ttl", "forever"), ("token", "issue", "--count", "3"),
                          ("audit", "--http.reactors", "many")):
            done = run_weir(*arguments, *(["--data", self.data] if len(arguments) > 1 or "audit" in arguments else []))
            self.assertEqual(done.returncode, 2, f"{arguments}: {done.stdout} {done.stderr}")
            self.assertTrue(done.stderr.strip(), arguments)

    def test_what_is_refused_is_1_and_an_unfit_environment_is_3(self):
        self.make_shop()
        self.run_on_data("sale", "create", "--id", "spring", "--title", "Other", *SALE, code=1)
        self.run_on_data("sale", "open", "--id", "none", code=1)
        self.run_on_data("sale", "show", "--id", "none", code=1)
        self.run_on_data("item", "stock", "--id", "shirt", "--remove", "11", "--key", "k", code=1)
        self.run_on_data("explain", "0" * 32, code=1)
        self.run_on_data("sale", "close", "--id", "spring")
        self.run_on_data("sale", "open", "--id", "spring", code=1)
        for arguments in (("audit", "--data", "/proc/nothing"), ("sale", "list", "--data", "/proc/nothing"),
                          ("token", "issue", "--sub", "a", "--data", "/proc/nothing"),
                          ("sale", "list", "--data", self.data, "--url", "http://127.0.0.1:1")):
            done = run_weir(*arguments)
            self.assertEqual(done.returncode, 3, f"{arguments}: {done.stdout} {done.stderr}")


class SettingTest(CommandTest):

    def config(self, *arguments, code=0, **options):
        done = run_weir("serve", "--print-config", *arguments, cwd=self.folder, **options)
        self.assertEqual(done.returncode, code, f"{arguments}: {done.stdout} {done.stderr}")
        return done

    def test_every_setting_is_shown_with_its_source(self):
        shown = self.config().stdout
        with open(os.path.join(ROOT, "docs/settings.md"), encoding="utf-8") as file:
            documented = re.findall(r"^\| `([a-z0-9_.]+)` \|", file.read(), re.MULTILINE)
        self.assertGreater(len(documented), 20)
        for name in documented:
            self.assertIn(name, shown)
            if "dsn" not in name:
                self.assertIn("--" + name, run_weir("serve", "--help").stdout)

    def test_a_flag_beats_the_environment_which_beats_the_file(self):
        path = os.path.join(self.folder, "weir.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write("[sale]\npay_within_s = 61\n[rate]\nper_buyer_per_s = 62\n[http]\nreactors = 3\n")
        env = {"WEIR_RATE_PER_BUYER_PER_S": "63", "WEIR_HTTP_REACTORS": "4"}

        def value(shown, name):
            return next(line for line in shown.splitlines() if name in line)
        shown = self.config("--http.reactors", "5", env=env).stdout  # ./weir.toml is read by itself.
        for name, text in (("sale.pay_within_s", "61"), ("rate.per_buyer_per_s", "63"), ("http.reactors", "5")):
            self.assertRegex(value(shown, name), rf"\b{text}\b")
        other = os.path.join(self.folder, "other.toml")
        with open(other, "w", encoding="utf-8") as file:
            file.write("sale.pay_within_s = 77\n")
        self.assertRegex(value(self.config("--config", other).stdout, "sale.pay_within_s"), r"\b77\b")
        self.config("--config", os.path.join(self.folder, "missing.toml"), code=2)

    def test_names_that_are_no_settings_are_refused_in_all_three_places(self):
        self.assertIn("WEIR_HTTP_REACTOR", self.config(env={"WEIR_HTTP_REACTOR": "1"}, code=2).stderr)
        self.config("--http.reactor", "1", code=2)
        path = os.path.join(self.folder, "weir.toml")
        for text in ("http.reactor = 1\n", "[sales]\nlimit = 1\n", "http.reactors = 'two'\n", "http.reactors = \n",
                     "http.reactors = 1000\n", "sale.pay_within_s = 0\n"):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            for command in (("serve", "--print-config"), ("audit",), ("sale", "list"), ("doctor",)):
                done = run_weir(*command, cwd=self.folder)
                self.assertEqual(done.returncode, 2, f"{text} {command}: {done.stdout} {done.stderr}")

    def test_secrets_come_from_files_or_the_environment_and_are_never_printed(self):
        secret = "postgres://ana:hunter2hunter2@db/weir"
        shown = self.config(env={"WEIR_POSTGRES_DSN": secret})
        self.assertNotIn("hunter2", shown.stdout + shown.stderr)
        self.config("--postgres.dsn", secret, code=2)
        short = os.path.join(self.folder, "short")
        with open(short, "w", encoding="ascii") as file:
            file.write("k" * 31)
        for path in (short, "/dev/null"):
            done = run_weir("token", "issue", "--sub", "a", "--data", self.data, "--auth.hs256_secret_file", path)
            self.assertEqual(done.returncode, 3, done)
            self.assertNotIn("kkkk", done.stderr)

    def test_B105_the_server_does_not_start_with_a_key_that_is_none(self):
        empty = os.path.join(self.folder, "empty")
        with open(empty, "w", encoding="ascii"):
            pass
        os.chmod(empty, 0o600)
        self.run_on_data("serve", "--auth.hs256_secret_file", empty, "--http.listen", "127.0.0.1:0", "--ops.listen",
                         "127.0.0.1:0", code=3)

    def test_production_refuses_what_the_doctor_calls_fatal(self):
        found = json.loads(run_weir("doctor", "--mode", "production", "--data", self.data, "--json").stdout)
        self.assertFalse(found["ok"])
        self.assertEqual({"severity", "setting", "message"}, set(found["findings"][0]))
        self.run_on_data("serve", "--mode", "production", "--payment.sandbox", "true", "--http.listen", "127.0.0.1:0",
                         "--ops.listen", "127.0.0.1:0", code=3)

    def test_stores_that_are_not_in_this_version_are_refused(self):
        for arguments in (("--gate", "redis"), ("--queue", "kafka"), ("--ledger", "postgres"), ("--gate", "paper")):
            done = run_weir("serve", "--data", self.data, *arguments, "--http.listen", "127.0.0.1:0", "--ops.listen",
                            "127.0.0.1:0", timeout=10)
            self.assertIn(done.returncode, (2, 3), done)


class TokenTest(CommandTest):

    def test_tokens_are_printed_or_written_one_a_line(self):
        one = self.run_on_data("token", "issue", "--sub", "ana").stdout
        self.assertRegex(one, r"^[\w-]+\.[\w-]+\.[\w-]+\n$")
        shown = json.loads(self.run_on_data("token", "issue", "--sub", "ana", "--json").stdout)
        self.assertEqual(set(shown), {"token", "expiresAt"})
        path = os.path.join(self.folder, "tokens")
        self.run_on_data("token", "issue", "--count", "500", "--prefix", "p", "--out", path)
        with open(path, encoding="ascii") as file:
            lines = file.read().splitlines()
        self.assertEqual((len(lines), len(set(lines))), (500, 500))
        self.run_on_data("token", "issue", "--count", "1", "--prefix", "p", "--out", "/proc/nothing/x", code=3)


class CopyTest(CommandTest):

    def test_F53_a_restored_ledger_is_served_only_when_its_gap_is_confirmed(self):
        copy = os.path.join(self.folder, "copy")
        with Shop() as server:
            server.start()
            server.make_sale("copied", units=3)
            first = expect(server.buy("copied", "ana"), 202).json()["orderId"]
            done = server.cli("backup", copy, "--json")
            self.assertEqual((done.returncode, json.loads(done.stdout)), (0, {"file": copy}), done.stderr)
            self.assertEqual(server.cli("backup", copy).returncode, 3, "a copy replaces no file")
            second = expect(server.buy("copied", "bob"), 202).json()["orderId"]
            self.assertEqual(server.cli("restore", copy).returncode, 3, "the server has the ledger")
            server.stop()
            done = server.cli("restore", copy, "--json")
            restored = json.loads(done.stdout)
            self.assertEqual((done.returncode, restored["orders"]), (0, 1), done.stderr)
            self.assertTrue(os.path.exists(restored["replaced"]))
            # It can be looked at, and nothing sells or changes it.
            server.audit()
            self.assertEqual(server.cli("explain", first).returncode, 0)
            self.assertEqual(server.cli("explain", second).returncode, 1)
            ports = ("--http.listen", "127.0.0.1:0", "--ops.listen", "127.0.0.1:0")
            for command in (("serve", *ports), ("sale", "open", "--id", "copied"),
                            ("item", "stock", "--id", "copied", "--add", "1", "--key", "k")):
                done = server.cli(*command)
                self.assertEqual(done.returncode, 3, command)
                self.assertIn("--confirm-gap", done.stderr, command)
            settings = server.settings
            server.settings = [*settings, "--confirm-gap"]
            server.start()
            self.assertIn("gap_confirmed", server.log())
            self.assertEqual(server.counts("copied"), (3, 2, 1, 0))
            server.stop()
            server.settings = settings
            server.start()  # Once is enough.
            self.assertEqual(server.order(first, "ana").status, 200)

    def test_what_is_no_copy_is_not_restored(self):
        self.make_shop()
        text = os.path.join(self.folder, "text")
        with open(text, "w", encoding="ascii") as file:
            file.write("no ledger" * 1000)
        for path in (text, os.path.join(self.folder, "none")):
            self.assertIn(path, self.run_on_data("restore", path, code=3).stderr)
        self.assertIn("spring", self.run_on_data("sale", "list").stdout)

    def test_a_role_is_granted_by_a_token_and_nowhere_else(self):
        done = run_weir("staff", "grant", "--sub", "ana", "--role", "support")
        self.assertEqual(done.returncode, 1)
        self.assertIn("weir token issue", done.stderr)


class SameAnswerTest(CommandTest):

    def answer(self, *arguments, code=0):
        done = run_weir(*arguments, "--json")
        self.assertEqual(done.returncode, code, f"{arguments}: {done.stdout} {done.stderr}")
        return json.loads(done.stdout)

    def test_a_ledger_and_a_server_give_the_same_answers(self):
        with Shop() as server:
            server.start()
            token = os.path.join(server.folder, "token")
            with open(token, "w", encoding="ascii") as file:
                file.write(server.token("boss", "admin") + "\n")
            on_ledger = ("--data", self.data)
            on_server = ("--url", f"http://127.0.0.1:{server.port}", "--token-file", token)
            calls = [
                (0, "sale", "create", "--id", "spring", "--title", "Spring \"one\"", *SALE, "--limit-per-buyer", "2",
                 "--pay-within", "90s"),
                (1, "sale", "create", "--id", "spring", "--title", "Other", *SALE),
                (0, "item", "add", "--sale", "spring", "--id", "shirt", "--title", "Shirt", "--price", "1999",
                 "--currency", "EUR", "--units", "10"),
                (1, "item", "add", "--sale", "spring", "--id", "shirt", "--title", "Shirt", "--price", "1",
                 "--currency", "EUR", "--units", "10"),
                (0, "item", "stock", "--id", "shirt", "--add", "5", "--key", "k"),
                (0, "item", "stock", "--id", "shirt", "--add", "5", "--key", "k"),
                (1, "item", "stock", "--id", "shirt", "--remove", "16", "--key", "l"),
                (0, "item", "stock", "--id", "shirt", "--remove", "15", "--key", "m"),
                (0, "item", "stock", "--id", "shirt", "--remove", "15", "--key", "m"),
                (0, "sale", "list"), (0, "sale", "show", "--id", "spring"), (1, "sale", "show", "--id", "none"),
                (0, "sale", "pause", "--id", "spring"), (0, "sale", "resume", "--id", "spring"),
                (0, "sale", "close", "--id", "spring"), (1, "sale", "resume", "--id", "spring"),
                (0, "audit"), (0, "tenant", "list"), (0, "tenant", "show", "--id", "default"),
                (1, "tenant", "show", "--id", "none"),
                (0, "tenant", "create", "--id", "blue", "--domain", "127.0.0.1"), (0, "tenant", "list"),
                (0, "tenant", "show", "--id", "blue"),
            ]
            for code, *arguments in calls:
                first = self.answer(*arguments, *on_ledger, code=code)
                second = self.answer(*arguments, *on_server, code=code)
                if code == 1:  # The code is stable, the sentence is not.
                    first, second = first["error"], second["error"]
                self.assertEqual(first, second, arguments)

    def test_proofs_of_a_running_server(self):
        with Shop() as server:
            server.start()
            server.make_sale("proof", units=3)
            order = expect(server.buy("proof", "ana"), 202).json()["orderId"]
            token = os.path.join(server.folder, "token")
            with open(token, "w", encoding="ascii") as file:
                file.write(server.token("boss", "organiser"))
            where = ("--url", f"http://127.0.0.1:{server.port}", "--token-file", token)
            audit = self.answer("audit", *where)
            self.assertEqual(set(audit), {"ok", "invariants", "items", "orders"})
            self.assertEqual(audit["items"], [{"itemId": "proof", "total": 3, "free": 2, "held": 1, "sold": 0}])
            self.assertEqual(audit["orders"], {"PENDING": 1})
            self.assertEqual(set(audit["invariants"][0]), {"id", "checked", "violations"})
            self.assertEqual(self.answer("audit", "--data", server.data), audit)
            life = self.answer("explain", order, *where)
            beside = self.answer("explain", order, "--data", server.data)
            self.assertEqual(life["lines"].pop()["detail"], beside["lines"].pop()["detail"])  # How it is now.
            self.assertEqual(life, beside)
            self.assertEqual(set(life["lines"][0]), {"at", "source", "what", "detail"})
            for dry in ((), ("--dry-run",)):
                self.assertTrue(self.answer("reconcile", *dry, *where)["ok"])
            plain = run_weir("explain", order, "--data", server.data)
            self.assertEqual(plain.returncode, 0)
            self.assertEqual(len(plain.stdout.splitlines()), len(life["lines"]) + 1)
            with open(token, "w", encoding="ascii") as file:
                file.write(sign_token(b"k" * 32, {"sub": "eve", "role": "admin", "exp": 4102444800}))
            self.assertIn(run_weir("audit", *where).returncode, (1, 3))

    def test_an_audit_names_the_rows_that_are_wrong(self):

        self.make_shop()
        with sqlite3.connect(os.path.join(self.data, "ledger.db")) as database:
            database.execute("UPDATE flash_sale_item SET held = 1")
        report = self.answer("audit", "--data", self.data, code=1)
        broken = [row["id"] for row in report["invariants"] if row["violations"]]
        self.assertFalse(report["ok"])
        self.assertEqual(broken, ["I1"])
        self.assertIn("shirt", str(report["invariants"]))


if __name__ == "__main__":
    shop.main()
