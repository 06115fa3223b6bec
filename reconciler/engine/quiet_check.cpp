#include "reconciler/engine/quiet_check.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace lockstep {
namespace {

// The entries that one driver tells of.
struct Question {
  Usage* usage = nullptr;
  std::vector<Path> entries;
};

std::vector<Question> questions_of(const Step& step, const std::vector<Attached*>& drivers) {
  std::vector<Question> out;
  for (const Path entry : step.quiet)
    for (const Attached* const one : drivers) {
      if (one->usage == nullptr || !one->usage->knows(entry)) continue;
      const auto known = std::ranges::find(out, one->usage, &Question::usage);
      (known == out.end() ? out.emplace_back(Question{one->usage, {}}) : *known).entries.push_back(entry);
      break;
    }
  return out;
}

Result<std::vector<Usage::Use>> ask_all(const std::vector<Question>& questions, const Call& call) {
  std::vector<Usage::Use> out;
  for (const Question& one : questions) {
    TRY(const std::vector<Usage::Use> uses, one.usage->of(one.entries, call));
    out.insert(out.end(), uses.begin(), uses.end());
  }
  return out;
}

}  // namespace

bool QuietCheck::concerns(const RunContext& context, const Step& step) {
  return !step.quiet.empty() && !context.undoes && context.fleet.find(step.device) &&
         !context.options.approved.lifts(Hold::Kind::drain, step.disruption);
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
  const Policy* const policy = context_.policy_of(step_);
  proceeds_ = policy != nullptr && policy->on_timeout == Policy::Undrained::proceed;
  until_ = context_.executor.now() + context_.options.drain_time(policy);
  pause_ = context_.options.poll_min;
  ask();
}

void QuietCheck::ask() {
  auto answer = std::make_shared<std::optional<Result<Uses>>>();
  pending_ = context_.executor.start(Job{.key = step_.device,
                                         .lane = device_.lane,
                                         .timeout = context_.options.observe_timeout,
                                         .run = [answer, questions = questions_of(step_, device_.drivers)](
                                                    const Call& call) { *answer = ask_all(questions, call); },
                                         .done = callbacks_.bind([this, answer](const Outcome& outcome) {
                                           pending_.reset();
                                           answered(outcome, *answer);
                                         })});
}

void QuietCheck::answered(const Outcome& outcome, const std::optional<Result<Uses>>& answer) {
  std::string still;
  const bool is_answer = outcome == Outcome::returned && answer;
  if (is_answer && *answer)
    still = in_use(**answer);
  else
    still = "nobody can tell what uses it: " +
            (is_answer ? answer->error().text() : outcome.reason_or("no answer in time"));
  if (is_answer && !*answer && answer->error().kind == ErrorKind::unsupported) return done_({still, true});
  const Time now = context_.executor.now();
  if (still.empty() || context_.stop.stop_requested() || now + pause_ > until_)
    return done_({still, proceeds_});
  pending_ = context_.executor.at(now + pause_, callbacks_.bind([this] {
    pending_.reset();
    ask();
  }));
  pause_ = std::min(2 * pause_, context_.options.poll_max);
}

std::string QuietCheck::in_use(const Uses& uses) {
  const Time now = context_.executor.now();
  std::string still;
  const bool first = last_.size() != uses.size();
  for (std::size_t i = 0; i < uses.size(); ++i) {
    const Usage::Use& one = uses[i];
    if (one.open > 0 && still.empty()) still = fmt::format("{} {} are open", one.open, one.what);
    if (!one.passed) continue;
    if (first || last_[i].passed != one.passed) quiet_since_ = now;
    if (now - quiet_since_ < context_.options.quiet_time && still.empty())
      still = fmt::format("{} passed less than {} ago", one.what, context_.options.quiet_time);
  }
  last_ = uses;
  return still;
}

}  // namespace lockstep
