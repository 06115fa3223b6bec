#include <stop_token>

#include "reconciler/cli/command_session.hpp"
#include "reconciler/cli/commands.hpp"
#include "reconciler/report/plan_text.hpp"
#include "reconciler/report/watch_report.hpp"

namespace lockstep {
namespace {

void print_event(const WatchEvent& event, const Console& console) {
  if (console.is_text())
    console.print(watch_event_text(event, console.out()));
  else
    console.print_format(watch_event_json(event));
}

void print_healing(const Healing& healing, const Console& console) {
  if (healing.no_plan)
    console.fail(*healing.no_plan);
  else if (console.is_text())
    console.print(healing_text(healing));
}

void print_standing_back(const std::vector<std::string>& devices, const Console& console) {
  if (console.is_text())
    console.print(stands_back_text(devices));
  else
    console.print_format(stands_back_json(devices));
}

}  // namespace

int run_watch(const WatchOptions& options, const Console& console) {
  const std::unique_ptr<CommandSession> command = CommandSession::open(options.source, console, "");
  if (!command) return kExitError;
  ClusterSession& session = **command;
  if (Result<Done> reached = reaches_any(session.fleet()); !reached) return console.fail(reached.error());
  if (console.is_text()) {
    console.print(watching_text(session.cluster().title(), console.out()));
    console.print(maintenance_text(session.in_maintenance(), console.out()));
    if (options.converge)
      console.print(not_converging_text(session.not_converging(), session.fleet().size()));
  }
  // A watch whose reader is gone ends as by Ctrl-C; a healing that has begun is finished first.
  std::stop_source ends;
  const std::stop_callback stopped(console.stop, [&ends] { ends.request_stop(); });
  const auto end_without_reader = [&] {
    if (console.reader_is_gone()) ends.request_stop();
  };
  end_without_reader();
  const Result<Done> ended = session.watch({.command = "lockstep watch --converge",
                                            .author = "lockstep watch",
                                            .converge = options.converge,
                                            .event =
                                                [&](const WatchEvent& event) {
                                                  print_event(event, console);
                                                  end_without_reader();
                                                },
                                            .healed =
                                                [&](const Healing& healing) {
                                                  print_healing(healing, console);
                                                  end_without_reader();
                                                },
                                            .stands_back =
                                                [&](const std::vector<std::string>& devices) {
                                                  print_standing_back(devices, console);
                                                  end_without_reader();
                                                },
                                            .stop = ends.get_token()});
  if (!ended && ended.error().kind != ErrorKind::cancelled) return console.fail(ended.error());
  return kExitInSync;
}

}  // namespace lockstep
