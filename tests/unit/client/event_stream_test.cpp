// Server-sent events: the examples of the standard (WHATWG HTML 9.2.6), cut anywhere.
#include "reconciler/client/event_stream.hpp"

#include <gtest/gtest.h>

#include <optional>

namespace lockstep::client {
namespace {

// "type|data|id;" of each event.
std::string events_of(std::string_view text, std::size_t piece) {
  EventStream stream;
  std::string out;
  while (!text.empty()) {
    const auto events = stream.feed(text.substr(0, piece));
    if (!events) return events.error().text();
    for (const ServerEvent& one : *events) out += one.type + "|" + one.data + "|" + one.id + ";";
    text.remove_prefix(std::min(piece, text.size()));
  }
  return out;
}

TEST(EventStream, ReadsTheExamplesOfTheStandard) {
  const std::vector<std::pair<std::string, std::string>> examples{
      {"data: YHOO\ndata: +2\ndata: 10\n\n", "|YHOO\n+2\n10|;"},
      {": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n",
       "|first event|1;|second event|;| third event|;"},
      {"data\n\ndata\ndata\n\ndata:", "||;|\n|;"},
      {"data:test\n\ndata: test\n\n", "|test|;|test|;"}};
  for (const auto& [text, events] : examples) EXPECT_EQ(events_of(text, text.size()), events) << text;
}

TEST(EventStream, IsTheSameHoweverItIsCutAndHoweverLinesEnd) {
  const std::string text =
      "\xEF\xBB\xBFretry: 3000\n\nevent: ADDED\ndata: {\"a\": 1}\n\n: still here\n\n"
      "event: MODIFIED\nid: e1-7\ndata: x\ndata: y\n\nevent: NOTHING\n\ndata: last\n\nevent: cut\ndata: "
      "off\n";
  std::string crlf;
  for (const char c : text) crlf += c == '\n' ? std::string("\r\n") : std::string(1, c);
  std::string cr = text;
  for (char& c : cr)
    if (c == '\n') c = '\r';
  const std::string wanted = "ADDED|{\"a\": 1}|;MODIFIED|x\ny|e1-7;|last|e1-7;";
  for (const std::string& one : {text, crlf, cr})
    for (std::size_t piece = 1; piece <= one.size(); ++piece)
      EXPECT_EQ(events_of(one, piece), wanted) << piece;
}

TEST(EventStream, TakesNoIdWithNul) {
  EventStream stream;
  EXPECT_EQ(stream.feed(std::string_view("id: a\0b\ndata: x\n\n", 17))->at(0).id, "");
}

TEST(EventStream, BoundsWhatItKeeps) {
  EventStream stream;
  const std::string line = "data: " + std::string(std::size_t{8} << 20, 'x') + "\n";
  std::optional<Error> refused;
  for (std::size_t size = 0; size <= kEventMax && !refused; size += line.size())
    if (const auto fed = stream.feed(line); !fed) refused = fed.error();
  EXPECT_TRUE(refused);
}

}  // namespace
}  // namespace lockstep::client
