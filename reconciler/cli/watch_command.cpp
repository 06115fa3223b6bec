#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>

#include "reconciler/cli/command_session.hpp"
#include "reconciler/cli/commands.hpp"
#include "reconciler/report/plan_text.hpp"
#include "reconciler/report/problems.hpp"
#include "reconciler/report/watch_report.hpp"
#include "reconciler/session/specs_follower.hpp"
#include "specs/language/hostlist.hpp"

namespace lockstep {
namespace {

WallTime now() { return WallTime::clock::now(); }

void print_at_once(const std::string& text, const Console& console) {
  if (!text.empty()) console.print(clock_text(now(), console.out()) + text);
}

void print_event(const WatchEvent& event, const Console& console) {
  if (console.is_text())
    print_at_once(watch_event_text(event, console.out()), console);
  else
    console.print_format(watch_event_json(event, now()));
}

// Prints problems that explain other differences, each once while it lasts.
class ProblemPrinter {
 public:
  void operator()(const DriftReport& report, const Console& console) {
    std::set<std::string> shown;
    for (const ProblemLine& line : problem_lines(report)) {
      if (line.explains + line.unread == 0) continue;
      std::string key = fold_hostlist(line.devices) + ": " + line.what;
      if (!last_.contains(key)) {
        if (console.is_text())
          print_at_once(watch_problem_text(line, console.out()), console);
        else
          console.print_format(watch_problem_json(line, now()));
      }
      shown.insert(std::move(key));
    }
    last_ = std::move(shown);
  }

 private:
  std::set<std::string> last_;
};

// A repair that is held repeatedly, for the same reason, is reported once.
class HealingPrinter {
 public:
  void operator()(const Healing& healing, const Console& console) {
    if (healing.no_plan) return void(console.fail(*healing.no_plan));
    std::string text = healing_text(healing);
    const bool again = healing.report.count(StepState::done) == 0 && text == last_;
    last_ = std::move(text);
    if (again) return;
    if (console.is_text())
      print_at_once(last_, console);
    else
      console.print_format(healing_json(healing, now()));
  }

 private:
  std::string last_;
};

void print_standing_back(const std::vector<std::string>& devices, const Console& console) {
  if (console.is_text())
    print_at_once(stands_back_text(devices), console);
  else
    console.print_format(stands_back_json(devices));
}

bool are_same(const OpenedCluster& a, const OpenedCluster& b) {
  return to_text(a.lock) == to_text(b.lock) &&
         std::ranges::equal(
             a.catalog.sources.files, b.catalog.sources.files,
             [](const SourceFile& x, const SourceFile& y) { return x.name == y.name && x.text == y.text; });
}

// `lockstep watch`: one session after another, as the specs are edited.
class WatchRun {
 public:
  WatchRun(const WatchOptions& options, const Console& console) : options_(options), console_(console) {}
  int run();

 private:
  void print_head() const;
  WatchRequest request();
  EditedSpecs load_again(const std::string& seen);
  EditedSpecs load_later(const std::string& seen);
  EditedSpecs refuse();
  void end_without_reader() {
    if (console_.reader_is_gone()) ends_.request_stop();
  }

  const WatchOptions& options_;
  const Console& console_;
  std::stop_source ends_;
  std::string seen_;  // state of the specs in force, before they were loaded
  std::unique_ptr<CommandSession> session_;
  std::unique_ptr<CommandSession> next_;
  std::optional<OpenedCluster> refused_;  // specs with errors that were already reported
  // Specs that could not be opened, and the time of the next attempt.
  struct Postponed {
    std::string seen;
    Time next;
    std::chrono::seconds wait;
  };
  std::optional<Postponed> postponed_;
};

void WatchRun::print_head() const {
  const ClusterSession& session = **session_;
  if (!console_.is_text()) return;
  console_.print(watching_text(session.cluster().title(), console_.out()));
  console_.print(maintenance_text(session.in_maintenance(), console_.out()));
  if (options_.converge)
    console_.print(not_converging_text(session.not_converging(), session.fleet().size()));
}

WatchRequest WatchRun::request() {
  const std::vector<std::string>& specs = options_.source.specs;
  const auto printed = [this](auto print) {
    return [this, print](const auto& what) mutable {
      print(what, console_);
      end_without_reader();
    };
  };
  WatchRequest request{.command = "lockstep watch --converge",
                       .author = "lockstep watch",
                       .converge = options_.converge,
                       .event = printed(print_event),
                       .healed = printed(HealingPrinter()),
                       .problems = printed(ProblemPrinter()),
                       .stands_back = printed(print_standing_back),
                       .specs = specs,
                       .specs_seen = seen_,
                       .stop = ends_.get_token()};
  const bool is_input = std::ranges::find(specs, "-") != specs.end();
  if (!is_input) request.specs_changed = [this](const std::string& seen) { return load_again(seen); };
  return request;
}

// `taken`: a session with the current specs is ready. Else the specs loaded last stay in force.
EditedSpecs WatchRun::load_again(const std::string& seen) {
  if (postponed_ && postponed_->seen == seen && (*session_)->executor().now() < postponed_->next)
    return EditedSpecs::postponed;
  Result<OpenedCluster> cluster = load_cluster(options_.source);
  if (!cluster) {
    console_.fail(cluster.error());
    return cluster.error().kind == ErrorKind::invalid_spec ? refuse() : load_later(seen);
  }
  if (cluster->valid() && are_same(*cluster, (*session_)->cluster())) {
    refused_.reset();
    return EditedSpecs::left;
  }
  if (refused_ && are_same(*cluster, *refused_)) return EditedSpecs::left;
  if (const Result<Done> any = has_devices(*cluster); !cluster->valid() || !any) {
    if (cluster->valid())
      console_.fail(any.error());
    else if (console_.is_text())
      console_.fail(cluster->catalog.sources, cluster->diagnostics);
    else
      console_.print_format(specs_refused_json(cluster->catalog.sources, cluster->diagnostics));
    refused_ = *std::move(cluster);
    return refuse();
  }
  console_.warn(cluster->catalog.sources, cluster->diagnostics);
  next_ = CommandSession::open(*std::move(cluster), console_, "");
  if (!next_) return load_later(seen);
  seen_ = seen;
  end_without_reader();
  return EditedSpecs::taken;
}

EditedSpecs WatchRun::refuse() {
  if (console_.is_text()) console_.print(specs_refused_text());
  end_without_reader();
  return EditedSpecs::left;
}

EditedSpecs WatchRun::load_later(const std::string& seen) {
  // Chosen: a transient obstacle delays an edit by seconds, and a persistent one is reported once a minute.
  constexpr std::chrono::seconds kFirst{2};
  constexpr std::chrono::seconds kLongest{60};
  const bool again = postponed_ && postponed_->seen == seen;
  const auto wait = again ? std::min(2 * postponed_->wait, kLongest) : kFirst;
  postponed_ = Postponed{seen, (*session_)->executor().now() + wait, wait};
  refuse();
  return EditedSpecs::postponed;
}

// A watch without a reader ends as after Ctrl-C; a healing in progress is finished first.
int WatchRun::run() {
  const std::stop_callback stopped(console_.stop, [this] { ends_.request_stop(); });
  seen_ = specs_seen(options_.source.specs);
  session_ = CommandSession::open(options_.source, console_, "");
  if (!session_) return kExitError;
  if (Result<Done> reached = reaches_any((*session_)->fleet()); !reached)
    return console_.fail(reached.error());
  print_head();
  end_without_reader();
  for (;;) {
    const Result<Done> ended = (*session_)->watch(request());
    if (!ended && ended.error().kind != ErrorKind::cancelled) return console_.fail(ended.error());
    if (!next_ || ends_.stop_requested()) return kExitInSync;
    session_ = std::move(next_);
    refused_.reset();
    postponed_.reset();
    if (console_.is_text())
      console_.print(specs_loaded_text());
    else
      console_.print_format(specs_loaded_json());
  }
}

}  // namespace

int run_watch(const WatchOptions& options, const Console& console) {
  return WatchRun(options, console).run();
}

}  // namespace lockstep
