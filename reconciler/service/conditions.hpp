// Conditions: what is true of an object, as Kubernetes writes it (metav1.Condition; kstatus).
//
// Promises: pure: time is an argument, and may jump: a proof that seems to be in the future is one of now.
// Otherwise what is shown depends on the looks and on `now`, not on how often it is shown. Looks are
// debounced: a status other than the shown one is shown after kLooks looks in a row that agree, of which each
// came while the proof of the one before was alive; Unknown (the proof's lifetime is over, or there is none,
// or the look says so) is shown at once. lastTransitionTime changes exactly when the shown status does. Each
// condition carries the time of the observation that proves it, and turns to Unknown when its lifetime ends:
// nothing is True for lack of news. Abnormal-true types (Stalled, Reconciling) are absent while they are
// False, as kstatus wants it. Until something else is shown, all are Unknown, since the object exists. Looks
// after begin_anew() have nothing before them that they could disagree with: the first one is shown at once.
#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "drivers/runtime/executor.hpp"

namespace lockstep {

enum class ConditionStatus : std::uint8_t { false_, true_, unknown };

struct ShownCondition {
  std::string type;  // "Ready", "Synced", "Stalled": CamelCase
  ConditionStatus status = ConditionStatus::unknown;
  std::string reason;   // CamelCase, stable
  std::string message;  // for a reader
  std::int64_t observed_generation = 0;
  WallTime last_transition{};
  std::optional<WallTime> proof{};  // when the devices behind it were last read; none: nothing proves it
  std::string boot_id{};            // of the one device behind it, at the proof; empty: several, or not known
};

struct ConditionRow {
  std::string type;
  bool abnormal_true = false;
  std::chrono::seconds lifetime{0};  // of its proof; zero: it needs none
};

struct Look {
  ConditionStatus status;
  std::string reason;
  std::string message;
  std::optional<WallTime> proof{};
  std::string boot_id{};  // as ShownCondition
};

class Conditions {
 public:
  static constexpr int kLooks = 2;
  static constexpr std::size_t kMessageMax = 32'768;  // of metav1.Condition; longer ones are cut in to_json()
  // `now`: since when the object exists.
  Conditions(std::vector<ConditionRow> rows, WallTime now);

  // Once for each observation. An unknown type is a mistake of the caller (assert). Where the look agrees
  // with the shown status, its reason, message, generation and proof are shown at once.
  void look(const std::string& type, const Look& look, std::int64_t generation, WallTime now);
  // What is looked at is another thing from now on: it was compared with other specs, or never looked at.
  void begin_anew();
  // The condition of that type, also an abnormal-true one that is False, as of the last call with a time.
  const ShownCondition& at(const std::string& type) const;
  // Whether what is shown is what the last look at it said.
  bool is_settled(const std::string& type) const;
  // In the order of the rows, as of `now`.
  std::vector<ShownCondition> shown(WallTime now);
  // When shown() changes next without a look: the earliest end of a proof's life.
  std::optional<WallTime> next_change() const;
  // [{"type", "status": "True", ..., "observedAt", "bootId"}], times in RFC 3339 (UTC); the proof is
  // "observedAt" and "bootId", which are left out where there is none.
  nlohmann::json to_json(WallTime now);

 private:
  struct Followed {
    ConditionRow row;
    ShownCondition shown;
    bool is_anew = false;
    int agreeing = 0;  // looks in a row
    ConditionStatus looked = ConditionStatus::unknown;
    std::optional<WallTime> looked_proof;
  };
  std::size_t index_of(const std::string& type) const;
  static bool is_proven(const Followed& one, const std::optional<WallTime>& proof, WallTime now);
  static void pass_time(Followed& one, WallTime now);

  std::vector<Followed> all_;
};

}  // namespace lockstep
