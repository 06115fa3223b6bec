#!/usr/bin/env python3
"""Runs commands in a terminal of fixed width and writes what it shows as one animated SVG, for README.md.
Usage: record.py OUT.svg COMMAND...        each COMMAND is a line for bash; one that starts with # is only shown
Long waits are shortened. A command may exit with 0, 2 or 3 (see docs/operations.md); any other status ends the recording.
"""
import fcntl
import html
import os
import pty
import re
import select
import struct
import sys
import termios
import time

WIDTH, ROWS = 112, 34           # of the terminal, in characters
CELL, LINE, MARGIN = 7.22, 17, 14  # of the picture, in pixels; a cell is 0.6 em of 12 px and a bit
LONGEST = 6.0                   # seconds that one command takes in the picture at most
BEFORE, AFTER, END = 0.9, 1.6, 6.0  # pauses: after a command is typed, after its output, after the last
THIN = 0.25                     # a progress line is shown this often at most
COLOURS = {31: "r", 32: "g", 33: "y", 34: "b", 35: "m", 36: "c"}
STYLE = """
.t{font:12px ui-monospace,"DejaVu Sans Mono",Menlo,Consolas,monospace;fill:#1f2328;white-space:pre}
.page{fill:#ffffff;stroke:#afb8c1}.cover{fill:#ffffff}
.d{fill:#57606a}.o{font-weight:700}.p{fill:#0550ae;font-weight:700}.n{fill:#57606a;font-style:italic}
.r{fill:#b3121d}.g{fill:#116329}.y{fill:#7d4e00}.b{fill:#0550ae}.m{fill:#7a2a9a}.c{fill:#0b5a6e}
@media (prefers-color-scheme:dark){.t{fill:#e6edf3}.page{fill:#0d1117;stroke:#3d444d}.cover{fill:#0d1117}
.d,.n{fill:#9198a1}.p{fill:#79c0ff}.r{fill:#ff7b72}.g{fill:#56d364}.y{fill:#e3b341}.b{fill:#79c0ff}.m{fill:#d2a8ff}.c{fill:#76e3ea}}
"""


class Screen:
    """Lines of cells, each a character and its classes; keeps every version of a line with the time when it appeared."""

    def __init__(self):
        self.lines, self.versions = [[]], []
        self.column, self.style = 0, frozenset()

    def put(self, text, now):
        changed = {len(self.lines) - 1}
        for part in re.split(r"(\x1b\[[0-9;?]*[A-Za-z]|[\r\n])", text):
            if part == "\n":
                self.lines.append([])
                self.column = 0
            elif part == "\r":
                self.column = 0
            elif part.startswith("\x1b["):
                self.control(part)
            else:
                self.write(part)
            changed.add(len(self.lines) - 1)
        for row in sorted(changed):
            self.versions.append((now, row, tuple(self.lines[row])))

    def control(self, code):
        if code.endswith("K"):
            del self.lines[-1][self.column:]
        for number in map(int, filter(None, code[2:-1].split(";"))) if code.endswith("m") else ():
            self.style |= {1: {"o"}, 2: {"d"}}.get(number, {COLOURS[number]} if number in COLOURS else frozenset())
            self.style = frozenset() if number == 0 else self.style
        if code == "\x1b[m":
            self.style = frozenset()

    def write(self, text):
        for character in text:
            if self.column == WIDTH:
                self.lines.append([])
                self.column = 0
            line = self.lines[-1]
            line.extend([(" ", frozenset())] * (self.column + 1 - len(line)))
            line[self.column] = (character, self.style)
            self.column += 1


def run(command):
    """Yields (seconds since the start, text) and returns the exit status."""
    child, terminal = pty.fork()
    if child == 0:
        os.environ.update(TERM="xterm-256color", COLUMNS=str(WIDTH), LINES=str(ROWS))
        os.execvp("bash", ["bash", "-c", command])
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, WIDTH, 0, 0))
    begin, pending = time.monotonic(), b""
    while True:
        try:
            select.select([terminal], [], [])
            data = os.read(terminal, 65536)
        except OSError:  # the child has closed the terminal
            data = b""
        if not data:
            break
        pending += data
        text = pending.decode("utf-8", "ignore")  # a character that is cut stays pending
        pending = pending[len(text.encode()):]
        yield time.monotonic() - begin, text
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def collected(command):
    output, steps = [], run(command)
    while True:
        try:
            output.append(next(steps))
        except StopIteration as end:
            return output, end.value


def record(commands):
    screen, now = Screen(), 0.3
    for command in commands:
        if command.startswith("#"):
            screen.style = frozenset({"n"})
            screen.put(command + "\n", now)
            screen.style = frozenset()
            continue
        screen.style = frozenset({"p"})
        screen.put(f"$ {command}\n", now)
        screen.style = frozenset()
        output, status = collected(command)
        if status not in (0, 2, 3):
            sys.exit(f"`{command}` ended with {status}:\n" + "".join(text for _, text in output))
        now += BEFORE
        scale = min(1.0, LONGEST / output[-1][0]) if output and output[-1][0] > 0 else 1.0
        for at, text in output:
            screen.put(text, now + at * scale)
        now += (output[-1][0] * scale if output else 0) + AFTER
        screen.put("\n", now - 0.1)
    return screen, now + END


def thinned(versions):
    """Each row's versions as (start, row, cells, end): without those that a later one replaced within THIN seconds."""
    rows = {}
    for at, row, cells in versions:
        kept = rows.setdefault(row, [])
        if kept and (at - kept[-1][0] < THIN or kept[-1][1] == cells):
            kept[-1] = (kept[-1][0], cells)
        else:
            kept.append((at, cells))
    return rows


def text_of(row, cells):
    """Runs of one style, cut at two blanks and placed by themselves, so that columns meet whatever the font."""
    spans, line = [], "".join(character for character, _ in cells)
    for word in re.finditer(r"\S+(?: \S+)*", line):
        begin = word.start()
        while begin < word.end():
            style, end = cells[begin][1], begin
            while end < word.end() and cells[end][1] == style:
                end += 1
            name = f' class="{" ".join(sorted(style))}"' if style else ""
            spans.append(f'<tspan x="{MARGIN + begin * CELL:.0f}"{name}>{html.escape(line[begin:end], quote=False)}</tspan>')
            begin = end
    return f'<text class="t" y="{(row + 1) * LINE}">{"".join(spans)}</text>' if spans else ""


def svg(screen, total):
    rows = thinned(screen.versions)
    css, body = [STYLE], []
    moves = sorted({(kept[0][0], row) for row, kept in rows.items()})
    cover, scroll = [], []
    for at, row in moves:  # a cover slides down over the rows, and the rows slide up behind the window
        cover.append(f"{100 * at / total:.2f}%{{transform:translateY({(row + 1) * LINE}px)}}")
        scroll.append(f"{100 * at / total:.2f}%{{transform:translateY({-max(0, row + 1 - ROWS) * LINE}px)}}")
    for row, kept in sorted(rows.items()):
        for number, (at, cells) in enumerate(kept):
            text, last = text_of(row, cells), number + 1 == len(kept)
            if len(kept) > 1 and text:
                name, end = f"v{row}-{number}", total if last else kept[number + 1][0]
                stop = "" if last else f"{100 * end / total:.2f}%{{opacity:0}}"
                css.append(f"@keyframes {name}{{0%{{opacity:0}}{100 * at / total:.2f}%{{opacity:1}}{stop}}}")
                text = text.replace('class="t"', f'class="t a" style="animation-name:{name};opacity:{int(last)}"', 1)
            body.append(text)
    end_cover, end_scroll = cover[-1].split("{")[1], scroll[-1].split("{")[1]
    css.append(f"@keyframes cover{{0%{{transform:none}}{''.join(cover)}}}@keyframes scroll{{0%{{transform:none}}{''.join(scroll)}}}")
    css.append(f".a,.cover,.roll{{animation:{total:.1f}s step-end infinite}}.cover{{animation-name:cover;{end_cover}".rstrip("}") + "}")
    css.append(f".roll{{animation-name:scroll;{end_scroll}".rstrip("}") + "}")
    css.append("@media (prefers-reduced-motion:reduce){.a,.cover,.roll{animation:none}}")
    width, height = 2 * MARGIN + WIDTH * CELL, ROWS * LINE + 2 * MARGIN
    tall = (len(rows) + ROWS) * LINE
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" viewBox="0 0 {width:.0f} {height}" role="img">'
            f"<title>A terminal in which lockstep runs</title><style>{''.join(css)}</style>"
            f'<clipPath id="w"><rect y="5" width="{width:.0f}" height="{height - 2 * MARGIN + 6}"/></clipPath>'
            f'<rect class="page" x=".5" y=".5" width="{width - 1:.0f}" height="{height - 1}" rx="8"/>'
            f'<g transform="translate(0,{MARGIN - 4})" clip-path="url(#w)"><g class="roll">{"".join(body)}'
            f'<rect class="cover" x="1" y="4" width="{width - 2:.0f}" height="{tall}"/></g></g></svg>\n')


if __name__ == "__main__":
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write(svg(*record(sys.argv[2:])))
