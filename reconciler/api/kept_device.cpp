#include "reconciler/api/kept_device.hpp"

#include <nlohmann/json.hpp>
#include <utility>

namespace lockstep::api {
namespace {

bool same_speaker(const std::optional<SpokenBy>& one, const std::optional<SpokenBy>& other) {
  if (!one || !other) return one.has_value() == other.has_value();
  return one->who == other->who && one->reason == other->reason && one->at == other->at;
}

bool is_same(const KnownDevice& one, const KnownDevice& other) {
  return one.observed == other.observed && one.named == other.named &&
         same_speaker(one.cordoned, other.cordoned);
}

ShownStatus shown_of(const ShownCondition& one) { return {one.status, one.proof}; }

}  // namespace

KeptDevice::KeptDevice(std::chrono::seconds lifetime, WallTime now)
    : conditions_(device_rows(lifetime), now) {
  conditions_.begin_anew();
}

bool KeptDevice::take(KnownDevice next, const Question& question, const Corrections* corrections,
                      std::int64_t generation, WallTime now) {
  const bool is_observed = next.observed && next.observed != known_.observed;
  if (!next.observed && next.named.why_unattached.empty()) next.observed = known_.observed;
  if (is_observed && question != question_) {
    question_ = question;
    conditions_.begin_anew();
  }
  const std::optional<WallTime> due = conditions_.next_change();
  const bool is_news = !is_same(known_, next) || std::exchange(is_new_, false) || (due && now >= *due);
  known_ = std::move(next);
  if (is_observed) {
    unread_ = known_.observed->complete ? 0 : unread_ + 1;
    look_at(*known_.observed, generation, now);
  }
  bool is_corrected = false;
  if (corrections != nullptr) {
    std::string changing = corrections->changing(known_.named.name);
    if (!changing.empty() && known_.observed && known_.observed != acted_on_) {
      acted_on_ = known_.observed;
      if (acted_on_->differences > 0) show_at_once(generation, now);
    }
    Why held = corrections->held(known_.named, known_.observed.get(), known_.cordoned.has_value());
    is_corrected = is_news || is_unsettled_ || changing != changing_ || held != held_;
    changing_ = std::move(changing);
    held_ = std::move(held);
  }
  is_unsettled_ = is_unsettled_ || is_news;
  if (!is_news && !is_corrected) return false;
  (void)conditions_.shown(now);
  reachable_ = shown_of(conditions_.at("Reachable"));
  in_sync_ = shown_of(conditions_.at("InSync"));
  healthy_ = shown_of(conditions_.at("Healthy"));
  if (is_corrected) look_at_correction(generation, now);
  return true;
}

// The service acts on this observation, and there is no other one until that is over.
void KeptDevice::show_at_once(std::int64_t generation, WallTime now) {
  conditions_.begin_anew();
  look_at(*known_.observed, generation, now);
}

void KeptDevice::look_at(const DeviceStatus& observed, std::int64_t generation, WallTime now) {
  for (const NamedLook& one : looks_at_device(observed)) {
    const bool hides = unread_ == 1 && one.look.status == ConditionStatus::unknown &&
                       conditions_.at(one.type).status != ConditionStatus::unknown;
    if (!hides) conditions_.look(one.type, one.look, generation, now);
  }
}

void KeptDevice::look_at_correction(std::int64_t generation, WallTime now) {
  const bool differs =
      in_sync_.status == ConditionStatus::false_ || healthy_.status == ConditionStatus::false_;
  is_unsettled_ = false;
  for (const NamedLook& one : looks_at_correction(differs, changing_, held_)) {
    conditions_.look(one.type, one.look, generation, now);
    is_unsettled_ = is_unsettled_ || !conditions_.is_settled(one.type);
  }
}

}  // namespace lockstep::api
