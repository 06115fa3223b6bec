#include "drivers/sim/simulated_device.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "drivers/sim/map.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

bool is_writable(const Row& row) { return row.facet == Facet::config && row.takes != Takes::read_only; }

Error error(ErrorKind kind, const std::string& device, const char* what) {
  return Error{kind, device + ": " + what};
}

}  // namespace

SimulatedDevice::SimulatedDevice(std::string name, std::uint64_t seed)
    : name_(std::move(name)), random_(seed) {}

Traits SimulatedDevice::traits() const {
  Traits traits;
  traits.driver = driver_name;
  traits.incapable = incapable;
  traits.undoes_itself = undoes_itself;
  const auto add = [&traits](RowId row) {
    traits.reads.push_back(row);
    if (is_writable(schema_row(row))) traits.writes.push_back(row);
  };
  if (rows.empty())
    for (std::size_t row = 0; row < kSchema.size(); ++row) add(static_cast<RowId>(row));
  for (const RowId row : rows) add(row);
  return traits;
}

Result<Observation> SimulatedDevice::observe(const Scope& scope, std::string_view if_not, const Call& call) {
  undo_overdue();
  const auto answer = [&]() -> Result<Observation> {
    if (call.stop.stop_requested()) return error(ErrorKind::cancelled, name_, "asked to stop");
    if (unreachable) return error(ErrorKind::transient, name_, "no route to the device");
    if (random_.chance(faults.transient)) return error(ErrorKind::transient, name_, "busy");
    Observation seen_now;
    seen_now.device = name_;
    seen_now.boot_id = "boot" + std::to_string(boots_);
    const bool stale = random_.chance(faults.stale_read);
    seen_now.revision = stale ? std::to_string(revision_ - 1) : revision();
    if (!if_not.empty() && if_not == seen_now.revision) return seen_now;
    const Tree& source = stale ? before_last_write_ : tree_;
    std::optional<RowId> hidden;
    if (random_.chance(faults.unread)) {
      const std::vector<RowId> reads = traits().reads;
      hidden = reads[random_.below(reads.size())];
      if (scope.wants(*hidden))
        seen_now.unread.push_back(
            {*hidden, {}, error(ErrorKind::transient, name_, "the read was cut short")});
    }
    TreeBuilder builder;
    for (const Leaf& leaf : source.leaves())
      if (scope.wants(leaf.path.row()) && leaf.path.row() != hidden) builder.add(leaf.path, leaf.value);
    seen_now.have = builder.build();
    return seen_now;
  };
  Result<Observation> result = answer();
  if (seen) {
    SimulatedCall what{.kind = SimulatedCall::Kind::observe, .device = name_, .scope = &scope};
    if (result)
      what.observed = &*result;
    else
      what.answer = result.error().kind;
    seen(what);
  }
  return result;
}

Result<Receipt> SimulatedDevice::apply(const ChangeSet& changes, const Guard& guard, const Call& call) {
  undo_overdue();
  Result<Receipt> result = call.stop.stop_requested()
                               ? Result<Receipt>(error(ErrorKind::cancelled, name_, "asked to stop"))
                               : apply_all(changes, guard);
  if (seen) {
    SimulatedCall what{
        .kind = SimulatedCall::Kind::apply, .device = name_, .changes = &changes, .guard = &guard};
    if (!result) what.answer = result.error().kind;
    seen(what);
  }
  return result;
}

Result<Receipt> SimulatedDevice::apply_all(const ChangeSet& changes, const Guard& guard) {
  if (unreachable) return error(ErrorKind::transient, name_, "no route to the device");
  if (guard.epoch < epoch_seen_) return error(ErrorKind::denied, name_, "a newer leader has written here");
  if (guard.undo_after && !undoes_itself)
    return error(ErrorKind::unsupported, name_, "it can't undo by itself");
  if (random_.chance(faults.transient)) return error(ErrorKind::transient, name_, "busy");
  if (random_.chance(faults.conflict))
    return error(ErrorKind::conflict, name_, "the configuration is locked");
  if (!guard.revision.empty() && guard.revision != revision())
    return error(ErrorKind::conflict, name_, "the revision has moved on");
  epoch_seen_ = guard.epoch;
  before_last_write_ = tree_;
  ++revision_;
  if (guard.undo_after && clock) pending_ = Pending{guard.ticket, tree_, clock() + *guard.undo_after};
  const std::size_t refused_at =
      random_.chance(faults.refused) ? random_.below(changes.size()) : changes.size();
  const std::size_t boot_at =
      random_.chance(faults.reboot_in_apply) ? random_.below(changes.size() + 1) : changes.size() + 1;

  Receipt receipt;
  receipt.ticket = guard.ticket;
  bool stopped = false;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (i == boot_at) {
      reboot();
      return error(ErrorKind::unknown_outcome, name_, "the connection was reset");
    }
    std::optional<Error> why;
    if (stopped)
      why = error(ErrorKind::cancelled, name_, "not tried after a refusal");
    else if (i == refused_at || !write(changes[i]))
      why = error(ErrorKind::refused, name_, "the device said no");
    stopped = stopped || why.has_value();
    receipt.outcomes.push_back({changes[i].path, std::move(why)});
  }
  settle_effects();
  if (boot_at == changes.size()) reboot();
  if (boot_at == changes.size() || random_.chance(faults.lost_reply))
    return error(ErrorKind::unknown_outcome, name_, "the reply was lost");
  return receipt;
}

bool SimulatedDevice::write(const Change& change) {
  const bool refused = std::find(refuses.begin(), refuses.end(), change.path.row()) != refuses.end();
  if (refused || !is_writable(schema_row(change.path.row()))) return false;
  ++writes_;
  if (change.want)
    tree_.set(change.path, change.want);
  else
    tree_.erase(change.path);
  for (const Path path : sim::gone_with(tree_, change)) tree_.erase(path);
  return true;
}

Result<Done> SimulatedDevice::settle(std::string_view ticket, Settlement settlement, const Call&) {
  undo_overdue();
  const auto answer = [&]() -> Result<Done> {
    if (unreachable) return error(ErrorKind::transient, name_, "no route to the device");
    if (random_.chance(faults.transient)) return error(ErrorKind::transient, name_, "busy");
    if (settlement == Settlement::keep && ticket == taken_back_)
      return error(ErrorKind::conflict, name_, "it was undone, as nobody settled it in time");
    if (!pending_ || pending_->ticket != ticket) {
      if (settlement == Settlement::keep) return Done{};
      return error(ErrorKind::unsupported, name_, "nothing is waiting to be settled");
    }
    if (settlement == Settlement::undo) {
      tree_ = pending_->before;
      ++revision_;
      settle_effects();
    }
    if (settlement == Settlement::extend)
      pending_->until += std::chrono::seconds(30);
    else
      pending_.reset();
    return Done{};
  };
  Result<Done> result = answer();
  if (seen) {
    SimulatedCall what{.kind = SimulatedCall::Kind::settle, .device = name_};
    if (!result) what.answer = result.error().kind;
    seen(what);
  }
  return result;
}

void SimulatedDevice::set(Path path, Value value) {
  before_last_write_ = tree_;
  ++revision_;
  if (value)
    tree_.set(path, value);
  else
    tree_.erase(path);
  for (const Path gone : sim::gone_with(tree_, Change{path, {}, value, 0})) tree_.erase(gone);
  settle_effects();
}

void SimulatedDevice::reboot() {
  ++boots_;
  ++revision_;
  pending_.reset();
  std::vector<Path> lost;
  for (const Leaf& leaf : tree_.leaves())
    if (schema_row(leaf.path.row()).takes == Takes::lost_at_boot) lost.push_back(leaf.path);
  for (const Path path : lost) tree_.erase(path);
  settle_effects();
}

void SimulatedDevice::settle_effects() {
  if (effects) effects(tree_);
  wake_watches();
}

void SimulatedDevice::undo_overdue() {
  if (!pending_ || !clock || clock() < pending_->until) return;
  tree_ = pending_->before;
  ++revision_;
  taken_back_ = pending_->ticket;
  pending_.reset();
  settle_effects();
}

// An eventfd that the device raises.
class SimulatedDevice::EventWatch final : public Watcher {
 public:
  EventWatch(int descriptor, std::shared_ptr<Listeners> listeners)
      : descriptor_(descriptor), listeners_(std::move(listeners)) {}
  ~EventWatch() override {
    {
      const std::scoped_lock lock(listeners_->mutex);
      std::erase(listeners_->descriptors, descriptor_);
    }
    close(descriptor_);
  }
  EventWatch(const EventWatch&) = delete;
  EventWatch& operator=(const EventWatch&) = delete;
  int descriptor() const override { return descriptor_; }
  Result<bool> drain() override {
    eventfd_t count = 0;
    return eventfd_read(descriptor_, &count) == 0;
  }

 private:
  int descriptor_;
  std::shared_ptr<Listeners> listeners_;
};

Result<std::unique_ptr<Watcher>> SimulatedDevice::watch() {
  const int descriptor = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (descriptor < 0) return error(ErrorKind::transient, name_, "no descriptor is left");
  const std::scoped_lock lock(listeners_->mutex);
  listeners_->descriptors.push_back(descriptor);
  return std::unique_ptr<Watcher>(std::make_unique<EventWatch>(descriptor, listeners_));
}

void SimulatedDevice::wake_watches() {
  const std::scoped_lock lock(listeners_->mutex);
  for (const int descriptor : listeners_->descriptors) eventfd_write(descriptor, 1);
}

Attached attach_simulated(std::unique_ptr<SimulatedDevice> device) {
  Attached out;
  out.watch = [raw = device.get()] { return raw->watch(); };
  out.driver = std::move(device);
  return out;
}

}  // namespace lockstep
