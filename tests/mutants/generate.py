#!/usr/bin/python3
"""generate.py ROOT OUT: copies of the sources under test, in which LOCKSTEP_MUTANT=N selects defect N.

OUT/mutated/PATH replaces ROOT/PATH in the build of preset `mutants` (Mutants.cmake), and OUT/mutants.json lists the
defects. Numbers 1 to 100 are those of seeded.py. From 101 on they are a sample of small edits of operators,
conditions, constants and calls, as parsed by libclang. The sample is the same for the same text of a file.
"""
import json
import multiprocessing
import pathlib
import random
import re
import sys

import seeded

try:
    from clang.cindex import CursorKind as Kind, Index, TypeKind
except ImportError:
    sys.exit("generate.py needs python3-clang-16 (cmake/install-packages.sh mutants)")

SEED = 12
LINES_PER_MUTANT = 48  # about 150 of the files below
FIRST_GENERATED = 201

ENGINE = """
    atoms order gather budgets waves ladders plan plan_input tied_groups link_ends far_ends remedies earlier_plan
    traffic gate application_gate application_owed application_undo new_ends blast
    runner step_run step_run_remedy budget_check application application_remedies effects approved service
    status watch damping""".split()
FILES = [f"reconciler/engine/{name}.cpp" for name in ENGINE] + ["specs/model/diff.cpp"]

FUNCTIONS = {Kind.FUNCTION_DECL, Kind.CXX_METHOD, Kind.CONSTRUCTOR, Kind.FUNCTION_TEMPLATE, Kind.DESTRUCTOR}
# Affect only messages or speed.
NOT_MUTATED = {"to_string", "cycle", "change_of", "budget_reason", "digest_devices", "tell_early", "why_unread", "text"}
MESSAGE_CALLS = {"format", "to_string", "text", "and_more", "reserve", "note_read"}
COMPARISONS = {"<": ["<=", ">="], "<=": ["<", ">"], ">": [">=", "<="], ">=": [">", "<"], "==": ["!="], "!=": ["=="]}
SWAPPED = {"&&": "||", "||": "&&", "+": "-", "-": "+"}
CALLS = {"max": "min", "min": "max", "any_of": "all_of", "all_of": "any_of", "none_of": "any_of"}
NUMBERS = {TypeKind.INT, TypeKind.UINT, TypeKind.LONG, TypeKind.ULONG, TypeKind.LONGLONG, TypeKind.ULONGLONG,
           TypeKind.DOUBLE, TypeKind.UCHAR, TypeKind.USHORT}
OPERANDS = {Kind.BINARY_OPERATOR, Kind.CALL_EXPR, Kind.RETURN_STMT, Kind.UNEXPOSED_EXPR, Kind.CONDITIONAL_OPERATOR}


class Broken(Exception):
    """Invalid input in seeded.py or a source. Raised, as a pool waits forever for a worker that exits."""


class Place:
    """A possible change of one file: bytes [start, end) become `new`, where MUTANT is true for the defect."""

    def __init__(self, kind, start, end, new, what):
        self.kind, self.start, self.end, self.new, self.what = kind, start, end, new, what

    def overlaps(self, other):
        return self.start < other.end and other.start < self.end


def one_line(text):
    return " ".join(text.split())


def is_ordering(expression):
    """Whether it compares a std::strong_ordering or its like, which takes no number but a literal 0."""
    types = (one.type.get_canonical().spelling for one in (expression, *expression.get_children()))
    return any("_ordering" in one or "__cmp_cat" in one for one in types)


class Finder:
    """Collects the places of one file."""

    def __init__(self, path, text, rng):
        self.path, self.text, self.rng, self.places = path, text, rng, []

    def source(self, cursor):
        return self.text[cursor.extent.start.offset:cursor.extent.end.offset].decode()

    def add(self, kind, cursor, new, what):
        self.places.append(Place(kind, cursor.extent.start.offset, cursor.extent.end.offset, new, what))

    def swap(self, kind, cursor, other):
        """Chooses between two texts for one expression."""
        own = self.source(cursor)
        self.add(kind, cursor, f"(MUTANT ? ({other}) : ({own}))", f"{one_line(own)} -> {one_line(other)}")

    def walk(self, cursor, parent=None, in_function=False):
        for child in cursor.get_children():
            where = child.location.file
            if cursor.kind == Kind.TRANSLATION_UNIT and (where is None or where.name != self.path):
                continue
            if self.is_left_alone(child, in_function):
                continue
            if in_function:
                self.visit(child, cursor)
            self.walk(child, cursor, in_function or child.kind in FUNCTIONS)

    def is_left_alone(self, cursor, in_function):
        if cursor.kind in (Kind.STATIC_ASSERT, Kind.ENUM_DECL, Kind.TYPE_REF, Kind.TEMPLATE_REF, Kind.PARM_DECL):
            return True
        if cursor.kind in FUNCTIONS and (cursor.spelling in NOT_MUTATED or "constexpr" in self.head(cursor)):
            return True
        if cursor.kind == Kind.VAR_DECL and (not in_function or "constexpr" in self.head(cursor)):
            return True
        return cursor.kind == Kind.CALL_EXPR and cursor.spelling in MESSAGE_CALLS

    def head(self, cursor):
        start = self.text.rfind(b"\n", 0, cursor.extent.start.offset) + 1
        return self.text[start:cursor.extent.start.offset + 80].decode(errors="replace").split("{")[0].split("(")[0]

    def visit(self, cursor, parent):
        in_for = parent.kind in (Kind.FOR_STMT, Kind.WHILE_STMT, Kind.DO_STMT) and cursor.kind != Kind.COMPOUND_STMT
        is_call = cursor.kind == Kind.CALL_EXPR
        if cursor.kind == Kind.BINARY_OPERATOR or (is_call and cursor.spelling.startswith("operator")):
            if not in_for:
                self.operator(cursor)
        elif cursor.kind == Kind.IF_STMT:
            self.condition(cursor)
        elif cursor.kind == Kind.RETURN_STMT:
            self.returned(cursor)
        elif cursor.kind == Kind.INTEGER_LITERAL and parent.kind in OPERANDS and not is_ordering(parent):
            own = self.source(cursor)
            if re.fullmatch(r"[01]U?", own):
                self.swap("constant", cursor, own.replace("0", "2").replace("1", "0").replace("2", "1"))
        elif is_call and cursor.spelling in CALLS:
            own = self.source(cursor)
            other = re.sub(r"\b" + cursor.spelling + r"\b", CALLS[cursor.spelling], own, count=1)
            if "(" in own and other.split("(")[0] != own.split("(")[0]:
                self.swap("call", cursor, other)
        if parent.kind in (Kind.COMPOUND_STMT, Kind.IF_STMT, Kind.CXX_FOR_RANGE_STMT) and not in_for:
            self.statement(cursor)

    def operator(self, cursor):
        children = list(cursor.get_children())
        if cursor.kind == Kind.BINARY_OPERATOR and len(children) == 2:
            left, right = children
        elif cursor.kind == Kind.CALL_EXPR and len(children) == 3:
            left, right = children[0], children[2]
        else:
            return
        begin, end = left.extent.end.offset, right.extent.start.offset
        op = re.sub(r"//[^\n]*", "", self.text[begin:end].decode()).strip()
        first, second = self.source(left), self.source(right)
        if not first or not second:
            return
        if op in COMPARISONS:
            kind, other = "comparison", self.rng.choice(COMPARISONS[op])
        elif op in ("&&", "||"):
            kind, other = "logic", SWAPPED[op]
        elif op in SWAPPED and all(one.type.get_canonical().kind in NUMBERS for one in (cursor, left, right)):
            kind, other = "arithmetic", SWAPPED[op]
        else:
            return
        if kind == "logic":  # mixing both needs parentheses
            first, second = f"({first})", f"({second})"
        self.swap(kind, cursor, f"{first} {other} {second}")

    def condition(self, cursor):
        children = list(cursor.get_children())
        own = self.source(children[0])
        # The condition comes first, unless a declaration does.
        opening = self.text[cursor.extent.start.offset:children[0].extent.start.offset].decode()
        closing = self.text[children[0].extent.end.offset:].lstrip()
        if children[0].kind.is_expression() and opening.split() == ["if", "("] and closing.startswith(b")"):
            self.add("condition", children[0], f"(MUTANT != static_cast<bool>({own}))", f"if (!({one_line(own)}))")

    def returned(self, cursor):
        own = self.source(cursor)
        if own in ("return true", "return false"):
            value = own.split()[1]
            other = "false" if value == "true" else "true"
            self.add("return", cursor, f"return {value} != MUTANT", f"{own} -> {other}")

    def statement(self, cursor):
        """Removes an expression statement, unless it affects only messages."""
        own = self.source(cursor)
        is_over = self.text[cursor.extent.end.offset:].startswith(b";")
        if not cursor.kind.is_expression() or not is_over or re.search(r'"|\bnotes?\b|why|fmt::', own):
            return
        self.add("removal", cursor, f"(MUTANT ? void() : static_cast<void>({own}))", f"without {one_line(own)}")


def seeded_places(root, path, text):
    out = []
    for number, (where, promise, old, new) in enumerate(seeded.DEFECTS, 1):
        if where != path:
            continue
        if why := seeded.why_not(pathlib.Path(root), path, old, new):
            raise Broken(f"seeded.py, {number} ({promise}): {why}")
        start = text.find(old.encode())
        place = Place("seeded", start, start + len(old.encode()), new, promise)
        place.number = number
        if any(place.overlaps(other) for other in out):
            raise Broken(f"seeded.py, {number} ({promise}): on top of another")
        out.append(place)
    return out


def sample(places, taken, count, rng):
    """Takes from each kind in turn, without overlaps."""
    kinds = {}
    for place in places:
        kinds.setdefault(place.kind, []).append(place)
    for of_kind in kinds.values():
        rng.shuffle(of_kind)
    chosen = []
    while kinds and len(chosen) < count:
        order = sorted(kinds)
        rng.shuffle(order)
        for kind in order:
            while kinds[kind]:
                place = kinds[kind].pop()
                if not any(place.overlaps(other) for other in taken + chosen):
                    chosen.append(place)
                    break
            if not kinds[kind]:
                del kinds[kind]
            if len(chosen) == count:
                break
    return chosen


def places_of(job):
    root, path = job
    full = f"{root}/{path}"
    text = pathlib.Path(full).read_bytes()
    rng = random.Random(f"{SEED}:{path}")
    seeds = seeded_places(root, path, text)
    if path not in FILES:
        return seeds
    unit = Index.create().parse(full, args=["-x", "c++", "-std=c++20", f"-I{root}"])
    errors = [each for each in unit.diagnostics if each.severity >= 3]
    if errors:
        raise Broken(f"{path}: {errors[0]}")
    finder = Finder(full, text, rng)
    finder.walk(unit.cursor)
    count = max(2, round(text.count(b"\n") / LINES_PER_MUTANT))
    return seeds + sorted(sample(finder.places, seeds, count, rng), key=lambda place: place.start)


def main():
    root, out = sys.argv[1], pathlib.Path(sys.argv[2])
    paths = FILES + sorted({where for where, *rest in seeded.DEFECTS} - set(FILES))
    with multiprocessing.Pool(2) as pool:
        found = pool.map(places_of, [(root, path) for path in paths], chunksize=1)
    table, number = [], FIRST_GENERATED
    for path, places in zip(paths, found):
        text = pathlib.Path(root, path).read_bytes()
        line_of = {id(place): text.count(b"\n", 0, place.start) + 1 for place in places}
        for place in places:
            if place.kind != "seeded":
                place.number, number = number, number + 1
            table.append({"number": place.number, "file": path, "line": line_of[id(place)], "kind": place.kind,
                          "what": place.what})
        for place in sorted(places, key=lambda place: -place.start):
            new = place.new.replace("MUTANT", f"(lockstep_mutant() == {place.number})")
            text = text[:place.start] + new.encode() + text[place.end:]
        head = f'int lockstep_mutant();\n#line 1 "{root}/{path}"\n'.encode()
        copy = out / "mutated" / path
        copy.parent.mkdir(parents=True, exist_ok=True)
        if not copy.exists() or copy.read_bytes() != head + text:
            copy.write_bytes(head + text)
    table.sort(key=lambda one: one["number"])
    (out / "mutants.json").write_text(json.dumps(table, indent=1))
    print(f"{len(seeded.DEFECTS)} seeded defects, {number - FIRST_GENERATED} generated mutants")


if __name__ == "__main__":
    try:
        main()
    except Broken as why:
        sys.exit(str(why))
