// `lockstep serve`: the service of one cluster, until SIGTERM or Ctrl-C; SIGHUP looks at everything at once.
#include <sys/random.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "drivers/posix/wake_descriptor.hpp"
#include "drivers/runtime/pump.hpp"
#include "drivers/runtime/real_executor.hpp"
#include "reconciler/alerts/alert_sender.hpp"
#include "reconciler/api/service_api.hpp"
#include "reconciler/cli/commands.hpp"
#include "reconciler/cli/plan_proposal.hpp"
#include "reconciler/cli/program_drivers.hpp"
#include "reconciler/cli/systemd.hpp"
#include "reconciler/cli/version.hpp"
#include "reconciler/engine/digest.hpp"
#include "reconciler/metrics/service_metrics.hpp"
#include "reconciler/report/escape.hpp"
#include "reconciler/report/journal_fields.hpp"
#include "reconciler/report/service_report.hpp"
#include "reconciler/service/service_config.hpp"
#include "reconciler/service/service_loop.hpp"
#include "specs/files/absolute_path.hpp"
#include "specs/files/own_folder.hpp"
#include "specs/language/words.hpp"

namespace lockstep {
namespace {

// Between two looks at how late the engine is: a choice, as often as systemd is told.
constexpr std::chrono::seconds kLagPause{1};

// A handler may only write to a descriptor (signal-safety(7)).
int g_hang_up = -1;

void on_hang_up(int) {
  constexpr std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(g_hang_up, &one, sizeof one);
}

// The folder of this user alone for a source's files: what systemd names, else below the states.
std::string serve_folder(const char* variable, const std::string& title) {
  Digest digest;
  digest.add(title);
  const std::string name = digest.finish().substr(7, 16);  // without "sha256:"
  const char* const named = std::getenv(variable);
  return (named != nullptr && *named != '\0' ? std::string(named) : state_top() + "/serve") + "/" + name;
}

Result<ServiceConfig> config_of(const ServeOptions& options) {
  if (!options.config.empty()) return read_service_config(options.config);
  if (options.source.twin || options.has_specs) {
    ServiceConfig out;
    out.folder = absolute_path(options.source.specs.front());
    out.interval = std::chrono::seconds(2);  // a folder on this machine costs little to look at
    return out;
  }
  return read_service_config(kServiceConfigFile);
}

std::string title_of(const ServiceConfig& config) {
  return config.git ? config.git->address + " " + config.git->reference.name + " " + config.git->path
                    : config.folder;
}

Result<std::unique_ptr<Source>> source_of(const ServiceConfig& config) {
  const std::string cache = serve_folder("CACHE_DIRECTORY", title_of(config)) + "/cache";
  if (!config.git) return make_folder_source({.folder = config.folder, .cache = cache});
  GitSettings settings = *config.git;
  settings.cache = cache;
  return make_git_source(std::move(settings));
}

api::ServerSettings api_settings(const ServiceConfig& config) {
  api::ServerSettings out;
  out.listen = config.api.listen;
  out.cluster = config.api.cluster;
  out.tls = config.api.tls;
  out.tokens = config.api.tokens;
  out.audit = config.api.audit.empty() ? serve_folder("STATE_DIRECTORY", title_of(config)) + "/audit.jsonl"
                                       : config.api.audit;
  for (const auto& [forge, file] : config.api.webhooks)
    out.webhook_secrets[*spelled<api::Forge>(forge)] = file;
  return out;
}

AlertReceivers receivers_of(const ServiceConfig::Alerts& config) {
  AlertReceivers out{.alertmanagers = config.alertmanagers, .ca_file = config.ca};
  if (!config.webhook.empty()) out.webhook = AlertReceivers::Webhook{config.webhook, config.secret};
  out.after = config.after.value_or(kAlertAfter);
  return out;
}

class Serving {
 public:
  Serving(const ServeOptions& options, ServiceConfig config, std::vector<api::GivenSocket> sockets,
          const Console& console)
      : options_(options),
        config_(std::move(config)),
        sockets_(std::move(sockets)),
        console_(console),
        aim_{.twin = options.source.twin,
             .stands_for = options.source.twin ? absolute_path(options.source.specs.front()) : "",
             .max_entries = options.source.max_entries,
             .keeps = serve_folder("STATE_DIRECTORY", title_of(config_))} {}
  int run();

 private:
  void happened(const ServiceEvent& event);
  void tell_systemd();
  void measure_lag(Time due);
  Result<Done> watch_signals();
  Result<Done> listen();
  Result<Done> tell_alerts();

  const ServeOptions& options_;
  const ServiceConfig config_;
  const std::vector<api::GivenSocket> sockets_;
  const Console& console_;
  const bool journal_ = leads_to_journal(STDOUT_FILENO);
  const DriverTable drivers_ = driver_table();
  ServiceMetrics metrics_{LOCKSTEP_VERSION, std::string(build_commit())};
  const SpecsAim aim_;
  std::unique_ptr<SpecsFeed> specs_;
  WakeDescriptor hang_up_;
  RetiredSessions retired_;  // outlives the executor
  RealExecutor executor_;
  std::unique_ptr<ServiceLoop> loop_;
  std::unique_ptr<api::ServiceApi> api_;  // ends before the loop
  std::unique_ptr<AlertSender> alerts_;   // so does this
  std::string status_;
  std::chrono::microseconds watchdog_{0};  // 0: systemd does not ask for it
};

void Serving::happened(const ServiceEvent& event) {
  metrics_.happened(event);
  if (api_) api_->happened(event);
  if (!console_.is_text())
    console_.print_format(service_event_json(event).dump() + "\n");
  else if (!journal_ || !tell_journal(journal_fields(event)))
    console_.print(service_event_text(event, console_.out()));
}

// Fed by this thread alone, which every decision and every answer needs.
void Serving::tell_systemd() {
  const std::string status = service_status_line(*loop_->status());
  if (status != status_) ::sd_notify(0, ("STATUS=" + status).c_str());
  status_ = status;
  if (watchdog_.count() > 0) ::sd_notify(0, "WATCHDOG=1");
  const auto often = std::chrono::microseconds(1'000'000);
  const auto wait = watchdog_.count() > 0 ? std::min(watchdog_ / 3, often) : often;
  executor_.at(executor_.now() + wait, [this] { tell_systemd(); });
}

void Serving::measure_lag(Time due) {
  metrics_.engine_was_late(executor_.now() - due);
  const Time next = executor_.now() + kLagPause;
  executor_.at(next, [this, next] { measure_lag(next); });
}

Result<Done> Serving::watch_signals() {
  if (hang_up_.error() != 0) return Error{ErrorKind::refused, "no descriptor is available"};
  g_hang_up = hang_up_.number();
  std::signal(SIGHUP, on_hang_up);
  TRY_DONE(executor_.watch(hang_up_.number(), [this] {
    hang_up_.clear();
    loop_->reconcile_now();
  }));
  if (console_.stop_fd < 0) return Done{};
  return executor_.watch(console_.stop_fd, [this] {
    executor_.forget(console_.stop_fd);
    ::sd_notify(0, "STOPPING=1");
    loop_->stop();
  });
}

Result<Done> Serving::listen() {
  TRY_DONE(make_private_folder(serve_folder("STATE_DIRECTORY", title_of(config_))));
  api::ServerSettings settings = api_settings(config_);
  settings.given = sockets_;
  settings.metrics = &metrics_;
  settings.planner = make_planner(aim_, serve_folder("CACHE_DIRECTORY", title_of(config_)) + "/proposed");
  settings.log = [](const std::string& line) { std::fputs(report_text(line + "\n").c_str(), stderr); };
  TRY(api_,
      api::ServiceApi::start(std::move(settings), {.proof_lifetime = 2 * config_.resync}, executor_, *loop_));
  return Done{};
}

Result<Done> Serving::tell_alerts() {
  if (!config_.alerts) return Done{};
  TRY(alerts_,
      AlertSender::start(
          receivers_of(*config_.alerts),
          {.status = [this] { return loop_->status(); },
           .log = [](const std::string& line) { std::fputs(report_text(line + "\n").c_str(), stderr); },
           .metrics = metrics_}));
  return Done{};
}

int Serving::run() {
  Result<std::unique_ptr<Source>> source = source_of(config_);
  if (!source) return console_.fail(source.error());
  specs_ = make_specs_feed(*std::move(source), aim_);
  ServiceSettings settings;
  settings.version = LOCKSTEP_VERSION;
  settings.measures = config_.measure && !options_.no_measure;
  settings.strict = config_.strict;
  settings.fetch_every = config_.interval;
  settings.resync_every = config_.resync;
  ServiceSeams seams{.drivers = drivers_, .executor = executor_, .specs = *specs_, .retired = retired_};
  seams.first_hops = first_hops_here();
  seams.event = [this](const ServiceEvent& event) { happened(event); };
  // Of jitter alone: any value will do.
  [[maybe_unused]] const ssize_t random = ::getrandom(&seams.seed, sizeof seams.seed, GRND_NONBLOCK);
  loop_ = std::make_unique<ServiceLoop>(std::move(seams), std::move(settings));
  if (const Result<Done> watched = watch_signals(); !watched) return console_.fail(watched.error());
  if (const Result<Done> listens = listen(); !listens) return console_.fail(listens.error());
  if (const Result<Done> tells = tell_alerts(); !tells) return console_.fail(tells.error());
  std::uint64_t usec = 0;
  if (::sd_watchdog_enabled(0, &usec) > 0) watchdog_ = std::chrono::microseconds(usec);
  if (console_.is_text()) console_.print(serving_text(specs_->title(), console_.out()));
  ::sd_notify(0, "READY=1");
  tell_systemd();
  measure_lag(executor_.now());
  const Result<Done> ended = pump(executor_, *loop_);
  executor_.forget(hang_up_.number());
  alerts_.reset();
  api_.reset();
  loop_.reset();
  return ended ? kExitInSync : console_.fail(ended.error());
}

}  // namespace

int run_serve(const ServeOptions& options, const Console& console) {
  allow_many_files();
  Result<std::vector<api::GivenSocket>> sockets = given_sockets();
  if (!sockets) return console.fail(sockets.error());
  Result<ServiceConfig> config = config_of(options);
  if (!config && console.is_text() && config.error().what.find('\n') != std::string::npos) {
    std::fputs(report_text(config.error().what).c_str(), stderr);  // excerpts, already fit to be shown
    return kExitError;
  }
  if (!config) return console.fail(config.error());
  if (!options.listen.empty()) config->api.listen = options.listen;
  return Serving(options, *std::move(config), *std::move(sockets), console).run();
}

}  // namespace lockstep
