// KeptDevice: a device as the API shows it: what is known of it, and its conditions.
//
// Promises: time is an argument. Each observation is one look at what it proves (Ready, Reachable, InSync,
// Healthy). An observation that lacks something does not hide what the one before it proved: only the second
// in a row turns InSync and Healthy to Unknown, and the last proof grows old meanwhile. The first observation
// that is compared with other specs, or that follows a change, is shown at once: those before it answered
// another question. So is one that a correction is under way for: there is no other until that is over.
// Reconciling and Stalled follow the shown conditions.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "reconciler/api/object_looks.hpp"
#include "reconciler/api/objects.hpp"

namespace lockstep::api {

// One of a device's conditions, as it is shown.
struct ShownStatus {
  ConditionStatus status = ConditionStatus::unknown;
  std::optional<WallTime> proof{};
  bool operator==(const ShownStatus&) const = default;
};

// What an observation answers.
struct Question {
  std::optional<RevisionId> towards{};  // the revision that it is compared with
  std::uint64_t changes = 0;            // that had ended: ServiceCounts::changes
  bool operator==(const Question&) const = default;
};

class KeptDevice {
 public:
  KeptDevice(std::chrono::seconds lifetime, WallTime now);

  // What a turn of the feed knows of it; without an observation and a reason for that, the last one stays.
  // `question`: that a new observation answers. `corrections`: null: no look at them in this turn. False:
  // what is shown is as before.
  bool take(KnownDevice next, const Question& question, const Corrections* corrections,
            std::int64_t generation, WallTime now);
  const KnownDevice& known() const { return known_; }
  nlohmann::json conditions(WallTime now) { return conditions_.to_json(now); }

  // As of the last take().
  const std::optional<RevisionId>& towards() const { return question_.towards; }
  const ShownStatus& reachable() const { return reachable_; }
  const ShownStatus& in_sync() const { return in_sync_; }
  const ShownStatus& healthy() const { return healthy_; }
  bool is_reconciling() const { return shows("Reconciling"); }
  bool is_changing() const { return !changing_.empty(); }
  bool is_stalled() const { return shows("Stalled"); }
  const std::string& why_stalled() const { return conditions_.at("Stalled").reason; }

 private:
  bool shows(const std::string& type) const { return conditions_.at(type).status == ConditionStatus::true_; }
  void look_at(const DeviceStatus& observed, std::int64_t generation, WallTime now);
  void show_at_once(std::int64_t generation, WallTime now);
  void look_at_correction(std::int64_t generation, WallTime now);

  KnownDevice known_;
  Question question_;
  std::shared_ptr<const DeviceStatus> acted_on_;
  Conditions conditions_;
  int unread_ = 0;  // observations in a row that lack something
  std::string changing_;
  Why held_;
  bool is_new_ = true;
  bool is_unsettled_ = true;  // another look at its correction is needed
  ShownStatus reachable_;
  ShownStatus in_sync_;
  ShownStatus healthy_;
};

}  // namespace lockstep::api
