"""What C++ sources may not call, and where the one place is that may."""

import re
from dataclasses import dataclass, field

from tree import Finding, SourceFile, Tree


@dataclass(frozen=True)
class Ban:
    """A call that is reserved, what to use instead, and the files (by prefix) that are its one home."""

    pattern: re.Pattern
    instead: str
    homes: tuple[str, ...] = field(default=())


# Programs of their own that run against real time: they measure or load from outside.
OUTSIDE = ("bench/", "e2e/")
_NOT_A_MEMBER = r"(?<![\w.>])"

BANS = (
    Ban(
        re.compile(r"\b(?:system|steady|high_resolution|utc|file)_clock\s*::\s*now\b"),
        "take a `const Clock&` (base/time.h)",
        ("src/base/system_clock", "src/app/"),
    ),
    Ban(
        re.compile(r"\b(?:clock_gettime|gettimeofday|timespec_get|ftime)\s*\("),
        "take a `const Clock&` (base/time.h)",
        ("src/base/system_clock", "src/app/"),
    ),
    Ban(
        re.compile(_NOT_A_MEMBER + r"(?:std\s*::\s*|::\s*)?time\s*\(\s*(?:nullptr|NULL|0|&\s*\w+)\s*\)"),
        "take a `const Clock&` (base/time.h)",
        ("src/base/system_clock", "src/app/"),
    ),
    Ban(
        re.compile(r"\brandom_device\b|\bmt19937(?:_64)?\b|\bdefault_random_engine\b"),
        "take a `Random&` (base/random.h)",
        ("src/base/system_random",),
    ),
    Ban(
        re.compile(_NOT_A_MEMBER + r"(?:std\s*::\s*|::\s*)?(?:s?rand|rand_r|drand48|lrand48)\s*\("),
        "take a `Random&` (base/random.h)",
    ),
    Ban(
        re.compile(r"\b(?:getrandom|getentropy|RAND_bytes|arc4random\w*)\s*\("),
        "take a `Random&` (base/random.h)",
        ("src/base/system_random",),
    ),
    Ban(
        re.compile(r"\b(?:secure_)?getenv\s*\(|\bextern\s+char\s*\*\s*\*\s*environ\b"),
        "let `app` read it and hand the value in",
        ("src/app/",),
    ),
    Ban(
        re.compile(r"\bsleep_(?:for|until)\s*\(|" + _NOT_A_MEMBER + r"(?:::\s*)?(?:u|nano|clock_nano)?sleep\s*\("),
        "wait for the thing itself, with a deadline; a step never sleeps",
        ("src/app/",),
    ),
    Ban(
        re.compile(r"\bstrtok\s*\(|\bgets\s*\(|\bsprintf\s*\(|\bstrcpy\s*\(|\bstrcat\s*\("),
        "use `std::string_view`, `fmt::format` or `std::from_chars`",
    ),
    Ban(
        re.compile(r"\busing\s+namespace\s+std\b(?!\s*::)"),
        "write `std::`",
    ),
    Ban(
        re.compile(r"\bassert\s*\("),
        "use CHECK (base/check.h): it stays on in a release",
    ),
)


def _is_at_home(file: SourceFile, ban: Ban) -> bool:
    return any(file.path.startswith(home) for home in ban.homes)


def check_banned_calls(tree: Tree) -> list[Finding]:
    """Clock, chance and environment are read in one place and handed in."""
    findings = []
    for file in tree.cpp():
        if file.path.startswith(OUTSIDE):
            continue
        for ban in BANS:
            if _is_at_home(file, ban):
                continue
            for match in ban.pattern.finditer(file.code):
                call = " ".join(match.group(0).split()).rstrip("(").strip()
                message = f"`{call}` is not called here: {ban.instead}"
                findings.append(Finding(file.path, file.line_of(match.start()), "calls", message))
    return findings


def check_suppressions(tree: Tree) -> list[Finding]:
    """Whoever silences a checker names the check and says why."""
    findings = []
    for file in tree.cpp():
        for number, line in enumerate(file.lines, 1):
            if "NOLINT" in line and not re.search(r"NOLINT(NEXTLINE|BEGIN|END)?\([\w.,\- *]+\)(: \S|$)", line):
                findings.append(Finding(file.path, number, "suppressions", "write NOLINT(check-name): and the reason"))
            elif re.search(r"NOLINT(NEXTLINE|BEGIN)?\([^)]*\)$", line):
                findings.append(Finding(file.path, number, "suppressions", "say why, after NOLINT(check-name):"))
            if re.search(r"#\s*pragma\s+(GCC|clang)\s+diagnostic\s+ignored", line):
                before = file.lines[number - 2] if number > 1 else ""
                around = " ".join((file.lines[number - 3] if number > 2 else "", before, line))
                if "//" not in around:
                    findings.append(Finding(file.path, number, "suppressions", "say in a comment why this is ignored"))
    return findings


def check_tabs(tree: Tree) -> list[Finding]:
    return [
        Finding(file.path, number, "tabs", "a tab; indent with two spaces")
        for file in tree.cpp()
        for number, line in enumerate(file.lines, 1)
        if "\t" in line
    ]


RULES = (check_banned_calls, check_suppressions, check_tabs)
