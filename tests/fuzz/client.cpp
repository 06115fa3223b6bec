// The parsers of the command line of a service: what comes from a server, and templates.
#include <nlohmann/json.hpp>

#include "reconciler/client/event_stream.hpp"
#include "reconciler/client/json_path.hpp"
#include "reconciler/client/object_kinds.hpp"
#include "reconciler/client/object_table.hpp"
#include "reconciler/client/object_text.hpp"
#include "reconciler/client/service_client.hpp"
#include "specs/model/bounded_json.hpp"
#include "specs/model/printable.hpp"
#include "tests/fuzz/parsers.hpp"

namespace lockstep::fuzzing {
namespace {

std::string events_of(std::string_view input, std::size_t piece) {
  client::EventStream stream;
  std::string out;
  while (!input.empty()) {
    const auto events = stream.feed(input.substr(0, piece));
    if (!events) return "refused";
    for (const client::ServerEvent& one : *events) out += one.type + "\n" + one.id + "\n" + one.data + "\n\n";
    input.remove_prefix(std::min(piece, input.size()));
  }
  return out;
}

void print_objects(const nlohmann::json& document) {
  const Terminal terminal;
  for (const client::KindRow& kind : client::object_kinds()) {
    const std::string text = client::ObjectTable(kind, true, terminal).table({&document}, WallTime()) +
                             client::object_text(kind, document, {&document}, WallTime(), terminal);
    must(text.find('\x1b') == std::string::npos, "nothing acts on a terminal");
  }
}

}  // namespace

void parse_client(std::string_view input) {
  must(events_of(input, 1) == events_of(input, input.size()), "events are the same however they are cut");
  const std::string message =
      client::failure_of({.status = 500, .type = "text/html", .body = std::string(input)}, "S").text();
  must(printable(message) == message, "a message can be shown");
  // A template, a line end, and the document that it is for.
  const std::size_t end = std::min(input.find('\n'), input.size());
  const auto path = client::JsonPath::parse(input.substr(0, end));
  const auto document = parse_bounded_json(input.substr(std::min(end + 1, input.size())));
  if (document) print_objects(*document);
  if (path && document) (void)path->print(*document);
}

std::vector<std::string> seeds_of_client() {
  return {
      "event: ADDED\nid: e-1\ndata: {\"a\": 1}\n\n: still here\r\n\r\nretry: 1\rdata\r\r",
      "{range .items[?(@.a.b>=\"x\")]}{..c['d','e\\.f'][-1,0:2:1]}{\"\\n\"}{end}\n"
      R"({"items": [{"a": {"b": "y"}, "c": {"d": [1, 2, null]}}]})",
      "{@}\n"
      R"({"metadata": {"name": "a", "labels": {"lockstep.dev/role": "leaf"}}, "spec": {"cordoned": {"by": "b"}},
             "status": {"conditions": [{"type": "Ready", "status": "True"}], "waiting": [{"digest": "sha256:1",
             "changes": [{"path": "p", "was": null}]}], "writes": [{"step": 1}], "begun": "2026-11-21T10:05:26Z"}})",
      R"({"kind": "Status", "message": "\u001b[31m", "code": 500})"};
}

}  // namespace lockstep::fuzzing
