"""Checks the output of reports with hostile strings: parse_output.py FILE.

FILE has one JSON object per line: {"form", "text" (hexadecimal), "fields"}; first one of each form with harmless
strings, then rounds of the same with hostile ones. Each text is parsed by an independent parser, and must have the
same structure as the harmless one. Prints what is wrong, and then ends with exit code 1.
"""
import html.parser
import json
import re
import subprocess
import sys
import unicodedata
import xml.dom.minidom

import yaml

SGR = re.compile("\x1b\\[(?:0|1|2|31|32|33|34|36)m")
COMMAND = re.compile(r"^\s*::")
BAD_CATEGORIES = {"Cc", "Cf", "Cs", "Zl", "Zp"}
ORDINARY = re.compile(r"[ -~\n]*")


def is_hidden(char):
    number = ord(char)
    if unicodedata.category(char) in BAD_CATEGORIES:
        return True
    return number & 0xFFFE == 0xFFFE or 0xFDD0 <= number <= 0xFDEF


def shown(data):
    """The text that people should see for the bytes of a string."""
    out = ""
    for char in data.decode("utf-8", "backslashreplace"):
        if not is_hidden(char):
            out += char
        else:
            out += "\\x%02x" % ord(char) if ord(char) < 0x100 else "\\u{%04x}" % ord(char)
    return out


class Failed(Exception):
    pass


def need(condition, why):
    if not condition:
        raise Failed(why)


def check_characters(text):
    if ORDINARY.fullmatch(text):
        return
    for char in set(text):
        need(char == "\n" or not is_hidden(char), f"U+{ord(char):04X} got out")


def check_text(text, alone):
    check_characters(text)
    for line in text.split("\n"):
        need(alone or (not COMMAND.match(line) and "##[" not in line), f"a runner would obey {line!r}")
    return text.count("\n")


class Elements(html.parser.HTMLParser):
    """The elements of a page in order, and its text outside and inside code elements."""

    def __init__(self, page):
        super().__init__()
        self.names, self.codes, self.outside, self.attributes = [], [], "", []
        self.depth = 0
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.names.append(tag)
        self.attributes += attrs
        if tag == "code":
            self.depth += 1
            self.codes.append("")

    def handle_endtag(self, tag):
        if tag == "code":
            self.depth -= 1

    def handle_data(self, data):
        if self.depth:
            self.codes[-1] += data
        else:
            self.outside += data

    def handle_comment(self, data):
        self.names.append("comment")


def is_shown(want, codes):
    """In a code span of its own; a long text may be shortened in the middle."""
    for code in codes:
        begin, _, end = code.partition("…")
        if code == want or (len(code) >= 300 and "…" in code and want.startswith(begin) and want.endswith(end)):
            return True
    return False


def check_markdown(text, fields):
    check_characters(text)
    command = ["cmark-gfm", "-e", "table", "-e", "autolink", "-e", "strikethrough", "--unsafe"]
    page = subprocess.run(command, input=text.encode(), capture_output=True, check=True).stdout.decode()
    elements = Elements(page)
    need(not elements.attributes, f"attributes: {elements.attributes}")
    need(not re.search(r"[@#<>&`|]", elements.outside), f"outside of code: {elements.outside!r}")
    for field in fields:
        for name in ("device", "have"):
            if name in field:
                want = shown(bytes.fromhex(field[name])).replace("|", "\\x7c").replace("`", "\\x60")
                need(is_shown(want, elements.codes), f"{want!r} is not in a code span of its own: {elements.codes!r}")
    return elements.names


def check_junit(text, fields):
    check_characters(text)
    document = xml.dom.minidom.parseString(text.encode())
    said = []
    for tag in ("failure", "error"):
        said += [one.getAttribute("message") for one in document.getElementsByTagName(tag)]
    for field in fields[:1]:
        need(shown(bytes.fromhex(field["sentence"])) in said, f"no message is {field['sentence']}: {said!r}")
    return [one.tagName for one in document.getElementsByTagName("*")]


def check_json(text):
    check_characters(text)
    need("##[" not in text, "a runner would obey ##[")
    return json.loads(text)


def check_sarif(text, fields):
    results = check_json(text)["runs"][0]["results"]
    for result, field in zip(results, fields, strict=True):
        need(result["message"]["text"] == shown(bytes.fromhex(field["sentence"])).replace("](", "]\\x28"), "another text")
        for place in result["locations"]:
            uri = place["physicalLocation"]["artifactLocation"]["uri"]
            need(re.fullmatch(r"(?:[A-Za-z0-9._~/-]|%[0-9A-F]{2})+", uri), f"no URI: {uri!r}")
    return len(results)


def check_gitlab(text, fields):
    findings = check_json(text)
    for finding, field in zip(findings, fields, strict=True):
        need(finding["description"] == shown(bytes.fromhex(field["sentence"])), "another text")
    return len(findings)


def runner_command(line):
    """actions/runner, src/Runner.Common/ActionCommand.cs, TryParseV2: command, properties, data; None: no command."""
    line = line.lstrip()
    end = line.find("::", 2)
    if not line.startswith("::") or end < 0:
        return None
    command, _, properties = line[2:end].partition(" ")

    def unescape(value, of_property):
        pairs = [("%0D", "\r"), ("%0A", "\n")] + ([("%3A", ":"), ("%2C", ",")] if of_property else []) + [("%25", "%")]
        for escaped, char in pairs:
            value = value.replace(escaped, char)
        return value

    pairs = [one.strip().split("=", 1) for one in properties.split(",") if one.strip()]
    return command, {k: unescape(v, True) for k, v in pairs}, unescape(line[end + 2 :], False)


def check_github(text, fields):
    check_characters(text)
    lines = re.split("\r\n|\r|\n", text)  # StreamReader.ReadLine
    need(lines.pop() == "", "the last line is not ended")
    for line, field in zip(lines, fields, strict=True):
        command = runner_command(line)
        need(command is not None and command[0] in ("error", "warning"), f"no command: {line!r}")
        need(set(command[1]) == {"file", "line", "col", "title"}, f"properties of {line!r}")
        need(command[1]["title"].startswith("lockstep/"), f"title of {line!r}")
        need(command[2] == shown(bytes.fromhex(field["sentence"])), f"data of {line!r}")
    return len(lines)


def check_svg(text):
    check_characters(text)
    need("##[" not in text, "a runner would obey ##[")
    names = [one.tagName for one in xml.dom.minidom.parseString(text.encode()).getElementsByTagName("*")]
    need(names == Elements(text).names, "a browser would see other elements")
    return names


def check_html(text):
    names = check_svg(text)  # it is XML too
    need("script" not in names, "a browser would run something")
    fetched = [name for name, _ in Elements(text).attributes if name in ("src", "href") or name.startswith("on")]
    need(not fetched, f"a browser would fetch or run something: {fetched}")
    return names


def check_dot(text):
    check_characters(text)
    # The language's lexer: quoted strings (where only \" is an escape), comments, and the rest.
    rest = re.sub(r'"(?:[^"\\]|\\.)*"|//.*', lambda found: "S" if found.group()[0] == '"' else "C", text)
    need('"' not in rest, "a quoted string is not ended")
    return rest


def judge(one):
    text = bytes.fromhex(one["text"]).decode("utf-8")  # strict: all output must be UTF-8
    form, fields = one["form"], one["fields"]
    if form in ("text", "text-alone"):
        return check_text(text, form.endswith("alone"))
    if form in ("colours", "colours-alone"):
        return check_text(SGR.sub("", text), form.endswith("alone"))
    if form == "draft":
        check_characters(text)
        return [one["kind"] for one in yaml.safe_load_all(text) if one["kind"] != "Fabric"]
    if form == "json":
        check_json(text)
        return None
    if form == "yaml":
        check_characters(text)
        need("##[" not in text, "a runner would obey ##[")
        need(yaml.safe_load(text) == json.loads(bytes.fromhex(fields)), "YAML says something else than JSON")
        return None
    if form in ("svg", "html", "dot"):
        return {"svg": check_svg, "html": check_html, "dot": check_dot}[form](text)
    checks = {"markdown": check_markdown, "junit": check_junit, "sarif": check_sarif}
    checks |= {"gitlab": check_gitlab, "github": check_github}
    return checks[form](text, fields)


def main():
    harmless, at, number, failures, counted = [], None, 0, 0, 0
    with open(sys.argv[1], encoding="utf-8") as file:
        for line in file:
            one = json.loads(line)
            if one["form"] == "round":
                at, number = 0, one["round"]
                continue
            try:
                shape = judge(one)
                if at is None:
                    harmless.append(shape)
                else:
                    need(shape == harmless[at], f"shape {shape!r} is not {harmless[at]!r}")
            except Exception as why:  # parsers raise their own exception types; any of them is a failure of the output
                failures += 1
                if failures <= 10:
                    text = bytes.fromhex(one["text"])
                    print(f"round {number}, {one['form']} ({at}): {type(why).__name__}: {str(why)[:600]}\n  {text[:1500]!r}")
            counted += 1
            at = None if at is None else at + 1
    if failures or counted <= len(harmless):
        print(f"{failures} of {counted} outputs are wrong")
    return 1 if failures or counted <= len(harmless) else 0


sys.exit(main())
