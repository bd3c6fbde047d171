#!/usr/bin/env python3
"""Each rule of the house fires on a planted breach, and only there."""

import tempfile
import unittest
from pathlib import Path

from tidy import RULES, findings_of

# A small tree without a breach. A test plants one and looks for its rule.
CLEAN = {
    "docs/architecture.md": """# Map

| Folder | Job | May include |
|---|---|---|
| `src/base` | words | |
| `src/gate` | refuses | `base` |
| `src/flow` | moves | `base` `gate` |
| `src/app` | wires | `base` `gate` `flow` |
| `src/metrics` | counts | |
| `docs` | pages | |

| Port | Adapters |
|---|---|
| `gate/gate.h` | `gate/memory_gate.h` |
""",
    "docs/glossary.md": """| Banned | Say |
|---|---|
| `booking` | claim |
| `manager` | its job |
""",
    "docs/invariants.md": """| Id | Constraint | Tests | Metric |
|---|---|---|---|
"""
    + "".join(
        f"| I{n} | `CHECK (held >= 0)` | `GateTest.NothingIsSoldTwice` | `weir_gate_free_units` |\n"
        for n in range(1, 10)
    ),
    "docs/faults.md": """| Number | What happens here | Tests |
|---|---|---|
"""
    + "".join(f"| F{n:02} | it holds | `GateTest.NothingIsSoldTwice` |\n" for n in range(1, 76))
    + "| F76 | No test: it cannot happen | |\n",
    "docs/decisions/0001-a-choice.md": "# A choice\n\n## Context\n\n## Choice\n\n## Price\n",
    "README.md": """Run `./dev demo`, see [the map](docs/architecture.md).

Machine: two cores.

| Figure | Measured | Command |
|---|---|---|
| refusals | 5 | `./dev demo` |
""",
    "dev": "#!/usr/bin/env bash\nstage_unit() {\n}\ncommand_demo() {\n}\ncommand_test() {\n}\n",
    "src/base/time.h": "#pragma once\n/// Time.\n",
    "src/base/CMakeLists.txt": "",
    "src/gate/gate.h": '#pragma once\n/// The port.\n#include "base/time.h"\n',
    "src/gate/memory_gate.h": '#pragma once\n/// The adapter.\n#include "gate/gate.h"\n',
    "src/gate/memory_gate.cc": '#include "gate/memory_gate.h"\nconst char* kSql = "CHECK (held >= 0)";\n',
    "src/gate/memory_gate_test.cc": '#include "gate/memory_gate.h"\nTEST(GateTest, NothingIsSoldTwice) {}\n',
    "src/gate/CMakeLists.txt": "weir_library(gate SOURCES memory_gate.cc memory_gate_test.cc)\n",
    "src/flow/admit.cc": '#include "gate/gate.h"\n',
    "src/flow/CMakeLists.txt": "weir_library(flow SOURCES admit.cc)\n",
    "src/metrics/names.h": '#pragma once\n/// Names.\nconst char* a = "weir_gate_free_units";\n',
    "src/app/main.cc": '#include "gate/memory_gate.h"\n',
    "src/app/CMakeLists.txt": "add_executable(weir main.cc)\n",
}


class Tidy(unittest.TestCase):
    def findings(self, changes: dict[str, str | None]) -> list:
        """What tidy says of the clean tree after the changes; None deletes a file."""
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for path, text in {**CLEAN, **changes}.items():
                if text is not None:
                    (root / path).parent.mkdir(parents=True, exist_ok=True)
                    (root / path).write_text(text, encoding="utf-8")
            return findings_of(root)

    def assert_fires(self, rule: str, path: str, text: str | None, at: str | None = None) -> None:
        """The rule fires, at the place of the breach, and no other rule does."""
        found = self.findings({path: text})
        self.assertTrue(found, f"{rule} did not fire")
        self.assertEqual({rule}, {finding.rule for finding in found}, [str(finding) for finding in found])
        self.assertIn(at or path, {finding.path for finding in found})

    def assert_silent(self, path: str, text: str) -> None:
        self.assertEqual([], [str(finding) for finding in self.findings({path: text})])

    def in_flow(self, line: str) -> tuple[str, str]:
        return "src/flow/admit.cc", f'#include "gate/gate.h"\n{line}\n'

    def test_the_clean_tree_has_no_finding(self):
        self.assertEqual([], self.findings({}))

    def test_every_rule_is_covered_here(self):
        spoken = Path(__file__).read_text(encoding="utf-8")
        for rule in RULES:
            name = f"def test_{rule.__name__.removeprefix('check_')}_"
            self.assertTrue(name in spoken, f"there is no `{name}`")

    # Layout

    def test_folder_table_misses_a_folder(self):
        self.assert_fires("folders", "src/queue/queue.h", "#pragma once\n/// A port.\n", "docs/architecture.md")
        self.assert_fires("folders", "deploy/unit.service", "text\n", "docs/architecture.md")

    def test_folder_table_lists_what_is_gone(self):
        text = CLEAN["docs/architecture.md"].replace("| `docs` |", "| `sim` | seeds | |\n| `docs` |")
        self.assert_fires("folders", "docs/architecture.md", text)

    def test_includes_point_down(self):
        self.assert_fires("includes", "src/base/time.h", '#pragma once\n/// Time.\n#include "gate/gate.h"\n')
        self.assert_fires("includes", *self.in_flow('#include "gate.h"'))
        self.assert_silent(*self.in_flow('// #include "app/main.h" would point up.'))

    def test_adapters_are_named_by_wiring_only(self):
        self.assert_fires("adapters", *self.in_flow('#include "gate/memory_gate.h"'))
        self.assert_fires("adapters", "src/gate/lua_gate.h", "#pragma once\n/// One more.\n", "docs/architecture.md")

    def test_headers_say_their_job(self):
        self.assert_fires("headers", "src/base/time.h", "#pragma once\n")
        self.assert_fires("headers", "src/base/time.h", "/// Time.\n")

    def test_own_header_first_of_all(self):
        text = '#include "gate/gate.h"\n#include "gate/memory_gate.h"\nconst char* kSql = "CHECK (held >= 0)";\n'
        self.assert_fires("own header", "src/gate/memory_gate.cc", text)

    def test_built_or_deleted(self):
        self.assert_fires("built", "src/flow/forgotten.cc", "")

    # Code

    def test_banned_calls_have_one_home(self):
        for call in (
            "auto t = std::chrono::system_clock::now();",
            "auto t = std::chrono::steady_clock::now();",
            "clock_gettime(CLOCK_REALTIME, &at);",
            "gettimeofday(&at, nullptr);",
            "auto t = time(nullptr);",
            "auto t = std::time(0);",
            "std::random_device seed;",
            "int n = rand();",
            "getrandom(data, 8, 0);",
            'auto home = std::getenv("HOME");',
            "std::this_thread::sleep_for(1ms);",
            "usleep(100);",
            "assert(n > 0);",
            "using namespace std;",
        ):
            with self.subTest(call):
                self.assert_fires("calls", *self.in_flow(call))
        self.assert_silent(*self.in_flow("const auto spent = order.time(0);  // Not std::time(0)."))
        self.assert_silent(*self.in_flow('log("never call rand()");'))
        self.assert_silent("src/app/main.cc", 'const char* path = std::getenv("PATH");\n')

    def test_suppressions_say_why(self):
        self.assert_fires("suppressions", *self.in_flow("int n = 0;  // NOLINT"))
        self.assert_fires("suppressions", *self.in_flow("int n = 0;  // NOLINT(bugprone-x)"))
        self.assert_silent(*self.in_flow("int n = 0;  // NOLINT(bugprone-x): the C interface wants it."))
        self.assert_fires("suppressions", *self.in_flow('\n\n#pragma GCC diagnostic ignored "-Wshadow"'))

    def test_tabs_are_refused(self):
        self.assert_fires("tabs", *self.in_flow("\tint n = 0;"))

    # Text

    def test_columns_are_bounded(self):
        self.assert_fires("columns", *self.in_flow("// " + "x" * 118))
        self.assert_silent(*self.in_flow("// " + "ä" * 117))

    def test_file_size_is_bounded(self):
        self.assert_fires("size", *self.in_flow("// A line.\n" * 800))

    def test_unfinished_work_says_its_kind(self):
        for left in ("FIX" + "ME: later", "X" * 3, "TO" + "DO: later", "TO" + "DO(perf)"):
            with self.subTest(left):
                self.assert_fires("unfinished", *self.in_flow(f"// {left}"))
        self.assert_silent(*self.in_flow("// TO" + "DO(perf): batch the look-ups."))

    def test_machine_paths_are_refused(self):
        for path in ("/ho" + "me/me/x", "/ro" + "ot/x", "/wo" + "rk/main"):
            with self.subTest(path):
                self.assert_fires("paths", "README.md", CLEAN["README.md"] + f"See {path}.\n")
        self.assert_silent("README.md", CLEAN["README.md"] + "See build/ho" + "me/x.\n")

    def test_hosts_are_refused(self):
        for host in ("registry.npm" + "js.org", "py" + "pi.org", "github" + ".com", "deb.debian" + ".org"):
            with self.subTest(host):
                self.assert_fires("hosts", "README.md", CLEAN["README.md"] + f"https://{host}/x\n")
        self.assert_silent("README.md", CLEAN["README.md"] + "https://shop.example/x\n")

    def test_words_have_no_double(self):
        for line in ("// A booking.", "class SaleManager;", "int bookings = 0;", "int open_bookings_max = 0;"):
            with self.subTest(line):
                self.assert_fires("words", *self.in_flow(line))
        self.assert_silent("README.md", CLEAN["README.md"] + "Not a booking site.\n")

    # Documents

    def test_commands_exist(self):
        self.assert_fires("commands", "README.md", CLEAN["README.md"] + "Run `./dev fly`.\n")
        self.assert_fires("commands", "README.md", CLEAN["README.md"] + "Run `./dev test moon`.\n")
        self.assert_silent("README.md", CLEAN["README.md"] + "Run `./dev test unit`.\n")

    def test_links_lead_somewhere(self):
        self.assert_fires("links", "README.md", CLEAN["README.md"] + "See [this](docs/gone.md).\n")

    def test_figures_have_a_command_and_a_machine(self):
        self.assert_fires("figures", "README.md", CLEAN["README.md"].replace("`./dev demo` |", "|"))
        self.assert_fires("figures", "README.md", CLEAN["README.md"].replace("Machine: two cores.", ""))

    def test_invariants_name_what_exists(self):
        text = CLEAN["docs/invariants.md"]
        for old, new in (
            ("GateTest.NothingIsSoldTwice", "GateTest.Gone"),
            ("weir_gate_free_units", "weir_gate_gone"),
            ("CHECK (held >= 0)", "CHECK (held >= 1)"),
            ("| I9 |", "| I8 |"),
            ("| `weir_gate_free_units` |\n| I9", "| |\n| I9"),
        ):
            with self.subTest(new):
                self.assert_fires("invariants", "docs/invariants.md", text.replace(old, new))

    def test_faults_have_their_tests_or_a_reason(self):
        text = CLEAN["docs/faults.md"]
        for old, new in (
            ("| F07 | it holds | `GateTest.NothingIsSoldTwice` |", "| F07 | it holds | `GateTest.Gone` |"),
            ("| F07 | it holds | `GateTest.NothingIsSoldTwice` |", "| F07 | it holds | |"),
            ("| F07 |", "| F08 |"),
            ("it cannot happen", "see `GateTest.Gone`"),
            ("No test: it cannot happen | |", "No test: there is one | `GateTest.NothingIsSoldTwice` |"),
            ("| F76 |", "| F77 |"),
        ):
            with self.subTest(new):
                self.assert_fires("faults", "docs/faults.md", text.replace(old, new, 1))
        for name in ("F76_ItDoesHappen", "F99_NobodyKnowsThis"):
            test = CLEAN["src/gate/memory_gate_test.cc"] + f"TEST(GateTest, {name}) {{}}\n"
            self.assert_fires("faults", "src/gate/memory_gate_test.cc", test, "docs/faults.md")

    def test_decisions_say_their_price(self):
        text = CLEAN["docs/decisions/0001-a-choice.md"]
        self.assert_fires("decisions", "docs/decisions/0001-a-choice.md", text.replace("## Price\n", ""))
        self.assert_fires("decisions", "docs/decisions/0001-another.md", text)
        self.assert_fires("decisions", "docs/decisions/notes.md", text)


if __name__ == "__main__":
    unittest.main()
