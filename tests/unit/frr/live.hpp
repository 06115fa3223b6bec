// Shared by the tests against real daemons: desired entries of a switch, reading, applying, waiting.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "drivers/frr/state.hpp"
#include "specs/model/schema_rows.hpp"
#include "tests/unit/frr/lab.hpp"

namespace lockstep::frr {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

inline constexpr milliseconds kConverged{15'000};
inline Call soon(milliseconds time = milliseconds(5'000)) {
  return Call{.deadline = steady_clock::now() + time, .stop = {}};
}

inline Path path(std::string_view text) {
  auto parsed = Path::parse(text);
  EXPECT_TRUE(parsed) << parsed.error().text();
  return parsed ? *parsed : Path{};
}

using Entries = std::vector<std::pair<std::string, Value>>;

inline Tree tree_of(const Entries& entries) {
  TreeBuilder builder;
  for (const auto& [text, value] : entries) builder.add(path(text), value);
  return builder.build();
}

// The desired entries of a leaf or spine switch of a fabric, as the compiler produces them.
inline Entries switch_entries(std::int64_t asn, const std::string& id,
                              const std::vector<std::string>& ports) {
  Entries out{{"bfd-profile[lockstep]", Value::present()},
              // 2 s in all: a test machine under load must not lose a session.
              {"bfd-profile[lockstep]/multiplier", Value::integer(10)},
              {"bfd-profile[lockstep]/receive-interval", Value::integer(200)},
              {"bfd-profile[lockstep]/transmit-interval", Value::integer(200)},
              {"bgp", Value::present()},
              {"bgp/asn", Value::integer(asn)},
              {"bgp/max-paths", Value::integer(64)},
              {"bgp/multipath-relax", Value::boolean(true)},
              {"bgp/redistribute[connected]", Value::present()},
              {"bgp/router-id", Value::text(id)}};
  for (const std::string& port : ports) {
    const std::string one = "bgp/neighbor[" + port + "]";
    out.insert(out.end(), {{one, Value::present()},
                           {one + "/bfd", Value::text("lockstep")},
                           {one + "/bfd-state", Value::text(kBfdUp)},
                           {one + "/hold", Value::integer(9)},
                           {one + "/keepalive", Value::integer(3)},
                           {one + "/remote-as", Value::text("external")},
                           {one + "/session", Value::text(kEstablished)},
                           {one + "/shutdown", Value::boolean(false)}});
  }
  return out;
}

inline Intent intent_of(const std::string& device, const Entries& entries) {
  Intent intent;
  intent.device = device;
  intent.want = tree_of(entries);
  return intent;
}

inline Observation observed(Driver& driver) {
  auto out = driver.observe(Scope{}, "", soon());
  EXPECT_TRUE(out) << out.error().text();
  if (!out) return {};
  for (const Unread& one : out->unread) ADD_FAILURE() << one.why.text();
  return *std::move(out);
}

inline void applied(Driver& driver, const ChangeSet& changes) {
  const auto receipt = driver.apply(changes, Guard{}, soon());
  ASSERT_TRUE(receipt) << receipt.error().text();
  ASSERT_EQ(receipt->outcomes.size(), changes.size());
  for (const auto& outcome : receipt->outcomes)
    EXPECT_FALSE(outcome.error) << outcome.path.text() << ": " << outcome.error->text();
}

// Applies the difference once, and checks that nothing is left to do.
inline void converge(Driver& driver, const Intent& intent) {
  applied(driver, diff(intent, observed(driver)).changes);
  for (const Change& left : diff(intent, observed(driver)).changes)
    ADD_FAILURE() << left.path.text() << ": want " << left.want.to_string() << ", have "
                  << left.was.to_string();
}

template <class Condition>
bool eventually(Condition condition, milliseconds limit = kConverged) {
  const auto until = steady_clock::now() + limit;
  while (!condition()) {
    if (steady_clock::now() > until) return false;
    ::poll(nullptr, 0, 5);
  }
  return true;
}

inline std::string text_of(const std::string& file) {
  std::ifstream in(file);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace lockstep::frr
