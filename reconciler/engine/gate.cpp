#include "reconciler/engine/gate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

namespace lockstep {
namespace {

using Figures = std::map<std::string_view, const GateFigure*>;

Figures by_subject(const std::vector<GateFigure>& all) {
  Figures out;
  for (const GateFigure& one : all) out.insert_or_assign(one.subject, &one);
  return out;
}

const GateFigure* find(const Figures& all, std::string_view subject) {
  const auto found = all.find(subject);
  return found == all.end() ? nullptr : found->second;
}

// Null: there is none that is comparable.
const GateFigure* find_like(const Figures& all, const GateFigure& figure) {
  const GateFigure* const found = find(all, figure.subject);
  return found != nullptr && found->terms == figure.terms ? found : nullptr;
}

bool is_worse(const GateFigure& before, const GateFigure& after) {
  return before.figure && after.figure && *after.figure < *before.figure * (1 - tolerance(before, after));
}

// A choice: other traffic makes a byte more expensive, by shared caches and hyperthreads, but does not double
// the cost.
constexpr double kDearerThanByOthers = 2;

// Whether the probes' own CPU explains the fall: each byte costs them more, by so much that they had no less
// CPU than before. If other processes had taken it from them, they would have had less.
bool own_cpu_rose(const GateFigure& before, const GateFigure& after) {
  if (!before.cpu || !after.cpu || *before.cpu <= 0 || !after.figure || *after.figure <= 0) return false;
  const double rise = *after.cpu / *before.cpu;
  const double fall = before.figure.value_or(0) / *after.figure;
  const double least = tolerance(before, after);
  return rise > 1 + least && rise >= std::min(fall * (1 - least), kDearerThanByOthers);
}

std::string against(const GateFigure& before, const GateFigure& after) {
  if (!before.figure || !after.figure || *before.figure <= 0) return "";
  return fmt::format("{:.1f}% of what it was before", *after.figure / *before.figure * 100);
}

std::string joined(const std::string& one, const std::string& other) {
  return one.empty() || other.empty() ? one + other : one + ", " + other;
}

Attribution of_broken(const GateFigure& before, const GateFigure& after) {
  switch (before.state) {
    case SloState::none: return Attribution::new_broken;
    case SloState::holds: return Attribution::caused;
    case SloState::broken: break;
    case SloState::unknown:
      if (!before.figure) return Attribution::unattributed;
      break;
  }
  return is_worse(before, after) ? Attribution::caused : Attribution::not_caused;
}

Attribution of_unknown(const GateFigure& before, const GateFigure& after) {
  if (before.state == SloState::none) return Attribution::new_unknown;
  const bool told = before.state == SloState::holds || before.state == SloState::unknown;
  if (told && is_worse(before, after) && own_cpu_rose(before, after)) return Attribution::caused;
  const bool comparable = before.figure && after.figure;
  if (before.state == SloState::unknown && comparable && !is_worse(before, after))
    return Attribution::not_worse;
  return Attribution::not_validated;
}

Judged judge_one(const GateFigure& before, const GateFigure& after) {
  Judged out{after.subject, Attribution::holds, "", after.on_fail};
  if (after.state == SloState::none) return out;  // the pair was removed by the rollback
  const std::string compared = against(before, after);
  if (after.state == SloState::holds) {
    if (is_worse(before, after)) out.why = compared;
    return out;
  }
  out.attribution = after.state == SloState::broken ? of_broken(before, after) : of_unknown(before, after);
  out.why = joined(after.why, compared);
  return out;
}

bool is_better(const GateFigure& one, const GateFigure& other) {
  const auto rank = [](SloState state) {
    return state == SloState::broken ? 0 : state == SloState::unknown ? 1 : 2;
  };
  return std::pair(rank(one.state), one.figure.value_or(0)) >
         std::pair(rank(other.state), other.figure.value_or(0));
}

// At least half of them: a single pair that fell does not count.
bool controls_fell(const GateMeasurement* before, const GateMeasurement& after) {
  if (before == nullptr) return false;
  const Figures then = by_subject(before->controls);
  std::size_t told = 0;
  std::size_t fell = 0;
  for (const GateFigure& now : after.controls) {
    const GateFigure* const was = find_like(then, now);
    if (was == nullptr || !was->figure || !now.figure) continue;
    ++told;
    fell += is_worse(*was, now) ? 1 : 0;
  }
  return told > 0 && fell * 2 >= told;
}

}  // namespace

std::string_view to_string(Attribution attribution) {
  constexpr std::array<std::string_view, 9> kWords{
      "holds",      "not worse",       "new, and unknown",           "not validated",       "not validated",
      "not caused", "new, and broken", "broken, and not attributed", "broken by the change"};
  return kWords.at(static_cast<std::size_t>(attribution));
}

std::string_view to_string(GateVerdict verdict) {
  constexpr std::array<std::string_view, 4> kWords{"pass", "fail", "unknown", "not run"};
  return kWords[static_cast<std::size_t>(verdict)];
}

std::string_view to_string(Guilt guilt) {
  constexpr std::array<std::string_view, 4> kWords{"exonerated", "not proven", "guilty", "open"};
  return kWords.at(static_cast<std::size_t>(guilt));
}

std::string and_more(std::size_t more) { return more == 0 ? "" : fmt::format(" (and {} more)", more); }

double tolerance(const GateFigure& before, const GateFigure& after) {
  return std::max({kLeastTolerance, before.noise, after.noise});
}

const Judged* Judgement::deciding() const {
  const auto worst = std::max_element(
      all.begin(), all.end(), [](const Judged& a, const Judged& b) { return a.attribution < b.attribution; });
  return worst == all.end() ? nullptr : &*worst;
}

Attribution Judgement::worst() const {
  const Judged* const one = deciding();
  return one == nullptr ? Attribution::holds : one->attribution;
}

bool Judgement::undoes() const { return worst() >= Attribution::new_broken; }

bool Judgement::unknown() const {
  return std::any_of(all.begin(), all.end(), [](const Judged& one) {
    return one.attribution > Attribution::holds && one.attribution <= Attribution::not_validated;
  });
}

std::vector<std::string> Judgement::broken() const {
  std::vector<std::string> out;
  for (const Judged& one : all)
    if (one.attribution >= Attribution::new_broken) out.push_back(one.subject);
  return out;
}

std::vector<std::string> Judgement::unsure() const {
  std::vector<std::string> out;
  for (const Judged& one : all)
    if (is_unsure(one.attribution)) out.push_back(one.subject);
  return out;
}

bool Judgement::has(Attribution attribution) const {
  return std::ranges::find(all, attribution, &Judged::attribution) != all.end();
}

int Judgement::exit_code() const {
  switch (worst()) {
    case Attribution::holds: return 0;
    case Attribution::not_worse:
    case Attribution::new_unknown:
    case Attribution::uncovered:
    case Attribution::not_validated: return 3;
    case Attribution::not_caused:
    case Attribution::new_broken:
    case Attribution::unattributed:
    case Attribution::caused: return 2;
  }
  return 2;
}

Judgement judge_gate(const GateMeasurement* before, const GateMeasurement& after,
                     const std::map<std::string, GateFigure>& owed) {
  Judgement out;
  const Figures then = before == nullptr ? Figures{} : by_subject(before->figures);
  const GateFigure never;
  for (const GateFigure& now : after.figures) {
    const GateFigure* const was = find_like(then, now);
    Judged one = judge_one(was == nullptr ? never : *was, now);
    if (const auto earlier = owed.find(now.subject); earlier != owed.end()) {
      const bool alike = earlier->second.terms == now.terms;
      if (Judged of_it = judge_one(alike ? earlier->second : never, now); of_it.attribution > one.attribution)
        one = std::move(of_it);
    }
    out.all.push_back(std::move(one));
  }
  if (static_cast<double>(after.measured) < kLeastCoverage * static_cast<double>(after.selected))
    out.all.push_back({"", Attribution::not_validated,
                       fmt::format("{} of {} pairs could be measured", after.measured, after.selected)});
  else if (!after.uncovered.empty())
    out.all.push_back({"", Attribution::not_validated,
                       "no pair that was measured crosses " + after.uncovered.front() +
                           and_more(after.uncovered.size() - 1)});
  else if (!after.without_benchmark.empty())
    out.all.push_back({"", Attribution::uncovered,
                       "no benchmark crosses " + after.without_benchmark.front() +
                           and_more(after.without_benchmark.size() - 1)});
  return out;
}

GateMeasurement confirmed(const GateMeasurement* before, GateMeasurement after,
                          const std::vector<ConfirmingRound>& rounds) {
  std::size_t better = 0;
  std::string which;
  for (const ConfirmingRound& round : rounds) {
    const GateMeasurement& measured = round.measured;
    if (round.asked.empty() && measured.selected == after.selected && measured.measured >= after.measured) {
      after.measured = measured.measured;
      after.uncovered = measured.uncovered;
    }
    const Figures now = by_subject(measured.figures);
    const bool all_fell = controls_fell(before, measured);
    for (GateFigure& one : after.figures) {
      const GateFigure* const again = find(now, one.subject);
      if (again == nullptr) {
        if (one.state == SloState::broken && round.asks(one.subject)) {
          one.state = SloState::unknown;
          one.cpu.reset();
          one.why = joined(one.why, "and it could not be measured again");
        }
        continue;
      }
      if (all_fell) {
        one.state = SloState::unknown;
        one.cpu.reset();  // the load can't be attributed
        one.why = "pairs that the change can't have touched fell as well";
        continue;
      }
      // The best of the rounds: a change that slows a pair, or makes each byte more expensive, does so every
      // time.
      const std::optional<double> first = one.cpu;
      if (is_better(*again, one)) {
        if (one.state != SloState::holds && again->state == SloState::holds && better++ == 0)
          which = one.subject;
        one = *again;
      }
      one.cpu = first && again->cpu ? std::optional(std::min(*first, *again->cpu)) : std::nullopt;
    }
  }
  if (!rounds.empty())
    after.sentence = fmt::format(
        "all SLOs hold over {} figures{}", after.figures.size(),
        better == 0 ? "" : ", after more rounds than the first for " + which + and_more(better - 1));
  return after;
}

GateResult gate_result(const GateMeasurement& measured, Judgement judged) {
  GateResult out{GateVerdict::pass, measured.sentence, std::move(judged)};
  const Judged* const one = out.judged.deciding();
  if (one == nullptr)
    return {GateVerdict::not_run, measured.left_out.empty()
                                      ? "nothing to measure: no path is affected that could be judged now"
                                      : "nothing is measured now: " + measured.left_out};
  const std::string left_out = measured.left_out.empty() ? "" : "; " + measured.left_out;
  if (one->attribution == Attribution::holds) {
    std::vector<const Judged*> worse;
    for (const Judged& each : out.judged.all)
      if (!each.why.empty()) worse.push_back(&each);
    if (!worse.empty())
      out.why += fmt::format("; worse than before, within the SLO: {}: {}{}", worse.front()->subject,
                             worse.front()->why, and_more(worse.size() - 1));
    out.why += left_out;
    return out;
  }
  const int code = out.judged.exit_code();
  out.verdict = code == 2 ? GateVerdict::fail : GateVerdict::unknown;
  const auto same = static_cast<std::size_t>(
      std::count_if(out.judged.all.begin(), out.judged.all.end(),
                    [one](const Judged& other) { return other.attribution == one->attribution; }));
  out.why = std::string(to_string(one->attribution)) + ": " + one->subject +
            (one->subject.empty() || one->why.empty() ? "" : ": ") + one->why + and_more(same - 1) + left_out;
  return out;
}

Guilt guilt_of(const std::vector<std::string>& broken, const GateMeasurement* before,
               const GateMeasurement& again) {
  const Figures then = before == nullptr ? Figures{} : by_subject(before->figures);
  const Figures now = by_subject(again.figures);
  const bool all_fell = controls_fell(before, again);
  Guilt worst = broken.empty() ? Guilt::not_proven : Guilt::exonerated;
  for (const std::string& subject : broken) {
    const GateFigure* const is = find(now, subject);
    const GateFigure* const was = is == nullptr ? nullptr : find_like(then, *is);
    const bool held = was != nullptr && was->state == SloState::holds;
    Guilt one = Guilt::not_proven;
    if (is != nullptr && (is->state == SloState::holds || is->state == SloState::none)) one = Guilt::guilty;
    if (is != nullptr && is->state == SloState::broken)
      one = held && !all_fell ? Guilt::open : Guilt::exonerated;
    worst = std::max(worst, one);
  }
  return worst;
}

}  // namespace lockstep
