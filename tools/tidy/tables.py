"""Tables in Markdown, as the rules read them."""

import re
from dataclasses import dataclass

from tree import SourceFile


@dataclass(frozen=True)
class Row:
    """One row of a table; cells by the table's own headings."""

    line: int
    cells: dict[str, str]

    def names(self, heading: str) -> list[str]:
        """What stands in backticks in that cell."""
        return re.findall(r"`([^`]+)`", self.cells.get(heading, ""))


@dataclass(frozen=True)
class Table:
    line: int
    headings: list[str]
    rows: list[Row]


def _cells(line: str) -> list[str]:
    """The cells of a row. A bar in backticks or after a backslash is no border."""
    cells, cell, in_code, escaped = [], "", False, False
    for char in line.strip()[1:]:
        if char == "|" and not in_code and not escaped:
            cells.append(cell.strip())
            cell = ""
            continue
        if char == "`" and not escaped:
            in_code = not in_code
        escaped = char == "\\" and not escaped
        cell += char
    return cells


def tables_of(file: SourceFile) -> list[Table]:
    """Every table of a document, top to bottom."""
    tables, lines, at = [], file.lines, 0
    while at + 1 < len(lines):
        if lines[at].startswith("|") and re.fullmatch(r"\|[\s:|-]+\|?", lines[at + 1].strip()):
            headings = _cells(lines[at])
            rows, row = [], at + 2
            while row < len(lines) and lines[row].startswith("|"):
                rows.append(Row(row + 1, dict(zip(headings, _cells(lines[row])))))
                row += 1
            tables.append(Table(at + 1, headings, rows))
            at = row
        else:
            at += 1
    return tables


def table_with(file: SourceFile | None, *headings: str) -> Table | None:
    """The first table that has all these headings."""
    if file is None:
        return None
    for table in tables_of(file):
        if all(heading in table.headings for heading in headings):
            return table
    return None
