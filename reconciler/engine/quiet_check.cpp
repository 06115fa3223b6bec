#include "reconciler/engine/quiet_check.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace lockstep {
namespace {

struct Question {
  Path entry;
  Usage* usage = nullptr;
};

}  // namespace

bool QuietCheck::concerns(const RunContext& context, const Step& step) {
  return !step.quiet.empty() && !context.undoes && context.fleet.find(step.device);
}

QuietCheck::QuietCheck(const RunContext& context, const Step& step, std::function<void(const Answer&)> done)
    : context_(context),
      step_(step),
      device_(context.fleet[*context.fleet.find(step.device)]),
      done_(std::move(done)) {}

QuietCheck::~QuietCheck() {
  if (pending_) context_.executor.cancel(*pending_);
}

void QuietCheck::start() {
  const Policy* const policy = context_.options.policy_of(step_, context_.fleet);
  proceeds_ = (policy != nullptr && policy->on_timeout == Policy::Undrained::proceed) ||
              context_.options.approved.lifts(Hold::Kind::drain, step_);
  until_ = context_.executor.now() + context_.options.drain_time(policy);
  pause_ = context_.options.poll_min;
  ask();
}

void QuietCheck::ask() {
  std::vector<Question> questions;
  for (const Path entry : step_.quiet)
    for (const Attached* const one : device_.drivers)
      if (one->usage != nullptr && one->usage->knows(entry) && !unknown_.contains(entry)) {
        questions.push_back({entry, one->usage});
        break;
      }
  auto told = std::make_shared<Told>();
  pending_ =
      context_.executor.start(Job{.key = step_.device,
                                  .lane = device_.lane,
                                  .timeout = context_.options.observe_timeout,
                                  .run =
                                      [told, questions = std::move(questions)](const Call& call) {
                                        for (const Question& one : questions)
                                          told->emplace_back(one.entry, one.usage->of(one.entry, call));
                                      },
                                  .done = callbacks_.bind([this, told](const Outcome& outcome) {
                                    pending_.reset();
                                    answered(outcome, *told);
                                  })});
}

void QuietCheck::answered(const Outcome& outcome, const Told& told) {
  std::string still;
  if (outcome == Outcome::returned) {
    note_unsupported(told);
    still = in_use(told);
  } else {
    quiet_since_.reset();
    still = "cannot see what uses it: " + outcome.reason_or("no answer in time");
  }
  const Time now = context_.executor.now();
  const bool has_begun = quiet_since_ && *quiet_since_ <= until_;
  if (still.empty() || context_.must_end() || (now + pause_ > until_ && !has_begun))
    return over(still);
  pending_ = context_.executor.at(now + pause_, callbacks_.bind([this] {
    pending_.reset();
    context_.must_end() ? over("") : ask();
  }));
  pause_ = std::min(2 * pause_, context_.options.poll_max);
}

void QuietCheck::over(const std::string& still) {
  Answer answer{still, proceeds_, {}};
  for (const auto& [entry, why] : unknown_) answer.unknown.push_back(why);
  done_(answer);
}

void QuietCheck::note_unsupported(const Told& told) {
  for (const auto& [entry, use] : told)
    if (!use && use.error().kind == ErrorKind::unsupported)
      unknown_.emplace(entry, "cannot see what uses " + entry.text() + ": " + use.error().text());
}

// Empty: nothing uses it, and nothing has for quiet_time.
std::string QuietCheck::in_use(const Told& told) {
  const Time now = context_.executor.now();
  std::string still;
  std::string passing;  // packets that must stop for a while
  bool moved = false;
  for (const auto& [entry, use] : told) {
    if (unknown_.contains(entry)) continue;
    if (!use) {
      if (still.empty()) still = "cannot see what uses it: " + use.error().text();
      continue;
    }
    if (use->open > 0 && still.empty()) still = fmt::format("{} {} are open", use->open, use->what);
    if (!use->passed) continue;
    const auto [last, is_first] = passed_.try_emplace(entry, *use->passed);
    const bool has_moved = !is_first && last->second != *use->passed;
    if (has_moved || passing.empty()) passing = use->what;
    moved = moved || has_moved;
    last->second = *use->passed;
  }
  if (!still.empty()) {
    quiet_since_.reset();
    return still;
  }
  if (moved || !quiet_since_) quiet_since_ = now;
  const auto quiet_time = context_.options.quiet_time;
  if (passing.empty() || now - *quiet_since_ >= quiet_time) return "";
  return fmt::format("{} have passed within the last {}", passing, quiet_time);
}

}  // namespace lockstep
