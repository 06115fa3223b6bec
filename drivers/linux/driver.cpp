#include "drivers/linux/driver.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <deque>
#include <mutex>
#include <set>

#include "drivers/linux/apply_order.hpp"
#include "drivers/linux/capabilities.hpp"
#include "drivers/linux/connected_route_remedy.hpp"
#include "drivers/linux/host/machine_facts.hpp"
#include "drivers/linux/known_lacks.hpp"
#include "drivers/linux/lldp.hpp"
#include "drivers/linux/lldp_remedy.hpp"
#include "drivers/linux/map.hpp"
#include "drivers/linux/part.hpp"
#include "drivers/linux/queueing/carrier.hpp"
#include "drivers/linux/remedies.hpp"
#include "drivers/linux/usage.hpp"
#include "drivers/linux/watch.hpp"
#include "drivers/posix/in_namespace.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

// FNV-1a, 64 bits (http://www.isthe.com/chongo/tech/comp/fnv/): a token, not protection against an adversary.
class RevisionHash {
 public:
  void add(std::string_view text) {
    for (const char one : text) step(static_cast<unsigned char>(one));
    step(0);
  }
  std::string text() const {
    char room[16];
    const auto end = std::to_chars(room, room + sizeof(room), state_, 16).ptr;
    return std::string(room, end);
  }

 private:
  void step(unsigned char one) {
    state_ ^= one;
    state_ *= 0x100000001B3ULL;
  }
  std::uint64_t state_ = 0xCBF29CE484222325ULL;
};

// "CONFIG.EFFECT": a guard compares the first half only, as routing changes effects without any configuration
// change.
std::string revision_of(const Tree& tree) {
  RevisionHash config;
  RevisionHash effect;
  for (const Entry& entry : tree.entries()) {
    RevisionHash& of = schema_row(entry.path.row()).facet == Facet::effect ? effect : config;
    of.add(entry.path.text());
    of.add(entry.value.to_string());
  }
  return config.text() + "." + effect.text();
}

std::string_view config_half(std::string_view revision) { return revision.substr(0, revision.find('.')); }

// Kernel parameters outside net.* belong to the whole machine: a namespace shares them (namespaces(7)), so a
// device that is only a namespace neither has nor may change them. Empty: it may.
std::string why_not_sysctl(const LinuxTarget& target, std::string_view name) {
  if (target.netns_path.empty() || name.starts_with("net.")) return {};
  return "host-wide kernel parameter: a network namespace has none of its own";
}

using PartOfRow = std::map<RowId, LinuxPart*>;

LinuxPart* part_of(const PartOfRow& parts, const Change& change) {
  const auto found = parts.find(change.path.row());
  return found == parts.end() ? nullptr : found->second;
}

// Adds rows without duplicates: a part may implement a row that the driver itself implements on other
// machines (a port's traffic classes).
void add_rows(std::vector<RowId>& to, const std::vector<RowId>& rows) {
  for (const RowId one : rows)
    if (std::find(to.begin(), to.end(), one) == to.end()) to.push_back(one);
}

Traits traits_of(const LinuxTarget& target, const LinuxParts& parts) {
  Traits out;
  out.driver = "linux";
  out.reads = linux_map::rows_read();
  out.writes = linux_map::rows_written();
  for (const auto& part : parts) {
    add_rows(out.reads, part->reads());
    add_rows(out.writes, part->writes());
  }
  if (!target.lldpd_socket.empty()) add_rows(out.reads, linux_map::lldp_rows());
  return out;
}

// A revision covers only what its observation requested.
struct ReadScope {
  std::string revision;
  Scope scope;
};
// Arbitrary: a step observes before it writes, while a watch and a user may observe with other scopes.
constexpr std::size_t kScopesKept = 8;

class LinuxDriver : public Driver, public Preview, public Recall {
 public:
  explicit LinuxDriver(LinuxTarget target)
      : target_(std::move(target)),
        parts_(linux_parts(target_)),
        traits_(traits_of(target_, parts_)),
        lacks_(target_, parts_, traits_.reads),
        usage_(target_),
        lldp_remedy_(target_.restart_lldpd),
        connected_route_remedy_(target_.netns_path) {
    remedies_.add(&lldp_remedy_);
    remedies_.add(&connected_route_remedy_);
    for (const auto& part : parts_) remedies_.add(part->remedy());
    for (const auto& part : parts_)
      for (const RowId row : part->reads()) part_of_.emplace(row, part.get());
  }

  Result<Traits> traits(const Call& call) override;
  Result<Observation> observe(const Scope& scope, std::string_view if_not, const Call& call) override;
  Result<Receipt> apply(const ChangeSet& changes, const Guard& guard, const Call& call) override;
  Result<Done> settle(std::string_view ticket, Settlement settlement, const Call& call) override;
  std::vector<std::string> native(const ChangeSet& changes) const override;
  void recall(const Observation& observation, const Scope& scope) override {
    if (scope.wants(linux_map::kAddress) && scope.wants(linux_map::kAdmin))
      connected_route_remedy_.remember(observation.have);
  }
  const LinuxTarget& target() const { return target_; }
  Remedy* remedy() { return &remedies_; }
  Usage* usage() { return &usage_; }

 private:
  void remember(const std::string& revision, const Scope& scope);
  Scope scope_of(std::string_view revision);
  Result<Done> admit(const Guard& guard, const Call& call);
  void drop_foreign_schedulers(HostState& state, const Scope& scope, std::vector<Unread>& unread,
                               const Call& call) const;
  void tell_lacks(const Scope& scope, const HostState& state, const Call& call, Observation& out);

  const LinuxTarget target_;
  const LinuxParts parts_;
  const Traits traits_;
  KnownLacks lacks_;
  PartOfRow part_of_;
  LinuxUsage usage_;
  LldpRemedy lldp_remedy_;
  ConnectedRouteRemedy connected_route_remedy_;
  LinuxRemedies remedies_;
  std::atomic<std::uint64_t> epoch_{0};
  std::mutex mutex_;              // guards what follows
  std::deque<ReadScope> scopes_;  // of the newest revisions, newest first
};

Result<Traits> LinuxDriver::traits(const Call& call) {
  if (auto ended = call.why_ended(std::chrono::steady_clock::now()))
    return wrap(target_.device, *std::move(ended));
  return traits_;
}

// Missing ports are reported first: rows that the kernel does not support are reported for them as well.
void LinuxDriver::tell_lacks(const Scope& scope, const HostState& state, const Call& call, Observation& out) {
  out.incapable = absent_ports(scope, state.network.links, traits_.reads);
  Lacks lacks = lacks_.of(scope, out.boot_id, state.network.links, call);
  for (Incapable& one : lacks.known) out.incapable.push_back(std::move(one));
  for (const RowId row : lacks.unknown)
    out.unread.push_back(
        {row,
         {},
         Error{ErrorKind::transient, "not known yet whether it can be applied here: no answer in time"}});
  if (!scope.wants(linux_map::kSysctl)) return;
  for (const std::string& name : scope.names(linux_map::kSysctl)) {
    const auto read = state.sysctls.find(name);
    if (read != state.sysctls.end() && !read->second && read->second.error().kind == ErrorKind::unsupported)
      out.incapable.push_back({linux_map::kSysctl, {name}, read->second.error().what});
    if (std::string why = why_not_sysctl(target_, name); !why.empty())
      out.incapable.push_back({linux_map::kSysctl, {name}, std::move(why)});
  }
}

// On ports with a speed of their own, only mqprio can be Lockstep's.
void LinuxDriver::drop_foreign_schedulers(HostState& state, const Scope& scope, std::vector<Unread>& unread,
                                          const Call& call) const {
  std::erase_if(state.queueing, [](const auto& port) { return !port.second.root->mqprio; });
  if (state.queueing.empty()) return;
  const MqprioPorts carried = mqprio_ports(state.network.links, target_.root, call);
  for (const Link& port : state.network.links) {
    const auto found = carried.find(port.index);
    if (found != carried.end() && found->second) continue;
    if (state.queueing.erase(port.index) > 0 && found != carried.end())
      linux_map::classes_unread(port.name, found->second.error(), scope, unread);
  }
}

Result<Observation> LinuxDriver::observe(const Scope& scope, std::string_view if_not, const Call& call) {
  if (call.stop.stop_requested()) return Error{ErrorKind::cancelled, target_.device + ": asked to stop"};
  const std::set<std::string> named = scope.names(linux_map::kSysctl);
  SysctlNames names;
  if (scope.wants(linux_map::kSysctl))
    names = [&](const NetworkState& network) { return linux_map::sysctl_names(network, named); };
  std::optional<Result<HostState>> state;
  TreeBuilder tree;
  Observation out;
  out.device = target_.device;
  out.when = std::chrono::steady_clock::now();
  TRY_DONE(in_namespace(target_.netns_path, [&] {
    out.boot_id = boot_id();
    state.emplace(read_host(linux_map::wanted_for(scope), names, call));
    if (!*state) return;
    if (!target_.software_rate) drop_foreign_schedulers(**state, scope, out.unread, call);
    for (const auto& part : parts_) part->read(scope, (*state)->network.links, tree, out.unread, call);
    tell_lacks(scope, **state, call, out);
  }));
  if (!*state) return wrap(target_.device, state->error());
  if (linux_map::wanted_for(scope).network.addresses) connected_route_remedy_.remember((*state)->network);
  linux_map::entries(**state, scope, named, tree, out.unread);
  out.notes = linux_map::marker_notes(**state);
  out.facts = machine_facts(HostFiles(target_.root), !target_.netns_path.empty() && target_.root == "/");
  for (const auto& part : parts_)
    for (std::string& note : part->notes()) out.notes.push_back(std::move(note));
  if (!target_.lldpd_socket.empty() && linux_map::wants_lldp(scope))
    linux_map::lldp_entries(read_lldpd(target_.lldpd_socket, call), (*state)->network, scope, tree,
                            out.unread);
  out.have = tree.build();
  out.revision = revision_of(out.have);
  remember(out.revision, scope);
  if (!if_not.empty() && if_not == out.revision) out.have = Tree();
  return out;
}

void LinuxDriver::remember(const std::string& revision, const Scope& scope) {
  const std::lock_guard lock(mutex_);
  std::erase_if(scopes_, [&](const ReadScope& one) { return one.revision == revision; });
  scopes_.push_front({revision, scope});
  if (scopes_.size() > kScopesKept) scopes_.pop_back();
}

// The scope that the revision covers. A revision that is no longer known is compared with the whole device: a
// conflict, after which the caller observes again.
Scope LinuxDriver::scope_of(std::string_view revision) {
  const std::lock_guard lock(mutex_);
  for (const ReadScope& one : scopes_)
    if (one.revision == revision) return one.scope;
  return {};
}

Result<Done> LinuxDriver::admit(const Guard& guard, const Call& call) {
  std::uint64_t known = epoch_.load();
  do {
    if (guard.epoch < known)
      return Error{ErrorKind::denied, target_.device + ": epoch " + std::to_string(guard.epoch) +
                                          " is over, a newer leader has been here"};
  } while (!epoch_.compare_exchange_weak(known, guard.epoch));
  if (guard.undo_after)
    return Error{ErrorKind::unsupported, target_.device + ": the kernel can't roll back by itself"};
  if (guard.revision.empty()) return Done{};
  TRY(const Observation now, observe(scope_of(guard.revision), {}, call));
  if (config_half(now.revision) != config_half(guard.revision))
    return Error{ErrorKind::conflict, target_.device + " has changed since it was read"};
  return Done{};
}

// One apply in its namespace; keeps track of the changes that were made together with the first of their
// group.
class NamespaceApply {
 public:
  NamespaceApply(const LinuxTarget& target, const PartOfRow& parts, const ChangeSet& changes,
                 const Call& call)
      : target_(target),
        parts_(parts),
        changes_(changes),
        call_(call),
        outcomes_(changes.size()),
        done_(changes.size()) {}

  void run() {
    auto session = Session::open(call_);
    if (!session) return fail_rest(session.error());
    find_mqprio(*session);
    refuse_what_lacks(*session);
    for (std::size_t at = 0; at < changes_.size(); ++at) {
      if (done_[at]) continue;
      if (call_.must_end(std::chrono::steady_clock::now())) {
        const bool stopped = call_.stop.stop_requested();
        return fail_rest(
            Error{stopped ? ErrorKind::cancelled : ErrorKind::transient,
                  stopped ? "not attempted: asked to stop" : "not attempted: the deadline passed"});
      }
      const std::optional<Error> failed = attempt(*session, at);
      // After a lost acknowledgement the socket may contain stray messages: nothing more is attempted on it.
      if (failed && failed->kind == ErrorKind::unknown_outcome)
        return fail_rest(
            Error{ErrorKind::transient, "not attempted: an earlier change's outcome is unknown"});
    }
  }

  // `places`: the changes' positions in the receipt.
  Receipt receipt(std::string ticket, const std::vector<std::size_t>& places) {
    Receipt out;
    out.ticket = std::move(ticket);
    out.outcomes.resize(changes_.size());
    for (std::size_t at = 0; at < changes_.size(); ++at)
      out.outcomes.at(places.at(at)) = {changes_[at].path, std::move(outcomes_[at])};
    return out;
  }
  void fail_rest(const Error& why) {
    for (std::size_t at = 0; at < changes_.size(); ++at)
      if (!done_[at]) finish(at, why);
  }

 private:
  void finish(std::size_t at, std::optional<Error> error) {
    outcomes_[at] = std::move(error);
    done_[at] = true;
  }

  void find_mqprio(const Session& session) {
    const bool classes =
        std::ranges::any_of(changes_, [](auto& one) { return linux_map::is_class_row(one.path.row()); });
    if (classes && !target_.software_rate) mqprio_ = mqprio_ports(session.links(), target_.root, call_);
  }

  // What implements the traffic classes of the change's port; none: a part, or nothing.
  using Place = std::optional<SchedulerPlace>;
  Result<Place> scheduler_of_port(Session& session, const Change& change) const {
    if (!linux_map::is_scheduler_row(change.path.row())) return Place();
    if (target_.software_rate) {
      TRY(const Carrier carrier, software_carrier(call_));
      return Place(SchedulerPlace{.carrier = carrier});
    }
    const auto index = session.index_of(change.path.key(0));
    const auto found = index ? mqprio_.find(*index) : mqprio_.end();
    if (found == mqprio_.end() || !linux_map::is_class_row(change.path.row())) return Place();
    TRY(const unsigned queues, Result<unsigned>(found->second));
    return Place(SchedulerPlace{.carrier = Carrier::mqprio, .tx_queues = queues});
  }

  // Empty: the changed entry is supported here.
  Result<std::string> why_lacking(Session& session, const Change& change) const {
    const RowId row = change.path.row();
    TRY(std::string why, why_no_marking(row, target_.software_rate, call_));
    TRY(const Place place, scheduler_of_port(session, change));
    return why.empty() && place ? why_not_given(row, place->carrier) : why;
  }

  // Done before the rest, so that a port's scheduler is built without the refused changes.
  void refuse_what_lacks(Session& session) {
    for (std::size_t at = 0; at < changes_.size(); ++at) {
      const std::string entry = changes_[at].path.text();
      const auto why = why_lacking(session, changes_[at]);
      if (!why)
        finish(at, wrap(entry + ": not attempted", why.error()));
      else if (!why->empty())
        finish(at, Error{ErrorKind::unsupported, entry + ": " + *why});
    }
  }

  std::optional<Error> attempt(Session& session, std::size_t at) {
    const auto place = scheduler_of_port(session, changes_[at]);
    if (!place) {
      finish(at, wrap(changes_[at].path.text() + ": not attempted", place.error()));
      return place.error();
    }
    if (*place) return attempt_scheduler(session, at, **place);
    if (LinuxPart* const part = part_of(parts_, changes_[at])) return attempt_part(session, *part, at);
    std::optional<Error> error;
    const std::optional<std::string> sysctl = linux_map::sysctl_of(changes_[at]);
    if (std::string why = sysctl ? why_not_sysctl(target_, *sysctl) : ""; !why.empty()) {
      error = Error{ErrorKind::unsupported, *sysctl + ": " + why};
    } else if (auto result = linux_map::change(session, changes_[at]); !result) {
      error = std::move(result.error());
    }
    finish(at, error);
    return error;
  }

  // Applies the run of one part's changes that starts here. Returns the worst error, which decides how the
  // apply continues.
  std::optional<Error> attempt_part(Session& session, LinuxPart& part, std::size_t first) {
    ChangeSet run;
    const auto is_the_parts = [&](std::size_t at) {
      if (done_[at] || part_of(parts_, changes_[at]) != &part) return false;
      const auto place = scheduler_of_port(session, changes_[at]);
      return place && !*place;
    };
    for (std::size_t at = first; at < changes_.size() && is_the_parts(at); ++at) run.push_back(changes_[at]);
    const std::vector<std::optional<Error>> answers = part.apply(run, session.links(), call_);
    std::optional<Error> worst;
    for (std::size_t i = 0; i < run.size(); ++i) {
      finish(first + i, answers.at(i));
      if (answers[i] && (!worst || answers[i]->kind == ErrorKind::unknown_outcome)) worst = answers[i];
    }
    // A reset port is a new one to the kernel, with a new index.
    const bool reset = std::ranges::any_of(
        run, [](const Change& one) { return schema_row(one.path.row()).disruption == Disruption::reset; });
    if (!reset) return worst;
    if (auto anew = Session::open(call_)) {
      session = *std::move(anew);
      find_mqprio(session);
    } else {
      fail_rest(wrap("not attempted: the ports can't be read after a reset", anew.error()));
    }
    return worst;
  }

  std::optional<Error> attempt_scheduler(Session& session, std::size_t first, const SchedulerPlace& place) {
    const std::string port(changes_[first].path.key(0));
    std::vector<std::size_t> group;
    for (std::size_t at = first; at < changes_.size(); ++at)
      if (!done_[at] && linux_map::is_scheduler_row(changes_[at].path.row()) &&
          changes_[at].path.key(0) == port)
        group.push_back(at);
    auto result = set_scheduler(session, port, group, place);
    std::optional<Error> error;
    if (!result) error = std::move(result.error());
    for (const std::size_t at : group) finish(at, error);
    return error;
  }

  Result<Done> set_scheduler(Session& session, const std::string& port, const std::vector<std::size_t>& group,
                             const SchedulerPlace& place) {
    TRY(PortScheduler wanted, session.scheduler(port));
    for (const std::size_t at : group) TRY_DONE(linux_map::overlay(changes_[at], wanted));
    return session.set_scheduler(port, wanted, place.carrier, place.tx_queues);
  }

  const LinuxTarget& target_;
  const PartOfRow& parts_;
  const ChangeSet& changes_;
  const Call& call_;
  MqprioPorts mqprio_;
  std::vector<std::optional<Error>> outcomes_;
  std::vector<bool> done_;
};

Result<Receipt> LinuxDriver::apply(const ChangeSet& changes, const Guard& guard, const Call& call) {
  TRY_DONE(admit(guard, call));
  const std::vector<std::size_t> order = apply_order(changes);
  ChangeSet ordered;
  for (const std::size_t at : order) ordered.push_back(changes[at]);
  NamespaceApply run(target_, part_of_, ordered, call);
  TRY_DONE(in_namespace(target_.netns_path, [&] { run.run(); }));
  return run.receipt(guard.ticket, order);
}

std::vector<std::string> LinuxDriver::native(const ChangeSet& changes) const {
  const auto carrier = target_.software_rate ? lacks_.software_carrier() : Result<Carrier>(Carrier::mqprio);
  std::vector<std::string> out;
  for (const Change& one : changes) {
    const bool by_mqprio =
        linux_map::is_class_row(one.path.row()) && lacks_.is_carried_by_mqprio(one.path.key(0));
    const LinuxPart* const part = part_of(part_of_, one);
    const std::string none = target_.software_rate ? "" : why_not_on_own_queues(one.path.row());
    if (part != nullptr && !by_mqprio)
      out.push_back(part->native(one));
    else if (!none.empty())
      out.push_back("# " + one.path.text() + " is not set: " + none);
    else if (carrier || !linux_map::is_class_row(one.path.row()))
      out.push_back(linux_map::native(one, carrier ? *carrier : Carrier::htb));
    else
      out.push_back("# what carries the port's classes is not known: " + carrier.error().text());
  }
  return out;
}

Result<Done> LinuxDriver::settle(std::string_view ticket, Settlement settlement, const Call&) {
  if (settlement != Settlement::undo) return Done{};
  return Error{ErrorKind::unsupported, target_.device + ": the kernel can't undo " + std::string(ticket) +
                                           "; undo is a plan from what is to what was"};
}

}  // namespace

Attached make_linux_driver(LinuxTarget target) {
  auto driver = std::make_unique<LinuxDriver>(std::move(target));
  Attached out;
  out.preview = driver.get();
  out.remedy = driver->remedy();
  out.recall = driver.get();
  out.usage = driver->usage();
  const LinuxTarget& at = driver->target();
  out.watch = [netns = at.netns_path, device = at.device] { return watch_namespace(netns, device); };
  out.driver = std::move(driver);
  return out;
}

}  // namespace lockstep
