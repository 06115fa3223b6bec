// The kinds of objects that the API serves, and what may be done to them: the one table from which requests
// are routed and the OpenAPI document is made.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "reconciler/api/role.hpp"
#include "specs/language/kind_rows.hpp"

namespace lockstep::api {

// From `spec` on: the kinds of the specs (specs/language/kind_rows.hpp) that are none of those before, in
// their order.
enum class Kind : std::uint8_t { cluster, revision, device, change, benchmark_run, finding, event, spec };

struct KindRow {
  Kind kind{};
  std::string_view name;                     // "Device"
  std::string_view plural;                   // "devices", as in paths
  std::string_view what;                     // one sentence
  std::array<std::string_view, 4> fields{};  // for fieldSelector, besides metadata.name; empty: fewer
  bool stored = false;                       // lists come from the cluster's store; watches have the newest
  const lockstep::KindRow* spec = nullptr;   // of Kind::spec and after
};
std::span<const KindRow> kinds();  // by Kind
const KindRow& row_of(Kind kind);
const KindRow* find_kind(std::string_view plural);  // null: there is none
Kind kind_of(const lockstep::KindRow& spec);        // it must be one of kinds()
constexpr std::size_t index_of(Kind kind) { return static_cast<std::size_t>(kind); }

enum class Verb : std::uint8_t { approve, reject, suspend, resume, reconcile, cordon, uncordon };

// POST /api/v1alpha1/PLURAL/NAME:WORD.
struct ActionRow {
  Verb verb{};
  Kind kind{};
  std::string_view word;
  Role role = Role::operator_;  // the least
  bool steps = false;           // whether its body may name steps
  bool needs_reason = false;    // what others will find and ask about
  std::string_view what;        // one sentence
};
std::span<const ActionRow> actions();
const ActionRow& row_of(Verb verb);
const ActionRow* find_action(Kind kind, std::string_view word);  // null: there is none

}  // namespace lockstep::api
