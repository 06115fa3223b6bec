// Replaces every string that a device, a daemon, a neighbour or a kernel can give by a hostile one, in every
// output format. Independent parsers check the output (parse_output.py: Python's own parsers and cmark-gfm):
// it must have the structure of the same report with harmless strings. LOCKSTEP_FUZZ_ROUNDS is the number of
// rounds (300 take about a minute).
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "reconciler/engine/causes.hpp"
#include "reconciler/report/apply_report.hpp"
#include "reconciler/report/bench_html.hpp"
#include "reconciler/report/discovery.hpp"
#include "reconciler/report/drift_report.hpp"
#include "reconciler/report/earlier_runs.hpp"
#include "reconciler/report/escape.hpp"
#include "reconciler/report/plan_report.hpp"
#include "reconciler/report/plan_text.hpp"
#include "reconciler/report/run_report.hpp"
#include "reconciler/report/spec_diff_report.hpp"
#include "reconciler/report/topology_picture.hpp"
#include "reconciler/report/watch_report.hpp"
#include "specs/model/interned.hpp"
#include "specs/model/schema_rows.hpp"
#include "tests/needs.hpp"
#include "tests/unit/report/hostile_strings.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::json;

// Removes brackets, which would end a key (Path::text) and which drivers exclude; a key may contain all else.
std::string key(std::string text) {
  std::erase_if(text, [](char c) { return c == '[' || c == ']'; });
  return text;
}

PlanOrigin origin_from(const Strings& next) { return {next() + ".yaml", 3, 4, next(), next()}; }

DriftReport drift_from(const Strings& next) {
  DriftReport report;
  report.devices = 9;
  report.observed = 7;
  report.in_sync = 1;
  report.drifted = 3;
  for (const DriftState state : {DriftState::drifted, DriftState::effect, DriftState::not_applied,
                                 DriftState::overruled, DriftState::unmanaged, DriftState::not_applied})
    report.items.push_back({.device = next(),
                            .path = Path(row("sysctl[*]"), {key(next())}),
                            .want = Value::text(next()),
                            .have = Value::text(next()),
                            .state = state,
                            .disruption = Disruption::traffic,
                            .origin = origin_from(next),
                            .reason = next()});
  report.items.back().by_hand = true;
  report.items.push_back(report.items.front());
  report.items.back().have = Value::list({key(next()), key(next())});
  report.unobserved.push_back({next(), "", next(), origin_from(next)});
  report.unobserved.push_back({next(), next(), next(), origin_from(next)});
  return report;
}

Plan plan_from(const Strings& next) {
  Plan plan;
  plan.digest = next();
  plan.origins.push_back(origin_from(next));
  plan.refusals.push_back(next());
  for (std::uint32_t id = 1; id < 3; ++id) {
    Step step;
    step.id = id;
    step.device = next();
    step.driver = next();
    if (id == 2) step.remedy = next();
    step.live = true;
    for (const Value& was : {Value{}, Value::text(next())})
      step.changes.push_back({Path(row("sysctl[*]"), {key(next())}), was, Value::text(next()), 1});
    step.holds.push_back({Hold::Kind::approval, next()});
    step.notes.push_back(next());
    plan.steps.push_back(std::move(step));
  }
  return plan;
}

std::vector<DeviceState> states_from(const Strings& next) {
  std::vector<DeviceState> states(2);
  for (DeviceState& state : states) {
    state.device = next();
    state.observation.notes = {next(), next()};
    state.not_applied.push_back({Path(row("sysctl[*]"), {key(next())}), Value::text(next()), 0, next()});
  }
  return states;
}

Applied applied_from(const Strings& next, const Plan& plan) {
  ApplyReport report;
  report.verdict = ApplyVerdict::kept;
  for (const Step& step : plan.steps) {
    StepResult& result = report.steps.emplace_back();
    result.id = step.id;
    result.state = StepState::failed;
    result.why = next();
  }
  const Path path(row("sysctl[*]"), {key(next())});
  report.effects.push_back({next(), {path, Value::text(next()), Value::text(next())}, ""});
  report.effects.push_back({next(), {path, Value::text(next()), Value::text(next())}, next()});
  report.notes = {next()};
  report.gate = GateResult{GateVerdict::fail, next()};
  report.open_before = report.effects;
  report.undone.push_back(
      {1, plan_from(next), {}, {next()}, true, GateResult{GateVerdict::unknown, next()}, Guilt::guilty});
  Applied out{std::move(report), {}, Done{}};
  out.open = report_of(out.report.effects, Wiring{});
  out.open_before = report_of(out.report.open_before, Wiring{});
  return out;
}

RunHead run_from(const Strings& next) {
  RunHead run;
  run.number = 2;
  run.purpose = RunPurpose::after;
  run.change = 7;
  for (std::string* const field :
       {&run.at, &run.command, &run.author, &run.verdict, &run.config_hash, &run.version, &run.kernel})
    *field = next();
  return run;
}

RunFigure figure_from(const Strings& next) {
  RunFigure figure;
  for (std::string* const field :
       {&figure.suite, &figure.benchmark, &figure.unit, &figure.transport, &figure.from, &figure.to})
    *field = next();
  figure.seen.count = 3;
  figure.seen.median = 4e8;
  return figure;
}

RunFigure broken_from(const Strings& next) {
  RunFigure figure = figure_from(next);
  figure.trouble = bench::Trouble::path;
  figure.why = next();
  return figure;
}

RunComparison comparison_from(const Strings& next) {
  RunComparison out;
  out.then = run_from(next);
  out.differs = {{"configuration", "", next(), next()},
                 {"boot", next(), next(), next()},
                 {"boot", next(), "", next()},
                 {"transport", next(), next(), next()}};
  out.figures = {{figure_from(next), figure_from(next), Statistic::median, Trend::alike},
                 {figure_from(next), broken_from(next), Statistic::median, Trend::worse}};
  out.only_then = {next(), next()};
  out.only_now = {next()};
  return out;
}

ShownChange change_from(const Strings& next) {
  ShownChange out;
  ChangeRecord& record = out.change.record;
  record.change = 7;
  for (std::string* const field :
       {&record.begun, &record.ended, &record.outcome, &record.author, &record.reason, &record.digest})
    *field = next();
  out.change.touched = {1, {next(), next()}};
  out.change.runs = {run_from(next)};
  RecordedTicket& ticket = out.tickets.emplace_back();
  ticket.ticket = {next(),
                   1,
                   next(),
                   next(),
                   {{Path(row("sysctl[*]"), {key(next())}), Value::text(next()), Value::text(next()), 0}}};
  ticket.begun = next();
  ticket.note = next();
  return out;
}

ChangeHistory history_from(const Strings& next) {
  ChangeHistory out;
  out.changes = {change_from(next).change};
  out.blamed.emplace(7, change_from(next).change.record);
  FigureSeries& series = out.series.emplace_back();
  series.of = next();
  series.runs = {run_from(next)};
  series.points = {{2, figure_from(next), 1, 8e8, Trend::worse, {7}},
                   {2, broken_from(next), {}, {}, Trend::unknown, {}}};
  return out;
}

std::vector<DiscoveredDevice> discovered_from(const Strings& next) {
  DiscoveredDevice device{next(), "host", {}};
  DiscoveredPort port;
  for (std::string* const field : {&port.name, &port.kind, &port.driver, &port.hardware_address})
    *field = next();
  port.nic.fec = next();
  port.nic.fec_active = next();
  port.nic.rings[next()] = {1, 2};
  ethtool::ModuleFacts& module = port.nic.module.emplace();
  for (std::string* const field : {&module.kind, &module.vendor, &module.part, &module.revision})
    *field = next();
  port.rdma_devices = {next(), next()};
  port.addresses = {next(), next()};
  port.peer = next() + ":" + next();
  device.host.ports.push_back(std::move(port));
  DiscoveredGpu gpu;
  gpu.gpu.pci.address = next();
  gpu.gpu.pci.driver = next();
  gpu.gpu.nvml = NvmlGpu{};
  gpu.gpu.nvml->name = next();
  gpu.nics.emplace_back(next(), PciDistance{});
  device.host.gpus.push_back(std::move(gpu));
  DiscoveredRdma rdma;
  rdma.facts.name = next();
  rdma.facts.driver = next();
  rdma.facts.firmware = next();
  rdma::PortFacts& port_facts = rdma.facts.ports.emplace_back();
  for (std::string* const field :
       {&port_facts.state, &port_facts.physical_state, &port_facts.link_layer, &port_facts.netdev})
    *field = next();
  rdma.ports.emplace_back();
  device.host.rdma.push_back(std::move(rdma));
  devlink::DeviceFacts facts;
  facts.info.driver = next();
  facts.info.versions.push_back({.name = next(), .value = next(), .kind = "running"});
  facts.reporters.emplace_back().name = next();
  facts.reporters.back().healthy = false;
  facts.parameters.emplace_back().name = next();
  facts.parameters.back().values[{}] = next();
  facts.rates.emplace_back().node = next();
  facts.rates.back().parent = next();
  device.host.devlink.push_back(std::move(facts));
  device.host.settings = {{next(), next(), ""}, {next(), "", next()}};
  device.host.notes = {next()};
  return {device};
}

struct Picture {
  Catalog catalog;
  Topology topology;
};
Picture picture_from(const Strings& next) {
  Picture out;
  out.catalog.fabrics.resize(1);
  out.catalog.fabrics[0].metadata.name.value = next();
  out.catalog.fabrics[0].cabling.resize(1);
  out.topology.fabrics.resize(1);
  for (std::uint32_t i = 0; i < 2; ++i) {
    out.topology.devices.push_back({.name = next(), .first_port = i, .port_count = 1});
    out.topology.ports.push_back({.name = interned_text(intern(next())), .device = i, .link = 0});
  }
  out.topology.devices[1].role = DeviceRole::leaf;
  out.topology.links.push_back({.a = 0, .b = 1, .speed = 1'000'000'000});
  out.topology.fabrics[0].hosts = {0};
  out.topology.fabrics[0].leaves = {1};
  out.topology.fabrics[0].links = {0};
  return out;
}

std::string page_from(const Strings& next) {
  ValidationSuite suite;
  Benchmark benchmark;
  suite.metadata.name.value = next();
  benchmark.name.value = next();
  SuiteOutcome out;
  out.suite = &suite;
  BenchmarkOutcome& outcome = out.benchmarks.emplace_back();
  outcome.benchmark = &benchmark;
  outcome.transport = next();
  outcome.transport_why = next();
  for (int i = 0; i < 2; ++i) {
    bench::Measurement& one = outcome.measurements.emplace_back();
    for (std::string* const field : {&one.from, &one.to, &one.note}) *field = next();
    one.value = 9e8;
    one.nominal = 1e9;
    one.seen.samples = {9e8};
  }
  outcome.measurements[1].trouble = bench::Trouble::path;
  outcome.measurements[1].error = next();
  bench::SloVerdict& slo = outcome.verdict.slo.emplace_back();
  for (std::string* const field : {&slo.want, &slo.have, &slo.reason, &slo.worst}) *field = next();
  out.suspects.push_back({bench::Suspect::Kind::link, next(), 0, 1, 2});
  BenchmarkOutcome& empty = out.benchmarks.emplace_back();
  empty.benchmark = &benchmark;
  empty.left_out = next();
  const BenchFacts facts{next(), true, next(), next(), next(), next(), next(), false};
  return bench_html({out}, facts, comparison_from(next));
}

// One document for parse_output.py. `text` is encoded in hexadecimal.
Json printed(std::string_view form, const std::string& text, Json fields = Json::object()) {
  std::ostringstream hex;
  for (const char c : text) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    hex << kDigits[static_cast<unsigned char>(c) >> 4U] << kDigits[static_cast<unsigned char>(c) & 0xfU];
  }
  return {{"form", form}, {"text", hex.str()}, {"fields", std::move(fields)}};
}

SpecDiff spec_diff_from(const Strings& next) {
  SpecDiff out;
  out.was = next();
  out.now = next();
  out.devices = 3;
  out.origins = {PlanOrigin{}, origin_from(next)};
  for (const DeviceDiff::Kind kind :
       {DeviceDiff::Kind::added, DeviceDiff::Kind::removed, DeviceDiff::Kind::changed}) {
    DeviceDiff device{next(), kind, {}};
    device.entries.push_back(
        {{Path(row("sysctl[*]"), {key(next())}), Value::text(next()), Value::text(next()), 1},
         Disruption::traffic});
    if (kind == DeviceDiff::Kind::changed) device.approvals = {Disruption::traffic};
    out.differ.push_back(std::move(device));
  }
  return out;
}

CheckedPlan left_out_from(const Strings& next, const Plan& plan) {
  return {{{1, next()}}, {{1, next()}}, plan.steps, plan};
}

void add_texts(const Strings& next, const Terminal& terminal, std::vector<Json>& out) {
  const auto text = [&](const std::string& report) {
    out.push_back(printed(terminal.colour ? "colours" : "text", report_text(report)));
    // Also without report_text(): reports must not rely on its escaping.
    out.push_back(printed(terminal.colour ? "colours-alone" : "text-alone", report));
  };
  const DriftReport drift = drift_from(next);
  text(drift_of_text(next(), drift, states_from(next), terminal));
  const Plan plan = plan_from(next);
  text(plan_text(plan, terminal) + plan_summary(plan) + "\n");
  PlanReport report;
  report.title = next();
  report.deletion_refused = next();
  report.deletion = {next(), {next(), next()}, {next()}};
  report.plan = plan;
  report.states = states_from(next);
  report.unmended = drift;
  report.unjudged.writer = next();
  OwedChange& owed = report.unjudged.left.emplace_back().owed;
  owed.begun = next();
  owed.author = next();
  WrittenEntry& left = report.left.emplace_back();
  left.device = next();
  left.object = next();
  text(plan_report_text(report, terminal));
  const Applied applied = applied_from(next, plan);
  text(apply_text(applied, plan, terminal, 2));
  text(step_line(plan.steps[0], applied.report.steps[0], terminal) + "\n" + step_begun_line(plan.steps[0]) +
       "\n" + phase_line(next()) + "\n" + gate_line(*applied.report.gate, terminal) + "\n");
  text(left_out_text(left_out_from(next, plan), plan, terminal));
  text(nothing_to_do_text(drift, next(), true, terminal) + nothing_to_do_text({}, next(), true, terminal));
  text(not_observed_line({next(), {next(), next()}}, terminal) + "\n");
  text(discovery_text(discovered_from(next), terminal));
  {
    std::vector<DiscoveredDevice> named = discovered_from(next);
    named[0].device = "gpu1";  // a device with another name would be left out as a whole
    out.push_back(printed("draft", discovery_draft(named, false)));
  }
  for (const DriftEntry& item : drift.items) text(watch_event_text({.item = item}, terminal));
  text(watch_event_text({.kind = WatchEvent::Kind::unreadable, .item = drift.items[0]}, terminal));
  text(stands_back_text({next(), next()}));
  text(watching_text(next(), terminal));
  const Picture picture = picture_from(next);
  text(topology_text(picture.catalog, picture.topology, terminal));
  text(comparison_text(comparison_from(next), terminal));
  text(history_text(next(), history_from(next), terminal));
  text(change_text(next(), change_from(next), terminal));
}

void add_formats(const Strings& next, std::vector<Json>& out) {
  const DriftReport report = drift_from(next);
  const auto fields = [&report] {
    Json all = Json::array();
    for (const DriftEntry& item : report.items)
      if (item.is_difference())
        all.push_back({{"device", printed("", item.device)["text"]},
                       {"have", printed("", have_text(item))["text"]},
                       {"sentence", printed("", drift_sentence(item))["text"]}});
    for (const Unobserved& one : report.unobserved)
      all.push_back({{"device", printed("", one.device + (one.path.empty() ? "" : " " + one.path))["text"]},
                     {"sentence", printed("", unobserved_sentence(one))["text"]}});
    return all;
  }();
  const std::string title = next();
  out.push_back(printed("markdown", drift_markdown(report, title), fields));
  out.push_back(printed("junit", drift_junit(report, title), fields));
  out.push_back(printed("sarif", drift_sarif(report), fields));
  out.push_back(printed("gitlab", drift_gitlab(report), fields));
  out.push_back(printed("github", drift_github(report), fields));
  out.push_back(printed("markdown", spec_diff_markdown(spec_diff_from(next)), Json::array()));
  const Picture picture = picture_from(next);
  TopologyMarks marks;
  marks.with_drift = marks.with_bench = true;
  marks.devices = {{0, {Mark::drifted}}, {1, {Mark::failed, Mark::suspect}}};
  marks.links = {{0, {Mark::suspect}}};
  marks.verdicts = {next()};
  out.push_back(printed("svg", topology_svg(next(), picture.catalog, picture.topology, {})));
  out.push_back(printed("svg", topology_svg(next(), picture.catalog, picture.topology, marks)));
  out.push_back(printed("html", page_from(next)));
  out.push_back(printed("dot", topology_dot(picture.catalog, picture.topology)));
  const Plan plan = plan_from(next);
  for (const Json& document :
       {drift_json(report), to_json(plan), discovery_json(discovered_from(next)),
        apply_json(applied_from(next, plan), plan, next(), left_out_json(left_out_from(next, plan), plan)),
        comparison_json(comparison_from(next)), history_json(next(), true, history_from(next)),
        change_json(next(), true, change_from(next))}) {
    out.push_back(printed("json", json_text(document, 2)));
    out.push_back(printed("yaml", yaml_text(document), out.back()["text"]));
  }
  out.push_back(printed("json", watch_event_json({.item = report.items[0]}, WallTime{})));
  out.push_back(printed("json", stands_back_json({next()})));
}

std::vector<Json> all_forms(const Strings& next) {
  std::vector<Json> out;
  for (const bool colour : {false, true}) {
    Terminal terminal;
    terminal.colour = colour;
    add_texts(next, terminal, out);
  }
  add_formats(next, out);
  return out;
}

TEST(HostileOutput, HasTheStructureOfHarmlessOutputInEveryFormat) {
  if (::access("/usr/bin/cmark-gfm", X_OK) != 0 || ::access("/usr/bin/python3", X_OK) != 0)
    LOCKSTEP_NOT_TESTED_BUT_ON_CI("needs cmark-gfm, python3 and python3-yaml");
  const char* const asked = std::getenv("LOCKSTEP_FUZZ_ROUNDS");
  const std::size_t rounds = asked != nullptr ? std::strtoul(asked, nullptr, 10) : 20;
  std::mt19937_64 random(20261123);
  std::string folder = std::filesystem::temp_directory_path() / "lockstep-output-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  constexpr std::size_t kRoundsAtOnce = 100;  // chosen so that the file for parse_output.py has about 100 MB
  for (std::size_t round = 0; round < rounds && !HasFailure(); round += kRoundsAtOnce) {
    const std::string file = folder + "/printed.jsonl";
    std::ofstream out(file);
    for (const Json& one : all_forms(harmless())) out << one.dump() << "\n";
    for (std::size_t i = round; i < std::min(rounds, round + kRoundsAtOnce); ++i) {
      out << Json{{"form", "round"}, {"round", i}}.dump() << "\n";
      for (const Json& one : all_forms(hostile(random))) out << one.dump() << "\n";
    }
    out.close();
    // Debian's own interpreter, which has python3-yaml.
    EXPECT_EQ(
        std::system(
            ("/usr/bin/python3 " LOCKSTEP_SOURCE_DIR "/tests/unit/report/parse_output.py " + file).c_str()),
        0);
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace lockstep
