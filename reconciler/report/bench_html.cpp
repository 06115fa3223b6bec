#include "reconciler/report/bench_html.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "reconciler/report/bench_charts.hpp"
#include "reconciler/report/bench_report.hpp"
#include "reconciler/report/escape.hpp"
#include "reconciler/report/picture_style.hpp"
#include "reconciler/report/run_report.hpp"
#include "reconciler/report/table.hpp"

namespace lockstep {
namespace {

constexpr std::string_view kStyle =
    R"(:root{color-scheme:light dark;--ground:#fff;--ink:#1b2026;--faint:#57606a;--rule:#d5dbe2;--card:#f6f8fa;
--pass:#0b5a94;--fail:#b3121d;--unknown:#8a4a00}
@media (prefers-color-scheme:dark){:root{--ground:#11161c;--ink:#e8edf2;--faint:#a3adb8;--rule:#313a45;--card:#181f28;
--pass:#6cb8f0;--fail:#ff7b72;--unknown:#f5a623}}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);font:14px/1.45 system-ui,"DejaVu Sans",sans-serif}
main{max-width:1500px;margin:0 auto;padding:24px 28px 40px}
h1{font-size:24px;margin:0 0 4px}h2{font-size:18px;margin:32px 0 8px}h3{font-size:15px;margin:14px 0 6px}
p{margin:6px 0}.note,.legend,td.note{color:var(--faint)}.legend{font-size:12px}.legend svg{vertical-align:-2px}
.pass,.fail,.unknown{font-weight:700;white-space:nowrap}
.pass{color:var(--pass)}.fail{color:var(--fail)}.unknown{color:var(--unknown)}
dl{display:grid;grid-template-columns:max-content auto;gap:2px 16px;margin:10px 0}dt{color:var(--faint)}
dd{margin:0;overflow-wrap:anywhere}
section{background:var(--card);border:1px solid var(--rule);border-radius:8px;padding:4px 18px 14px;margin:16px 0}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{text-align:left;padding:4px 12px 4px 0;border-bottom:1px solid var(--rule);vertical-align:top;overflow-wrap:anywhere}
th{color:var(--faint);font-weight:600}td.number,th.number{text-align:right;white-space:nowrap}
.charts{display:flex;flex-wrap:wrap;gap:12px 36px;align-items:flex-start}.chart,.scroll{max-width:100%;overflow-x:auto}
.chart{max-width:800px}.chart>svg{max-width:100%;height:auto}
pre{font:12px/1.4 ui-monospace,"DejaVu Sans Mono",monospace;overflow-x:auto}
.tick{font:11px ui-monospace,"DejaVu Sans Mono",monospace}.cell{font:11px system-ui,"DejaVu Sans",sans-serif;text-anchor:middle}
.end{text-anchor:end}.middle{text-anchor:middle}.dashed{stroke-dasharray:5 3;stroke-width:1.5}
.outline{fill:none;stroke-width:1.6}
)";

std::string verdict_html(bench::Verdict verdict) {
  const std::string_view symbol = verdict == bench::Verdict::pass   ? "✓"
                                  : verdict == bench::Verdict::fail ? "×"
                                                                    : "?";
  return fmt::format("<span class=\"{0}\">{1} {0}</span>", to_string(verdict), symbol);
}

std::string cell(const std::string& escaped, std::string_view style = "") {
  return style.empty() ? "<td>" + escaped + "</td>" : fmt::format("<td class=\"{}\">{}</td>", style, escaped);
}

std::string fact(std::string_view name, const std::string& escaped) {
  return escaped.empty() ? "" : fmt::format("<dt>{}</dt><dd>{}</dd>\n", name, escaped);
}

struct SloCounts {
  std::size_t all = 0;
  std::size_t passed = 0;
};

SloCounts slos_in(const std::vector<SuiteOutcome>& outcomes) {
  SloCounts out;
  for (const SuiteOutcome& suite : outcomes)
    for (const BenchmarkOutcome& benchmark : suite.benchmarks)
      for (const bench::SloVerdict& slo : benchmark.verdict.slo) {
        ++out.all;
        out.passed += slo.verdict == bench::Verdict::pass ? 1 : 0;
      }
  return out;
}

std::string summary_html(const std::vector<SuiteOutcome>& outcomes, const BenchFacts& facts) {
  const SloCounts slos = slos_in(outcomes);
  const bench::Verdict verdict =
      measurements_in(outcomes) == 0 ? bench::Verdict::unknown : verdict_of(outcomes);
  std::string out =
      fmt::format("<h1>Bench of {}: {}</h1>\n<p>{} of {} hold{}</p>\n<dl>\n", xml_text(facts.cluster),
                  verdict_html(verdict), slos.passed, counted(slos.all, "SLO"),
                  facts.stopped ? "; stopped while measuring: this is as far as it went" : "");
  out += fact("measured", xml_text(facts.at));
  out += fact(
      "on", facts.twin ? "the twin on this machine (scaled speeds, software switches)" : "the real devices");
  out += fact("recorded", xml_text(facts.recorded));
  out += fact("by", xml_text(facts.author));
  out += fact("configuration", "<code>" + xml_text(facts.config_hash) + "</code>");
  out += fact("lockstep", xml_text(facts.version));
  return out + "</dl>\n";
}

std::string slos_html(const std::vector<SuiteOutcome>& outcomes) {
  if (slos_in(outcomes).all == 0) return "";
  std::string out =
      "<h2>SLOs</h2>\n<div class=\"scroll\"><table class=\"slo\">\n<tr><th>verdict</th><th>benchmark</th>"
      "<th>metric</th><th>desired</th><th class=\"number\">actual</th><th>worst</th><th>reason</th></tr>\n";
  for (const SuiteOutcome& suite : outcomes)
    for (const BenchmarkOutcome& benchmark : suite.benchmarks)
      for (const bench::SloVerdict& slo : benchmark.verdict.slo)
        out += "<tr>" + cell(verdict_html(slo.verdict)) +
               cell(xml_text(suite.suite->metadata.name.value) + "/" +
                    xml_text(benchmark.benchmark->name.value)) +
               cell(fmt::format("{} {}", to_string(slo.metric), to_string(slo.statistic))) +
               cell(xml_text(slo.want)) + cell(xml_text(slo.have), "number") + cell(xml_text(slo.worst)) +
               cell(slo.verdict == bench::Verdict::pass ? "" : xml_text(slo.reason), "note") + "</tr>\n";
  return out + "</table></div>\n";
}

std::string suspects_html(const std::vector<SuiteOutcome>& outcomes) {
  constexpr std::size_t kRowsMost = 20;  // per suite: a longer list points to nothing
  std::string out;
  std::size_t more = 0;
  for (const SuiteOutcome& suite : outcomes) {
    std::size_t shown = 0;
    for (const bench::Suspect& one : suite.suspects) {
      if (one.rank >= kSuspectRanksMost) continue;
      if (++shown > kRowsMost) {
        ++more;
        continue;
      }
      out += "<tr>" + cell(fmt::format("{}", one.rank + 1), "number") +
             cell(std::string(to_string(one.kind))) + cell(xml_text(one.name)) +
             cell(fmt::format("{} of {}", one.slow, one.pairs), "number") + "</tr>\n";
    }
  }
  if (out.empty()) return "<h2>Suspects</h2>\n<p class=\"note\">none</p>\n";
  return "<h2>Suspects</h2>\n<p class=\"note\">What would explain which pairs are slow, the likeliest first; "
         "those "
         "of equal rank can't be distinguished.</p>\n<table>\n<tr><th class=\"number\">rank</th><th>kind</th>"
         "<th>name</th><th class=\"number\">slow pairs that may cross it</th></tr>\n" +
         out + "</table>\n" + (more > 0 ? fmt::format("<p class=\"note\">and {} more</p>\n", more) : "");
}

std::string worst_html(const BenchmarkOutcome& outcome) {
  const std::vector<const bench::Measurement*> sorted = worst_first(outcome);
  const std::size_t shown = std::min(sorted.size(), kWorstShown);
  std::string out = "<h3>The worst of " + counted(sorted.size(), "measurement") +
                    "</h3>\n<div class=\"scroll\"><table>\n<tr><th>between</th><th>metric</th>";
  for (const std::string_view title : {"median", "p5", "p99", "nominal", "ideal", "baseline"})
    out += fmt::format("<th class=\"number\">{}</th>", title);
  out += "<th>remark</th></tr>\n";
  for (std::size_t i = 0; i < shown; ++i) {
    const bench::Measurement& one = *sorted[i];
    out += "<tr>" + cell(xml_text(one.subject())) + cell(std::string(to_string(one.metric)));
    for (const std::string& figure :
         {one.ok() ? figure_text(one.value, one.metric) : "-",
          figure_text(one.seen, Statistic::p5, one.metric), figure_text(one.seen, Statistic::p99, one.metric),
          figure_text(one.nominal, one.metric), ideal_text(one),
          one.accepted ? figure_text(*one.accepted, Statistic::median, one.metric) : ""})
      out += cell(figure, "number");
    out += cell(xml_text(remark_text(one)), "note") + "</tr>\n";
  }
  return out + "</table></div>\n";
}

std::string histograms_html(const BenchmarkOutcome& outcome) {
  std::set<Metric> metrics;
  bool with_baseline = false;
  for (const bench::Measurement& one : outcome.measurements) {
    metrics.insert(one.metric);
    with_baseline = with_baseline || one.accepted.has_value();
  }
  std::string out;
  for (const Metric metric : metrics) {
    const std::string drawn = histogram_svg(outcome, metric);
    if (drawn.empty()) continue;
    out += fmt::format(
        "<div class=\"chart\"><h3>{}: all samples</h3>\n{}<p class=\"legend\">{}{}</p></div>\n",
        to_string(metric), drawn,
        with_baseline ? "bars: this run; outline: the accepted baseline"
                      : "bars: this run; no baseline is accepted",
        unit_of(metric) == Bound::Unit::rate ? "; in % of each one's nominal, where it has one" : "");
  }
  return out;
}

HeatWords heat_words(const HeatMap& map, Metric metric) {
  if (unit_of(metric) == Bound::Unit::time)
    return {"median in us", "us", "within the SLO's bound",
            fmt::format("up to {:.1f} times it", 1 / map.poor), "more"};
  return {"% of nominal", "%", fmt::format("{:.0f}% and more", map.good * 100),
          fmt::format("from {:.0f}%", map.poor * 100), "less"};
}

std::string heat_html(const BenchmarkOutcome& outcome) {
  const HeatMap map = heat_map_of(outcome);
  if (map.names.empty()) return "";
  const Metric metric = outcome.measurements.front().metric;
  return fmt::format("<div class=\"chart\"><h3>{} by pair</h3>\n{}</div>\n", to_string(metric),
                     heat_map_svg(map, heat_words(map, metric)));
}

std::string benchmark_html(const SuiteOutcome& suite, const BenchmarkOutcome& outcome) {
  std::string out =
      fmt::format("<section><h2>{}/{}: {} over {} {}</h2>\n", xml_text(suite.suite->metadata.name.value),
                  xml_text(outcome.benchmark->name.value), to_string(outcome.benchmark->workload.value),
                  outcome.transport.empty() ? "no transport" : xml_text(outcome.transport),
                  verdict_html(outcome.verdict.verdict));
  if (outcome.measurements.empty())
    return out + "<p class=\"note\">" +
           (outcome.left_out.empty() ? "nothing was measured" : xml_text(outcome.left_out)) +
           "</p></section>\n";
  out += fmt::format(
      "<p class=\"note\">{} of {} pairs, {} of {} links, {}{}</p>\n", outcome.coverage.pairs,
      outcome.coverage.of_pairs, outcome.coverage.links, outcome.coverage.of_links,
      counted(outcome.rounds, "round"),
      outcome.transport_why.empty() ? "" : "; why this transport: " + xml_text(outcome.transport_why));
  return out + "<div class=\"charts\">\n" + heat_html(outcome) + histograms_html(outcome) + "</div>\n" +
         worst_html(outcome) + "</section>\n";
}

std::string lines_html(const std::string& text) {
  std::string out;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    out += xml_text(text.substr(start, end - start)) + "\n";
    start = end + 1;
  }
  return out;
}

}  // namespace

std::string bench_html(const std::vector<SuiteOutcome>& outcomes, const BenchFacts& facts,
                       const std::optional<RunComparison>& compared) {
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>Bench of "
      "{}</title>\n"
      "<style>{}{}</style></head>\n<body><main>\n",
      xml_text(facts.cluster), picture_css(), kStyle);
  out += summary_html(outcomes, facts) + slos_html(outcomes) + suspects_html(outcomes);
  for (const SuiteOutcome& suite : outcomes)
    for (const BenchmarkOutcome& benchmark : suite.benchmarks) out += benchmark_html(suite, benchmark);
  if (outcomes.empty()) out += "<p>no ValidationSuite in these specs</p>\n";
  if (compared)
    out += "<section><h2>Compared with an earlier run</h2>\n<pre>" +
           lines_html(comparison_text(*compared, Terminal{})) + "</pre></section>\n";
  return out + "</main></body></html>\n";
}

}  // namespace lockstep
