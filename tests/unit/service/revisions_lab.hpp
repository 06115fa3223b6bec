// A service's revisions, with short calls for what happens to them.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>

#include "reconciler/service/revisions.hpp"

namespace lockstep {

inline constexpr WallTime kFirst{std::chrono::hours(500'000)};

inline RevisionId of(const std::string& source, const std::string& by = "") {
  return {source, "sha256:" + source + by};
}

// With or without a restart before each event.
class RevisionsLab : public testing::TestWithParam<bool> {
 protected:
  WallTime tick() {
    if (GetParam()) revisions_ = read_back(revisions_.to_json().dump());
    return now_ += std::chrono::minutes(1);
  }
  static Revisions read_back(const std::string& text) {
    auto read = Revisions::from_json(nlohmann::json::parse(text));
    if (!read) throw std::runtime_error(read.error().text());
    return *std::move(read);
  }
  void fetch(const std::string& source) { revisions_.valid(of(source), "1.0", tick()); }
  std::set<std::string> plan(const RevisionId& id, const std::set<std::string>& steps,
                             const std::set<std::string>& held = {}, bool whole = true) {
    return revisions_.planned(id, {steps, held, whole}, tick());
  }
  void run(const RevisionId& id, const std::set<std::string>& steps = {"s"},
           const std::set<std::string>& held = {}) {
    ASSERT_EQ(revisions_.next(), id);
    plan(id, steps, held);
    revisions_.began(id, tick());
  }
  void keep(const RevisionId& id, const std::set<std::string>& steps = {"s"},
            const std::set<std::string>& held = {}) {
    run(id, steps, held);
    revisions_.kept(tick());
  }
  void refuse(const RevisionId& id, const std::set<std::string>& steps,
              const std::string& why = "bandwidth fell") {
    run(id, steps);
    revisions_.refused(steps, why, tick());
  }
  Result<Done> approve(const RevisionId& id, const std::set<std::string>& steps) {
    return revisions_.approve({id, steps, {"ann (operator)", "window of tonight", tick()}});
  }
  Result<Done> reject(const RevisionId& id) {
    return revisions_.reject(id, {"ann (operator)", "too risky", tick()});
  }
  Revisions::Shown shown(const RevisionId& id) const {
    for (const Revisions::Shown& one : revisions_.shown())
      if (one.revision == id) return one;
    ADD_FAILURE() << id.source << " is not shown";
    return {};
  }
  RevisionState state(const std::string& source) const { return shown(of(source)).state; }
  static ErrorKind kind_of(const Result<Done>& result) {
    if (result) ADD_FAILURE() << "accepted";
    return result ? ErrorKind::transient : result.error().kind;
  }

  Revisions revisions_;
  WallTime now_ = kFirst;
};

}  // namespace lockstep
