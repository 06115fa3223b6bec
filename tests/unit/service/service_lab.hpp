// A service over a cluster of simulated devices, in virtual time: the specs are files that the test edits, as
// commits of a scripted source; everything after the source is real.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "reconciler/service/service_loop.hpp"
#include "reconciler/session/identity.hpp"
#include "tests/plain_folder.hpp"
#include "tests/unit/session/lab.hpp"

namespace lockstep {

// A source whose newest revision, or trouble, is what the test says.
class ScriptedSource final : public Source {
 public:
  explicit ScriptedSource(const TemporaryFolder& folder) : folder_(folder) {}

  // Files by name; "fabric.yaml".
  void commit(const std::string& id, std::map<std::string, std::string> files) {
    trouble.reset();
    newest_ = id;
    if (made_.contains(id)) return;
    for (const auto& [name, text] : files) folder_.write("commits/" + id + "/" + name, text);
    made_.insert(id);
  }
  std::variant<Revision, SourceError> fetch(const Call&) override {
    ++fetches;
    if (trouble) return *trouble;
    Revision out{.id = newest_, .author = "Ada <ada@example.org>", .subject = "commit " + newest_};
    out.folder = std::make_shared<PlainFolder>(folder_.path() + "/commits/" + newest_);
    return out;
  }
  std::string title() const override { return "scripted"; }

  std::optional<SourceError> trouble{};
  int fetches = 0;

 private:
  const TemporaryFolder& folder_;
  std::set<std::string> made_;
  std::string newest_;
};

// Outlives the executor of the lab.
struct OutlivesTheLab {
  RetiredSessions retired;
};

class ServiceLab : public OutlivesTheLab, public Lab {
 protected:
  ServiceLab() {
    executor.wall_epoch = WallTime(std::chrono::hours(24 * 365 * 56));
    // The cluster's UUID, as `lockstep lock` writes it.
    Result<OpenedCluster> cluster = load_cluster({.specs = {folder.path() + "/specs"}});
    if (!cluster) throw std::runtime_error(cluster.error().text());
    if (!settle_identity(*cluster, "lockstep lock", executor.wall_time()) || !write_numbers(*cluster))
      throw std::runtime_error("no numbers");
    std::ifstream file(folder.path() + "/specs/allocations.lock");
    lock_ = std::string(std::istreambuf_iterator<char>(file), {});
    start_service();
  }
  ~ServiceLab() override {
    if (HasFailure() && service) ADD_FAILURE() << told();
    kill();
  }

  void start_service() {
    specs = make_specs_feed(std::make_unique<Line>(source), {.keeps = folder.path() + "/keeps"});
    ServiceSettings settings;
    settings.version = version;
    ServiceSeams seams{.drivers = drivers, .executor = executor, .specs = *specs, .retired = retired};
    seams.directory = state();
    seams.measurer = own_measurer != nullptr ? own_measurer : measures ? &measurer : nullptr;
    seams.traffic = [this](const auto& plan, const auto& ends) { return traffic(plan, ends); };
    seams.event = [this](const ServiceEvent& event) {
      events.push_back(event);
      if (on_event) on_event(event);
    };
    service = std::make_unique<ServiceLoop>(std::move(seams), std::move(settings));
    service->start([this](const Result<Done>&) { ended = true; });
  }
  // As kill -9 does: nothing is given up in order.
  void kill() { service.reset(); }
  // With another judge than the lab's.
  void start_over_with(Measurer& judge) {
    run_for(std::chrono::seconds(1));  // nothing of the first service is under way
    kill();
    own_measurer = &judge;
    start_service();
  }
  // gpu1 is written and judged before gpu2.
  static std::map<std::string, std::string> in_turn() {
    return {{"policy.yaml",
             "apiVersion: lockstep.dev/v1alpha1\nkind: RolloutPolicy\nmetadata: {name: in-turn}\n"
             "spec: {selector: {}, unit: device, waves: [\"1\", \"100%\"]}\n"}};
  }

  // The hosts' profile with this value of the sysctl, and what else the test says.
  std::map<std::string, std::string> files(int probing, std::map<std::string, std::string> more = {}) const {
    std::string profile = kProfile;
    profile.replace(profile.find("probing: 0"), 10, "probing: " + std::to_string(probing));
    std::map<std::string, std::string> out{{"devices.yaml", kDevices},
                                           {"hosts.yaml", profile},
                                           {"slo.yaml", kSuite},
                                           {"allocations.lock", lock_}};
    for (auto& [name, text] : more) out[name] = std::move(text);
    return out;
  }
  void commit(const std::string& id, int probing, std::map<std::string, std::string> more = {}) {
    source->commit(id, files(probing, std::move(more)));
    service->fetch_now();
  }
  Value probing(const std::string& device) { return at(device, "sysctl[net.ipv4.tcp_mtu_probing]"); }
  void expect_probing(int value) {
    for (const char* const device : {"gpu1", "gpu2"})
      EXPECT_EQ(probing(device), Value::text(std::to_string(value))) << device;
  }
  // The devices, of a cluster in which nothing is healed.
  static std::string observed_only() {
    std::string out = kDevices;
    return out.replace(out.find("mode: converge"), 14, "mode: observe");
  }
  // On three of three devices: more than the circuit breaker admits.
  void drift_everywhere() {
    for (const char* const device : {"gpu1", "gpu2"})
      devices.at(device)->set(*Path::parse("sysctl[net.ipv4.tcp_mtu_probing]"), Value::text("1"));
    devices.at("leaf0")->set(*Path::parse("interface[swp1]/mtu"), Value::integer(1500));
  }
  Revisions::Shown shown(const std::string& source) const {
    for (const RevisionStatus& one : service->status()->revisions)
      if (one.shown.revision.source == source) return one.shown;
    throw std::runtime_error("no revision " + source);
  }
  RevisionState state_of(const std::string& source) const { return shown(source).state; }
  std::string good() const {
    const auto id = service->status()->last_good;
    return id ? id->source : "";
  }
  // Of the changes in the journal, oldest first.
  std::vector<std::string> reasons() const {
    std::vector<std::string> out;
    const auto store = open_store(state());
    const Result<std::vector<ChangeRecord>> all = (*store)->history().changes(100);
    for (const ChangeRecord& one : *all) out.insert(out.begin(), one.reason);
    return out;
  }
  std::size_t count(ServiceEvent::Kind kind) const {
    return static_cast<std::size_t>(std::ranges::count(events, kind, &ServiceEvent::kind));
  }
  // For a failed test: what happened, and how it stands.
  std::string told() const {
    std::string out;
    for (const ServiceEvent& one : events)
      out += std::string(to_string(one.kind)) + " " + one.object + " " + one.message + "\n";
    const auto status = service->status();
    for (const RevisionStatus& one : status->revisions)
      out += one.shown.revision.source + " " + std::string(to_string(one.shown.state)) + " " + one.shown.why +
             "\n";
    return out + "not run: " + status->why_not_run + "; not led: " + status->why_not_leads +
           "; record: " + status->record_trouble + "; breaker: " + status->breaker + "\n";
  }
  SpokenBy ann{.who = "operator ann", .reason = "reviewed"};

  std::string version = "1";
  bool measures = true;
  Measurer* own_measurer = nullptr;  // in place of the lab's
  bool ended = false;
  std::vector<ServiceEvent> events;
  std::function<void(const ServiceEvent&)> on_event;
  const std::shared_ptr<ScriptedSource> source = std::make_shared<ScriptedSource>(folder);
  std::unique_ptr<SpecsFeed> specs;
  std::unique_ptr<ServiceLoop> service;

 private:
  // To the source, which outlives the service.
  class Line final : public Source {
   public:
    explicit Line(std::shared_ptr<ScriptedSource> to) : to_(std::move(to)) {}
    std::variant<Revision, SourceError> fetch(const Call& call) override { return to_->fetch(call); }
    std::string title() const override { return to_->title(); }

   private:
    std::shared_ptr<ScriptedSource> to_;
  };
  std::string lock_;
};

}  // namespace lockstep
