#!/usr/bin/env python3
"""Checks that each relative link of the documentation leads to an existing file and anchor (for commands: check_commands.py).
Usage: check_links.py SOURCES
"""
import functools
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[-1])
pages = [root / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")]
for folder in ("docs", "drivers", "bench", "specs", "tests", "examples"):
    pages += sorted((root / folder).rglob("*.md"))
failures = []


def outside_blocks(text):
    """Yields (number, line without code spans, line) for each line outside fenced code blocks."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield number, re.sub(r"`[^`]*`", "", line), line


@functools.cache
def anchors(page):
    """The anchors that GitHub generates: headings in lower case without punctuation, blanks as hyphens; -1 for a duplicate."""
    found, seen = set(), {}
    for _, _, line in outside_blocks(page.read_text(encoding="utf-8")):
        found.update(re.findall(r'<a id="([^"]+)">', line))
        heading = re.match(r"#{1,6} +(.*?)\s*#*$", line)
        if heading:
            text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading[1]).lower()
            slug = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
            count = seen[slug] = seen.get(slug, -1) + 1
            found.add(slug if count == 0 else f"{slug}-{count}")
    return found


def check_link(page, number, target):
    if re.match(r"[a-z]+:", target):  # an external link: tests do not use the network
        return
    path, _, anchor = target.partition("#")
    file = (page.parent / path).resolve() if path else page
    where = f"{page.relative_to(root)}:{number}"
    if not file.exists():
        failures.append(f"{where}: there is no {path}")
    elif anchor and anchor not in anchors(file):
        failures.append(f"{where}: {path or page.name} has no anchor #{anchor}")


def check_links():
    links = 0
    for page in pages:
        for number, line, _ in outside_blocks(page.read_text(encoding="utf-8")):
            for target in re.findall(r"\]\(([^)\s]+)\)", line):
                links += 1
                check_link(page, number, target)
    return links


links = check_links()
print("\n".join(failures) if failures else f"{links} links lead somewhere")
sys.exit(1 if failures or not links else 0)
