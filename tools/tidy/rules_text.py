"""What no text of the tree may hold, whatever its language."""

import re

from tables import table_with
from tree import Finding, SourceFile, Tree

COLUMNS_MAX = 120
COLUMN_SUFFIXES = {".cc", ".h", ".py", ".cmake", ".js", ".mjs", ".ts", ".sh", ".sql"}
COLUMN_NAMES = {"CMakeLists.txt", "dev", "run"}
LINES_MAX = 700
WORD_FOLDERS = ("src/", "sim/", "bench/")
GLOSSARY = "docs/glossary.md"
# The rules and their tests spell out what they forbid.
OWN_FILES = ("tools/tidy/rules_text.py", "tools/tidy/tidy_test.py")

# XXX in quotes is a currency.
_UNFINISHED = re.compile(r"\bFIXME\b|\bHACK\b|(?<![\"'`])\bXXX\b(?![\"'`])|\bTODO\b(?!\([a-z]+\): \S)")
_MACHINE_PATH = re.compile(r"(?<![\w.$}~-])/(?:work|root|home)(?=/|\b)")
# Hosts of package registries and code hosts. Packages are named, and the machine's own client knows where to ask.
_HOSTS = tuple(
    ".".join(parts)
    for parts in (
        ("npmjs", "org"),
        ("npmjs", "com"),
        ("yarnpkg", "com"),
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("crates", "io"),
        ("proxy", "golang", "org"),
        ("sum", "golang", "org"),
        ("maven", "org"),
        ("apache", "org/maven"),
        ("rubygems", "org"),
        ("nuget", "org"),
        ("docker", "io"),
        ("ghcr", "io"),
        ("quay", "io"),
        ("debian", "org"),
        ("nodesource", "com"),
        ("github", "com"),
        ("githubusercontent", "com"),
        ("gitlab", "com"),
        ("bitbucket", "org"),
        ("codeberg", "org"),
    )
)
_HOST = re.compile(r"(?<![\w-])(?:[\w-]+\.)*(?:" + "|".join(re.escape(host) for host in _HOSTS) + r")(?![\w-])", re.I)


def _each_line(tree: Tree):
    for file in tree.files:
        if file.path not in OWN_FILES:
            for number, line in enumerate(file.lines, 1):
                yield file, number, line


def _has_columns(file: SourceFile) -> bool:
    return file.suffix in COLUMN_SUFFIXES or file.name in COLUMN_NAMES


def check_columns(tree: Tree) -> list[Finding]:
    return [
        Finding(file.path, number, "columns", f"{len(line)} columns; {COLUMNS_MAX} is the limit")
        for file in tree.files
        if _has_columns(file)
        for number, line in enumerate(file.lines, 1)
        if len(line) > COLUMNS_MAX
    ]


def check_file_size(tree: Tree) -> list[Finding]:
    """The file that knows everyone becomes the giant: split it before it does."""
    return [
        Finding(file.path, len(file.lines), "size", f"{len(file.lines)} lines; over {LINES_MAX} a file has two jobs")
        for file in tree.files
        if _has_columns(file) and len(file.lines) > LINES_MAX
    ]


def check_unfinished(tree: Tree) -> list[Finding]:
    """Work that is left says its kind: TODO(perf): and a sentence."""
    return [
        Finding(file.path, number, "unfinished", f"{match.group(0)}: finish it, or write TODO(kind): and a sentence")
        for file, number, line in _each_line(tree)
        if (match := _UNFINISHED.search(line)) and file.name != "package-lock.json" and file.path != "STYLE.md"
    ]


def check_machine_paths(tree: Tree) -> list[Finding]:
    """A path of one machine is wrong on every other."""
    return [
        Finding(file.path, number, "paths", f"`{match.group(0)}` is a folder of one machine; write a relative path")
        for file, number, line in _each_line(tree)
        if (match := _MACHINE_PATH.search(line))
    ]


def check_hosts(tree: Tree) -> list[Finding]:
    """Nothing here says from which host a package comes."""
    return [
        Finding(file.path, number, "hosts", f"names the host {match.group(0)}; name the package, not where it lies")
        for file, number, line in _each_line(tree)
        if (match := _HOST.search(line))
    ]


def check_words(tree: Tree) -> list[Finding]:
    """One word for one idea: the second word is refused."""
    table = table_with(tree.get(GLOSSARY), "Banned", "Say")
    if table is None:
        return [Finding(GLOSSARY, 1, "words", "there is no table with the headings Banned, Say")]
    instead = {name.lower(): row.cells.get("Say", "") for row in table.rows for name in row.names("Banned")}
    banned = re.compile(r"(?<![a-z])(" + "|".join(re.escape(word) for word in instead) + r")(?:s|es)?(?![a-z])", re.I)
    findings = []
    for file, number, line in _each_line(tree):
        if not file.path.startswith(WORD_FOLDERS) or file.name == "package-lock.json":
            continue
        # Words inside CamelCase count too.
        spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", line)
        for match in banned.finditer(spaced):
            say = instead[match.group(1).lower()]
            findings.append(Finding(file.path, number, "words", f"`{match.group(0)}` is not our word; say {say}"))
    return findings


RULES = (
    check_columns,
    check_file_size,
    check_unfinished,
    check_machine_paths,
    check_hosts,
    check_words,
)
