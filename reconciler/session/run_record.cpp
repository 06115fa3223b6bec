#include "reconciler/session/run_record.hpp"

#include <sys/utsname.h>

#include <algorithm>
#include <set>

#include "reconciler/store/utc_text.hpp"

namespace lockstep {
namespace {

RunFigure figure_of(const SuiteOutcome& suite, const BenchmarkOutcome& outcome, const bench::Measurement& one,
                    bool control) {
  RunFigure out;
  out.suite = *suite.suite->metadata.name;
  out.benchmark = *outcome.benchmark->name;
  out.workload = one.workload;
  out.metric = one.metric;
  out.unit = one.unit;
  out.transport = one.transport;
  out.from = one.from;
  out.to = one.to;
  out.group = one.group;
  out.bytes = one.bytes;
  out.control = control;
  out.seen = bench::summary_of(one.seen);
  out.nominal = one.nominal;
  if (one.cpu_ran > 0) out.cpu = one.cpu_ran;
  out.cpu_limited = one.cpu_limited;
  out.trouble = one.trouble;
  out.why = one.ok() ? one.cpu_limited ? one.cpu_limit() : "" : one.error;
  return out;
}

// "gpu1" in "gpu1:rail0".
std::string device_of(const std::string& endpoint) { return endpoint.substr(0, endpoint.find(':')); }

void add_crossed(const bench::Measurement& one, std::set<std::string>& devices) {
  constexpr std::string_view kTo = " -> ";
  for (const std::string* const end : {&one.from, &one.to})
    if (!end->empty()) devices.insert(device_of(*end));
  for (const std::string& rank : one.ranks) devices.insert(device_of(rank));
  for (const bench::CrossedLink& link : one.links) {
    const std::size_t between = link.name.find(kTo);
    if (between == link.name.npos) continue;
    devices.insert(device_of(link.name.substr(0, between)));
    devices.insert(device_of(link.name.substr(between + kTo.size())));
  }
}

std::string kernel_of_this_machine() {
  utsname kernel{};
  return ::uname(&kernel) == 0 ? std::string(kernel.sysname) + " " + kernel.release + " " + kernel.version
                               : "";
}

std::string drivers_of(const Fleet& fleet, std::size_t device) {
  std::string out;
  for (std::size_t i = 0; i < fleet[device].drivers.size(); ++i)
    if (const Traits* const traits = fleet.carriers(device).traits(i); traits != nullptr)
      out += (out.empty() ? "" : ", ") + traits->driver;
  return out;
}

RunPurpose purpose_of(GateQuestion::When when) {
  switch (when) {
    case GateQuestion::When::before: return RunPurpose::before;
    case GateQuestion::When::after: return RunPurpose::after;
    case GateQuestion::When::confirm: return RunPurpose::confirm;
    case GateQuestion::When::again: break;
  }
  return RunPurpose::again;
}

}  // namespace

void learn_devices(const Fleet& fleet, const std::vector<DeviceState>& states, RunDevices& known) {
  for (std::size_t i = 0; i < states.size(); ++i) {
    const DeviceState& state = states[i];
    if (!state.reachable && state.errors.empty()) continue;  // not observed
    known[state.device] = {state.device, state.reachable ? state.observation.boot_id : "",
                           drivers_of(fleet, i)};
  }
}

MeasuredRun run_of(const std::vector<SuiteOutcome>& outcomes, const std::vector<SuiteOutcome>& controls,
                   const MeasuredUnder& context) {
  MeasuredRun run;
  run.head.command = context.command;
  run.head.author = context.author;
  run.head.config_hash = context.config_hash;
  run.head.version = context.version;
  run.head.kernel = kernel_of_this_machine();
  const bench::Verdict verdict =
      measurements_in(outcomes) == 0 ? bench::Verdict::unknown : verdict_of(outcomes);
  run.head.verdict = std::string(to_string(verdict));
  std::set<std::string> devices;
  for (const std::vector<SuiteOutcome>* const all : {&outcomes, &controls})
    for (const SuiteOutcome& suite : *all)
      for (const BenchmarkOutcome& outcome : suite.benchmarks)
        for (const bench::Measurement& one : outcome.measurements) {
          run.figures.push_back(figure_of(suite, outcome, one, all == &controls));
          add_crossed(one, devices);
        }
  for (const std::string& name : devices) {
    const auto known = context.devices.find(name);
    run.devices.push_back(known == context.devices.end() ? RunDevice{name, "", ""} : known->second);
  }
  return run;
}

Result<Done> GateRecorder::try_record(RunPurpose purpose, MeasuredRun run, const FileLock& turn) const {
  if (!newest_) return newest_.error();
  TRY(const std::unique_ptr<Store> store, open_store(directory_, options_));
  // Only the leader begins changes meanwhile: this run's, and those that roll some of it back.
  TRY(const std::vector<ChangeRecord> changes, store->history().changes());
  run.head.purpose = purpose;
  run.head.change = judged_;
  run.head.under = changes.empty() ? 0 : changes.front().change;
  for (const ChangeRecord& one : changes)
    if (judged_ == 0 && one.change > *newest_) run.head.change = one.change;
  if (purpose == RunPurpose::before) run.head.under = *newest_;
  run.head.at = utc_text(options_.now());
  TRY_DONE(store->runs().record(turn, run));
  return Done{};
}

void GateRecorder::record(const GateQuestion& question, const std::vector<SuiteOutcome>& outcomes,
                          const std::vector<SuiteOutcome>& beside, const FileLock& turn) {
  if (measurements_in(outcomes) + measurements_in(beside) == 0) return;
  const RunPurpose purpose = purpose_of(question.when);
  const Result<Done> recorded = try_record(purpose, run_of(outcomes, beside, context_), turn);
  if (recorded) return;
  const std::scoped_lock lock(mutex_);
  notes_.push_back("what was measured (" + std::string(to_string(purpose)) +
                   ") is not recorded: " + recorded.error().text());
}

std::vector<std::string> GateRecorder::notes() const {
  const std::scoped_lock lock(mutex_);
  return notes_;
}

}  // namespace lockstep
