"""Whether the documents are still true: commands, links, figures, invariants, decisions."""

import re

from tables import table_with, tables_of
from tree import CODE_FOLDERS, Finding, SourceFile, Tree

INVARIANTS = "docs/invariants.md"
INVARIANT_IDS = tuple(f"I{number}" for number in range(1, 10))
DECISION_PARTS = ("Context", "Choice", "Price")
FAULTS = "docs/faults.md"
FAULT_IDS = tuple(f"F{number:02}" for number in range(1, 77))

_TEST = re.compile(
    r"\b(?:TEST|TEST_F|TEST_P|TYPED_TEST|TYPED_TEST_P|RC_GTEST_PROP|RC_GTEST_FIXTURE_PROP)\s*\(\s*(\w+)\s*,\s*(\w+)"
)
_OTHER_TESTS = re.compile(
    r"^\s*def (test_\w+)|\b(?:test|it)\(\s*['\"`]([^'\"`]+)['\"`]|\badd_test\(\s*NAME\s+(\w+)", re.M
)


def _dev_words(tree: Tree) -> tuple[set[str], set[str]]:
    """The commands of `./dev`, and the stages of its test."""
    script = tree.get("dev")
    text = script.text if script else ""
    return set(re.findall(r"^command_(\w+)\(\)", text, re.M)), set(re.findall(r"^stage_(\w+)\(\)", text, re.M))


def check_commands(tree: Tree) -> list[Finding]:
    """Every `./dev X` that a document names is a command, and every stage a stage."""
    commands, stages = _dev_words(tree)
    findings = []
    for file in tree.documents() + [found for found in [tree.get(".ci/run")] if found]:
        for number, line in enumerate(file.lines, 1):
            for match in re.finditer(r"(?:\./|\.\./)dev\"? +([a-z]\w*)((?: +[a-z]\w*)*)", line):
                command, rest = match.group(1), match.group(2).split()
                if command not in commands:
                    findings.append(Finding(file.path, number, "commands", f"./dev has no command `{command}`"))
                elif command == "test":
                    for stage in rest:
                        if stage not in stages:
                            message = f"./dev test has no stage `{stage}`"
                            findings.append(Finding(file.path, number, "commands", message))
    return findings


def check_links(tree: Tree) -> list[Finding]:
    """A link inside the tree leads somewhere."""
    findings = []
    for file in tree.documents():
        base = file.path.rsplit("/", 1)[0] + "/" if "/" in file.path else ""
        in_code = False
        for number, line in enumerate(file.lines, 1):
            in_code = in_code != line.startswith("```")
            for target in [] if in_code else re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", line)):
                path = target.split("#")[0]
                if path and not re.match(r"[a-z]+:", path) and not tree.exists(base + path):
                    findings.append(Finding(file.path, number, "links", f"{target} leads nowhere"))
    return findings


def check_figures(tree: Tree) -> list[Finding]:
    """A measured number stands beside the command that makes it, and the page names the machine."""
    findings = []
    for file in tree.documents():
        for table in tables_of(file):
            if "Measured" not in table.headings:
                continue
            has_figure = False
            for row in table.rows:
                has_figure = has_figure or bool(re.search(r"\d", row.cells.get("Measured", "")))
                if not row.names("Command"):
                    findings.append(Finding(file.path, row.line, "figures", "a figure without its command"))
            if has_figure and not re.search(r"^Machine: \S", file.text, re.M):
                message = "a line `Machine: …` says where it was measured"
                findings.append(Finding(file.path, table.line, "figures", message))
    return findings


def _tests_of(tree: Tree) -> set[str]:
    """Every test by its name, with and without its suite."""
    names: set[str] = set()
    for file in tree.files:
        if file.path.split("/")[0] not in CODE_FOLDERS + ("tools",):
            continue
        if file.is_cpp:
            for suite, name in _TEST.findall(file.text):
                names.update((name, f"{suite}.{name}"))
        elif file.suffix in {".py", ".js", ".mjs", ".ts"} or file.name == "CMakeLists.txt":
            names.update(name for found in _OTHER_TESTS.findall(file.text) for name in found if name)
    return names


def _squeezed(files: list[SourceFile]) -> str:
    return " ".join(" ".join(file.text.split()) for file in files).lower()


def check_invariants(tree: Tree) -> list[Finding]:
    """Every invariant has a constraint, a test and a metric, and each of them is there."""
    table = table_with(tree.get(INVARIANTS), "Id", "Constraint", "Tests", "Metric")
    if table is None:
        message = "there is no table with the headings Id, Constraint, Tests, Metric"
        return [Finding(INVARIANTS, 1, "invariants", message)]
    findings, seen = [], []
    tests = _tests_of(tree)
    metrics = _squeezed([file for file in tree.files if file.path.startswith("src/metrics/")])
    sources = _squeezed([file for file in tree.files if file.path.startswith("src/") and not file.is_test])
    for row in table.rows:
        seen += re.findall(r"I\d+", row.cells["Id"])

        def breach(message: str, line: int = row.line) -> None:
            findings.append(Finding(INVARIANTS, line, "invariants", message))

        if row.cells["Constraint"].startswith("Not in this version"):
            continue
        for heading in ("Tests", "Metric"):
            if not row.names(heading):
                breach(f"{row.cells['Id']} names nothing under {heading}")
        if not row.cells["Constraint"]:
            breach(f"{row.cells['Id']} says nothing under Constraint")
        for name in row.names("Tests"):
            if name not in tests:
                breach(f"there is no test `{name}`")
        for name in row.names("Metric"):
            if name not in metrics and f'"{name}"' not in sources:
                breach(f"src/metrics has no `{name}`")
        for text in row.names("Constraint"):
            if " ".join(text.split()).lower() not in sources:
                breach(f"no source says `{text}`")
    for missing in (name for name in INVARIANT_IDS if seen.count(name) != 1):
        findings.append(Finding(INVARIANTS, table.line, "invariants", f"{missing} must have exactly one row"))
    return findings


def check_faults(tree: Tree) -> list[Finding]:
    """Every numbered fault has one row, with tests that are there, or with the reason why none is."""
    file = tree.get(FAULTS)
    rows = [row for table in (tables_of(file) if file else []) if "Number" in table.headings for row in table.rows]
    if not rows:
        return [Finding(FAULTS, 1, "faults", "there is no table with the headings Number, What happens here, Tests")]
    tests = _tests_of(tree)
    borne = {number for name in tests for number in re.findall(r"(?<![0-9A-Za-z])F\d\d(?=_)", name)}
    findings = []
    for row in rows:

        def breach(message: str, line: int = row.line) -> None:
            findings.append(Finding(FAULTS, line, "faults", message))

        number = row.cells["Number"]
        has_reason = row.cells.get("What happens here", "").startswith("No test: ")
        if has_reason and (number in borne or row.names("Tests")):
            breach(f"{number} says that there is no test, and there is one")
        if not has_reason and not row.names("Tests"):
            breach(f"{number} names no test; name one, or say why: No test: …")
        for name in row.names("Tests") + (row.names("What happens here") if has_reason else []):
            if name not in tests:
                breach(f"there is no test `{name}`")
    seen = [row.cells["Number"] for row in rows]
    for missing in (number for number in FAULT_IDS if seen.count(number) != 1):
        findings.append(Finding(FAULTS, 1, "faults", f"{missing} must have exactly one row"))
    for stranger in sorted(borne.union(seen) - set(FAULT_IDS)):
        findings.append(Finding(FAULTS, 1, "faults", f"there is no fault {stranger}"))
    return findings


def check_decisions(tree: Tree) -> list[Finding]:
    """A decision says its context, the choice and the price; numbers are used once."""
    findings, numbers = [], {}
    for file in tree.documents():
        if not file.path.startswith("docs/decisions/"):
            continue
        match = re.fullmatch(r"(\d{4})-[a-z0-9-]+\.md", file.name)
        if not match:
            findings.append(Finding(file.path, 1, "decisions", "is not named NNNN-title.md"))
            continue
        if match.group(1) in numbers:
            findings.append(Finding(file.path, 1, "decisions", f"{numbers[match.group(1)]} has the same number"))
        numbers[match.group(1)] = file.name
        for part in DECISION_PARTS:
            if not re.search(rf"^## {part}$", file.text, re.M):
                findings.append(Finding(file.path, 1, "decisions", f"has no part `## {part}`"))
    return findings


RULES = (check_commands, check_links, check_figures, check_invariants, check_faults, check_decisions)
