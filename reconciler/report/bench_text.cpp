#include <algorithm>

#include "reconciler/report/bench_report.hpp"
#include "reconciler/report/bench_rows.hpp"
#include "reconciler/report/table.hpp"
#include "specs/language/hostlist.hpp"

namespace lockstep {
namespace {

using bench::Measurement;

Shown verdict_text(bench::Verdict verdict, const Terminal& terminal) {
  const Ink ink = verdict == bench::Verdict::pass   ? Ink::green
                  : verdict == bench::Verdict::fail ? Ink::red
                                                    : Ink::yellow;
  return terminal.paint(ink, to_string(verdict));
}

// The reason why no measurement could be taken, if it is the same for all.
std::string shared_trouble(const BenchmarkOutcome& outcome) {
  const auto as_first = [&outcome](const Measurement& one) {
    return (one.trouble == bench::Trouble::transport || not_run(one)) &&
           remark_text(one) == remark_text(outcome.measurements.front());
  };
  if (!std::all_of(outcome.measurements.begin(), outcome.measurements.end(), as_first)) return "";
  return outcome.measurements.empty() ? "" : remark_text(outcome.measurements.front());
}

// The rows of a table say only "cpu-limited", the line below it why: the reasons differ little.
std::string cpu_limit_text(const BenchmarkOutcome& outcome, const Terminal& terminal) {
  const auto limited = std::ranges::count_if(
      outcome.measurements, [](const Measurement& one) { return one.ok() && one.cpu_limited; });
  if (limited == 0) return "";
  const auto first = std::ranges::find_if(outcome.measurements,
                                          [](const Measurement& one) { return one.ok() && one.cpu_limited; });
  const Shown such_as = first->cpu_reason.empty() ? Shown{} : compose(", such as: {}", first->cpu_reason);
  return terminal.paint(Ink::yellow, compose("    cpu-limited: {} of {} measurements{}", limited,
                                             outcome.measurements.size(), such_as)) +
         "\n";
}

std::string measurements_text(const BenchmarkOutcome& outcome, const Terminal& terminal) {
  if (const std::string trouble = shared_trouble(outcome); !trouble.empty())
    return "    " + terminal.paint(Ink::yellow, trouble) + "\n";
  const std::vector<const Measurement*> sorted = worst_first(outcome);
  Table table({{"between"},
               {"metric"},
               {"median", true},
               {"p5", true},
               {"p99", true},
               {"nominal", true},
               {"ideal", true},
               {"baseline", true},
               {"remark"}});
  const std::size_t shown = std::min(sorted.size(), kWorstShown);
  for (std::size_t i = 0; i < shown; ++i) {
    const Measurement& one = *sorted[i];
    table.add({one.subject(), std::string(to_string(one.metric)),
               one.ok() ? figure_text(one.value, one.metric) : "-",
               figure_text(one.seen, Statistic::p5, one.metric),
               figure_text(one.seen, Statistic::p99, one.metric), figure_text(one.nominal, one.metric),
               ideal_text(one), one.accepted ? figure_text(*one.accepted, Statistic::median, one.metric) : "",
               terminal.paint(one.ok() || not_run(one) ? Ink::yellow : Ink::red,
                              one.ok() && one.cpu_limited ? "cpu-limited" : remark_text(one))});
  }
  std::string out = table.render(terminal, "    ");
  if (shown < sorted.size())
    out += terminal.paint(Ink::dim, compose("    ... and {} more", sorted.size() - shown)) + "\n";
  return out + cpu_limit_text(outcome, terminal);
}

std::string as_a(const std::string& side) { return (side == "victim" ? "the " : "a ") + side; }

// What the ends' RDMA counters indicate besides traffic, over all pairs: hints, the most frequent first.
std::string counters_text(const BenchmarkOutcome& outcome, const Terminal& terminal) {
  std::vector<bench::CounterMove> all;
  for (const Measurement& one : outcome.measurements)
    for (const bench::CounterMove& move : one.counters) {
      const auto known = std::find_if(all.begin(), all.end(), [&](const bench::CounterMove& seen) {
        return seen.end == move.end && seen.counter == move.counter;
      });
      if (known != all.end())
        known->by += move.by;
      else
        all.push_back(move);
    }
  std::stable_sort(all.begin(), all.end(),
                   [](const bench::CounterMove& a, const bench::CounterMove& b) { return a.by > b.by; });
  std::string out;
  for (std::size_t i = 0; i < std::min(all.size(), kWorstShown); ++i)
    out += compose("    {} is {}: {} ({} {}); look at {}\n", all[i].end,
                   terminal.paint(Ink::yellow, as_a(all[i].side)), all[i].says, all[i].counter, all[i].by,
                   all[i].look_at);
  if (all.size() > kWorstShown)
    out += terminal.paint(Ink::dim, compose("    ... and {} more counters", all.size() - kWorstShown)) + "\n";
  return out;
}

std::string heat_map_text(const BenchmarkOutcome& outcome, const Terminal& terminal) {
  constexpr std::size_t kNamesMax = 64;  // wider than any terminal
  const HeatMap map = heat_map_of(outcome);
  if (map.names.empty() || map.names.size() > kNamesMax) return "";
  if (std::ranges::none_of(outcome.measurements, &Measurement::ok)) return "";
  if (outcome.measurements.front().metric != Metric::bandwidth) return "";
  std::string out;
  std::string text = render(map, terminal) + legend_of(map, terminal);
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = text.find('\n', start);
    out += "    " + text.substr(start, end - start + 1);
    start = end + 1;
  }
  return terminal.paint(Ink::dim, "    % of nominal, row sends to column") + "\n" + out;
}

std::string slo_text(const BenchmarkOutcome& outcome, const Terminal& terminal) {
  std::string out;
  for (const bench::SloVerdict& slo : outcome.verdict.slo) {
    out += compose("    {} {} {} {}", verdict_text(slo.verdict, terminal), to_string(slo.metric),
                   to_string(slo.statistic), slo.want);
    if (!slo.have.empty()) out += ", actual " + terminal.paint(Ink::bold, slo.have);
    if (!slo.worst.empty()) out += terminal.paint(Ink::dim, "  worst: " + slo.worst);
    if (!slo.reason.empty() && slo.verdict != bench::Verdict::pass)
      out += terminal.paint(Ink::dim, "  (" + slo.reason + ")");
    out += "\n";
  }
  return out;
}

Shown listed(const std::vector<Shown>& all) {
  Shown out;
  for (const Shown& one : all) out = compose("{}{}{}", out, out.empty() ? "" : ", ", one);
  return out;
}

// Most suspect first, those that can't be distinguished together.
std::string suspects_text(const std::vector<bench::Suspect>& suspects, const Terminal& terminal) {
  constexpr std::size_t kNamesMax = 6;
  std::string out;
  for (std::size_t rank = 0, i = 0; rank < kSuspectRanksMost && i < suspects.size(); ++rank) {
    std::vector<Shown> names;
    const bench::Suspect& first = suspects[i];
    for (; i < suspects.size() && suspects[i].rank == first.rank; ++i)
      names.push_back(
          compose("{} {}", to_string(suspects[i].kind), terminal.paint(Ink::red, suspects[i].name)));
    const std::size_t more = names.size() - std::min(names.size(), kNamesMax);
    names.resize(names.size() - more);
    out += compose("  suspect{}: {}{} ({} of the {} pairs that may cross {} are slow)\n",
                   names.size() > 1 ? ", one of" : "", listed(names),
                   more > 0 ? fmt::format(" and {} more", more) : "", first.slow, first.pairs,
                   names.size() > 1 ? "the first" : "it");
  }
  return out;
}

// What a gate did not cover.
std::string gate_coverage_text(const SuiteOutcome& suite, const Terminal& terminal) {
  constexpr std::size_t kLinesMax = 3;
  std::string out;
  if (const std::string left_out = left_out_sentence({&suite, 1}); !left_out.empty())
    out += terminal.paint(Ink::dim, compose("  {}", left_out)) + "\n";
  const std::vector<std::string>& all = suite.gate.uncovered;
  for (std::size_t i = 0; i < std::min(all.size(), kLinesMax); ++i)
    out += compose("  {}: {}\n", terminal.paint(Ink::yellow, "no pair that was measured crosses"), all[i]);
  if (all.size() > kLinesMax) out += compose("  and {} more\n", all.size() - kLinesMax);
  return out;
}

// An SLO that fails, or can't be judged.
std::string slo_problem(const BenchmarkOutcome& outcome, const bench::SloVerdict& slo,
                        const Terminal& terminal) {
  const bool failed = slo.verdict == bench::Verdict::fail;
  std::string what = fmt::format("{} {}", to_string(slo.metric), to_string(slo.statistic));
  if (!slo.have.empty()) what += " is " + slo.have;
  what += failed || !slo.have.empty() ? ", desired " + slo.want : " " + slo.want + " could not be judged";
  if (!slo.worst.empty()) what += ", worst: " + slo.worst;
  if (!slo.reason.empty()) what += " (" + slo.reason + ")";
  return compose("  {}: {}\n", terminal.paint(Ink::cyan, outcome.benchmark->name.value),
                 terminal.paint(failed ? Ink::red : Ink::yellow, what));
}

}  // namespace

std::string bench_problems_text(const std::vector<SuiteOutcome>& outcomes, const Terminal& terminal) {
  std::string out;
  std::size_t count = 0;
  for (const SuiteOutcome& suite : outcomes) {
    for (const BenchmarkOutcome& outcome : suite.benchmarks)
      for (const bench::SloVerdict& slo : outcome.verdict.slo) {
        if (slo.verdict == bench::Verdict::pass || outcome.measurements.empty()) continue;
        out += slo_problem(outcome, slo, terminal);
        ++count;
      }
    out += suspects_text(suite.suspects, terminal);
  }
  if (count == 0) return out;
  return terminal.paint(Ink::bold, counted(count, "problem")) + "\n" + out;
}

std::string bench_text(const std::vector<SuiteOutcome>& outcomes, const Terminal& terminal) {
  std::string out;
  for (const SuiteOutcome& suite : outcomes) {
    out +=
        terminal.paint(Ink::bold, "ValidationSuite/" + suite.suite->metadata.name.value) + "  " +
        (measurements_in({&suite, 1}) == 0 ? terminal.paint(Ink::dim, "not run")
                                           : verdict_text(suite.verdict, terminal)) +
        (suite.rounds_after == 0
             ? Shown{}
             : terminal.paint(Ink::dim, compose("  in the first of {} rounds: the gate's line sums up all of "
                                                "them",
                                                suite.rounds_after + 1))) +
        "\n";
    for (const BenchmarkOutcome& outcome : suite.benchmarks) {
      const std::string over = outcome.transport.empty() ? "" : " over " + outcome.transport;
      out += compose(
          "  {}  {}{}  {}\n", terminal.paint(Ink::cyan, outcome.benchmark->name.value),
          to_string(outcome.benchmark->workload.value), over,
          outcome.measurements.empty()
              ? terminal.paint(Ink::dim, outcome.left_out.empty() ? "not run: the change cannot affect it"
                                                                  : outcome.left_out)
              : verdict_text(outcome.verdict.verdict, terminal));
      if (!outcome.measurements.empty()) {
        out +=
            terminal.paint(Ink::dim, compose("    {} of {} pairs, {} of {} links, {}", outcome.coverage.pairs,
                                             outcome.coverage.of_pairs, outcome.coverage.links,
                                             outcome.coverage.of_links, counted(outcome.rounds, "round"))) +
            "\n";
        if (!outcome.transport_why.empty())
          out += terminal.paint(Ink::dim, "    why this transport: " + outcome.transport_why) + "\n";
        out += measurements_text(outcome, terminal) + counters_text(outcome, terminal) +
               heat_map_text(outcome, terminal);
      }
      if (!outcome.measurements.empty()) out += slo_text(outcome, terminal);
    }
    out += gate_coverage_text(suite, terminal);
  }
  if (outcomes.empty()) out += "no ValidationSuite in these specs\n";
  return out;
}

std::string bench_of_text(const std::string& title, const std::vector<SuiteOutcome>& outcomes,
                          const Terminal& terminal) {
  return terminal.paint(Ink::bold, "bench of " + title) + "\n" + bench_problems_text(outcomes, terminal) +
         bench_text(outcomes, terminal);
}

std::string measuring_line(const MeasureProgress& at) {
  return compose("{} {}/{}  {}", at.benchmark, at.done, at.total, at.last);
}

std::string waiting_line(const Error& taken) { return compose("waiting: {}", taken.text()); }

}  // namespace lockstep
