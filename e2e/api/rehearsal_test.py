"""The demonstration and the rehearsal: a crowd over real HTTP, a verdict, a report, and an exit code that says it."""

import json
import os
import re
import tempfile
import unittest

import shop
from shop import Shop, run_weir

MEMBERS = {"verdict", "reasons", "offered", "answered", "failed", "outcomes", "latencyMs", "winnersLatencyMs",
           "sellOutMs", "rate", "server", "audit"}
LATENCIES = {"p50", "p90", "p99", "p999", "max"}


class RehearsalTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="weir-e2e-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def check(self, report, units):
        self.assertLessEqual(MEMBERS, set(report))
        self.assertEqual((report["verdict"], report["reasons"]), ("GO", []), report["reasons"])
        self.assertEqual(report["failed"], 0)
        self.assertLessEqual(LATENCIES, set(report["latencyMs"]))
        self.assertLessEqual(LATENCIES, set(report["winnersLatencyMs"]))
        self.assertLessEqual({"offered", "answered"}, set(report["rate"]))
        self.assertLessEqual({"cpuSeconds", "rssBytes"}, set(report["server"]))
        self.assertTrue(report["audit"]["ok"])
        self.assertEqual(report["outcomes"]["202"], units)
        self.assertEqual(sum(report["outcomes"].values()), report["answered"])

    def test_the_demonstration_ends_with_go_and_leaves_a_report_and_nothing_else(self):
        path = os.path.join(self.folder, "report.html")
        done = run_weir("demo", "--once", "--units", "50", "--buyers", "300", "--burst", "1s", "--json", "--report",
                        path, timeout=90, cwd=self.folder, env={"TMPDIR": self.folder})
        self.assertEqual(done.returncode, 0, done)
        report = json.loads(done.stdout.strip().splitlines()[-1])  # The last thing on standard output.
        self.check(report, 50)
        self.assertEqual(report["audit"]["orders"], {"PENDING": 50})
        row = report["audit"]["items"][0]
        self.assertEqual((row["total"], row["free"], row["held"] + row["sold"]), (50, 0, 50))
        with open(path, encoding="utf-8") as file:
            page = file.read()
        self.assertIn("GO", page)
        self.assertIsNone(re.search(r"(src|href)=[\"']https?://", page), "the report stands alone")
        self.assertEqual(sorted(name for name in os.listdir(self.folder)), ["report.html", "report.json"])

    def test_a_rehearsal_of_a_running_shop(self):
        with Shop(rates=True) as server:
            server.start()
            server.make_sale("poster", units=40)
            server.tokens("crowd", 200)
            token = os.path.join(server.folder, "staff")
            with open(token, "w", encoding="ascii") as file:
                file.write(server.token("boss", "organiser"))
            where = ("--url", f"http://127.0.0.1:{server.port}", "--item", "poster")
            report_path = os.path.join(self.folder, "r.html")
            done = run_weir("rehearse", *where, "--buyers", "200", "--burst", "1s", "--tokens",
                            os.path.join(server.folder, "tokens-crowd"), "--token-file", token, "--json", "--report",
                            report_path, "--server-pid", str(server.process.pid), timeout=60, cwd=self.folder)
            self.assertEqual(done.returncode, 0, f"{done.stdout[-500:]} {done.stderr}")
            self.check(json.loads(done.stdout.strip().splitlines()[-1]), 40)
            self.assertEqual(server.counts("poster"), (40, 0, 40, 0))
            self.assertTrue(os.path.exists(report_path))

    def test_what_cannot_be_rehearsed_is_said(self):
        url, crowd = ("--url", "http://127.0.0.1:1"), ("--item", "x", "--buyers", "5")
        for arguments, codes in (((*url, *crowd, "--burst", "1s"), (1, 3)), ((*url, *crowd), (2,)),
                                 ((*url, "--buyers", "5", "--burst", "1s"), (2,)),
                                 (("--url", "nonsense", *crowd, "--burst", "1s"), (2, 3)),
                                 ((*url, "--item", "x", "--buyers", "0", "--burst", "1s"), (2,)),
                                 ((*url, *crowd, "--rate", "1", "--burst", "1s"), (2,))):
            done = run_weir("rehearse", *arguments, "--data", self.folder, timeout=60, cwd=self.folder)
            self.assertIn(done.returncode, codes, f"{arguments}: {done}")
            self.assertTrue(done.stderr.strip())


if __name__ == "__main__":
    shop.main()
