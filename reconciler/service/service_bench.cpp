// What the service measures by the clock: `onSchedule` of the suites in force.
#include <fmt/format.h>

#include <utility>

#include "reconciler/service/service_loop.hpp"
#include "reconciler/session/cluster_watch.hpp"

namespace lockstep {

bool ServiceLoop::may_measure() const {
  return settings_.measures && may_write() && !bench_ && doing_ == Doing::nothing && watch_ &&
         !watch_stops_ && !watch_->is_healing();
}

void ServiceLoop::keep_measuring() {
  if (!may_measure()) return;
  if (record_.clock.take(schedules_in(watched_->session->cluster().catalog), now())) unsaved_ = true;
  if (const std::optional<SuiteSchedule> due = record_.clock.due(now())) return measure(*due);
  if (const std::optional<WallTime> next = record_.clock.next(now()))
    at(bench_timer_, with_jitter(std::chrono::ceil<std::chrono::milliseconds>(*next - now())),
       &ServiceLoop::turn);
}

void ServiceLoop::measure(const SuiteSchedule& schedule) {
  ScheduledBench request{.command = settings_.command,
                         .author = settings_.command,
                         .suite = schedule.suite,
                         .budget = schedule.budget,
                         .at_busy_hosts = schedule.at_busy_hosts};
  for (const auto& [device, by] : record_.cordoned) request.left_out.insert(device);
  bench_ = Bench{schedule, seams_.executor.now(), watched_->session->make_bench(std::move(request))};
  bench_->run->start([this](Result<ScheduledRun> run) {
    seams_.executor.defer(callbacks_.bind([this, run = std::move(run)] { measured(run); }));
  });
}

void ServiceLoop::stop_measuring(const std::string& why) {
  if (!bench_) return;
  if (bench_->why_stopped.empty()) bench_->why_stopped = why;
  bench_->run->stop();
}

void ServiceLoop::measured(const Result<ScheduledRun>& run) {
  const Bench bench = *std::move(bench_);
  bench_.reset();
  unsaved_ = true;
  note_measured(bench, run);
  resign_if_suspended();
  turn_soon();
}

void ServiceLoop::note_measured(const Bench& bench, const Result<ScheduledRun>& run) {
  const std::string& suite = bench.schedule.suite;
  const std::string object = "ValidationSuite/" + suite;
  const WallTime began =
      now() - std::chrono::duration_cast<WallTime::duration>(seams_.executor.now() - bench.began);
  if (!run || !run->why_not.empty()) {
    std::string why = run ? run->why_not : run.error().text();
    const bool counts = run && run->out_of_time;
    if (!counts && !bench.why_stopped.empty()) why = bench.why_stopped;
    const std::string told = record_.clock.times_of(suite).why_not;
    record_.clock.not_judged(suite, began, now(), why, counts);
    if (told != why) happened(ServiceEvent::Kind::not_measured, object, why);
    return;
  }
  const bench::Verdict verdict = verdict_of(run->outcomes);
  SuiteResult last{.at = now(), .verdict = verdict, .message = verdict_sentence(run->outcomes)};
  if (const std::string left_out = left_out_sentence(run->outcomes); !left_out.empty())
    last.message += "; " + left_out;
  if (run->recorded && *run->recorded) last.run = **run->recorded;
  if (run->recorded && !*run->recorded) last.message += "; not recorded: " + run->recorded->error().text();
  happened(verdict == bench::Verdict::fail ? ServiceEvent::Kind::slo_broken : ServiceEvent::Kind::measured,
           object, last.message);
  record_.clock.judged(suite, began, std::move(last));
}

std::vector<ScheduleStatus> ServiceLoop::schedules_shown() const {
  std::vector<ScheduleStatus> out;
  for (const SuiteSchedule& one : record_.clock.schedules()) {
    const SuiteTimes& times = record_.clock.times_of(one.suite);
    out.push_back({.schedule = one,
                   .due = record_.clock.next_of(one.suite).value_or(WallTime()),
                   .last = times.last,
                   .why_not = times.why_not,
                   .runs = bench_ && bench_->schedule.suite == one.suite});
  }
  return out;
}

}  // namespace lockstep
