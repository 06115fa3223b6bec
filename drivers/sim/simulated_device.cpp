#include "drivers/sim/simulated_device.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
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

std::vector<RowId> SimulatedDevice::rows_read() const {
  if (!rows.empty()) return rows;
  std::vector<RowId> all(kSchema.size());
  std::iota(all.begin(), all.end(), RowId{0});
  return all;
}

Result<Traits> SimulatedDevice::traits(const Call& call) {
  if (auto ended = call.why_ended(clock ? clock() : Time::min())) return wrap(name_, *std::move(ended));
  if (unreachable) return error(ErrorKind::transient, name_, "no route to the device");
  Traits traits;
  traits.driver = driver_name;
  traits.undoes_itself = undoes_itself;
  traits.reads = rows_read();
  std::copy_if(traits.reads.begin(), traits.reads.end(), std::back_inserter(traits.writes),
               [](RowId row) { return is_writable(schema_row(row)); });
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
    seen_now.facts = facts;
    if (armed_) seen_now.armed = armed_->transaction;
    const bool stale = random_.chance(faults.stale_read);
    seen_now.revision = stale ? std::to_string(revision_ - 1) : revision();
    for (const Incapable& one : incapable)
      if (scope.wants(one.row)) seen_now.incapable.push_back(one);
    if (!if_not.empty() && if_not == seen_now.revision) return seen_now;
    const Tree& source = stale ? before_last_write_ : tree_;
    std::optional<RowId> hidden;
    if (random_.chance(faults.unread)) {
      const std::vector<RowId> reads = rows_read();
      hidden = reads[random_.below(reads.size())];
      if (scope.wants(*hidden))
        seen_now.unread.push_back(
            {*hidden, {}, error(ErrorKind::transient, name_, "the read was cut short")});
    }
    TreeBuilder builder;
    for (const Entry& entry : source.entries())
      if (scope.wants(entry.path.row()) && entry.path.row() != hidden) builder.add(entry.path, entry.value);
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
    return error(ErrorKind::unsupported, name_, "it can't roll back by itself");
  if (armed_ && armed_->transaction != guard.transaction)
    return error(ErrorKind::conflict, name_, "another transaction is armed");
  if (random_.chance(faults.transient)) return error(ErrorKind::transient, name_, "busy");
  if (random_.chance(faults.conflict))
    return error(ErrorKind::conflict, name_, "the configuration is locked");
  if (!guard.revision.empty() && guard.revision != revision())
    return error(ErrorKind::conflict, name_, "the revision has moved on");
  epoch_seen_ = guard.epoch;
  before_last_write_ = tree_;
  ++revision_;
  if (guard.undo_after && clock) {
    armed_ = Armed{guard.transaction, guard.undo, *guard.undo_after, clock() + *guard.undo_after};
    settled_.erase(guard.transaction);  // a retry after one that was rolled back
  }
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
  if (change.path == saver && change.want) saved_ = to_save();
  for (const Path path : sim::gone_with(tree_, change)) tree_.erase(path);
  return true;
}

Result<Done> SimulatedDevice::settle(std::string_view transaction, Settlement settlement, const Call&) {
  undo_overdue();
  const auto answer = [&]() -> Result<Done> {
    if (unreachable) return error(ErrorKind::transient, name_, "no route to the device");
    if (random_.chance(faults.transient)) return error(ErrorKind::transient, name_, "busy");
    if (const auto settled = settled_.find(transaction); settled != settled_.end()) {
      if (settled->second == settlement) return Done{};
      return error(ErrorKind::conflict, name_,
                   settled->second == Settlement::keep ? "it was kept" : "it was undone");
    }
    if (!armed_ || armed_->transaction != transaction) {
      if (settlement == Settlement::keep) return Done{};
      return error(ErrorKind::unsupported, name_, "nothing is armed");
    }
    if (settlement == Settlement::extend) {
      armed_->until = clock() + armed_->undo_after;
    } else if (settlement == Settlement::undo) {
      undo_armed();
    } else {
      settled_.insert_or_assign(armed_->transaction, Settlement::keep);
      armed_.reset();
    }
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
  if (path == saver && value) saved_ = to_save();
  for (const Path gone : sim::gone_with(tree_, Change{path, {}, value, 0})) tree_.erase(gone);
  settle_effects();
}

void SimulatedDevice::reboot() {
  ++boots_;
  ++revision_;
  armed_.reset();
  std::vector<Path> lost;
  for (const Entry& entry : tree_.entries())
    if (schema_row(entry.path.row()).takes == Takes::lost_at_boot) lost.push_back(entry.path);
  for (const Path path : lost) tree_.erase(path);
  load_saved();
  settle_effects();
}

bool SimulatedDevice::is_saved_by_entry(RowId row) const {
  return saver && is_writable(schema_row(row)) && schema_row(row).is_saved_by(schema_row(saver->row()).saves);
}

Tree SimulatedDevice::to_save() const {
  TreeBuilder builder;
  for (const Entry& entry : tree_.entries())
    if (is_saved_by_entry(entry.path.row())) builder.add(entry.path, entry.value);
  return builder.build();
}

void SimulatedDevice::load_saved() {
  if (!saver) return;
  const Tree runs = to_save();
  for (const Entry& entry : runs.entries()) tree_.erase(entry.path);
  for (const Entry& entry : saved_.entries()) tree_.set(entry.path, entry.value);
}

bool SimulatedDevice::is_all_saved() const {
  const Tree runs = to_save();
  return std::ranges::equal(runs.entries(), saved_.entries(), [](const Entry& a, const Entry& b) {
    return a.path == b.path && a.value == b.value;
  });
}

void SimulatedDevice::settle_effects() {
  if (saver && is_all_saved())
    tree_.set(*saver, Value::present());
  else if (saver)
    tree_.erase(*saver);
  if (effects) effects(tree_);
  wake_watches();
}

void SimulatedDevice::undo_overdue() {
  if (armed_ && clock && clock() >= armed_->until) undo_armed();
}

void SimulatedDevice::undo_armed() {
  const Armed undone = *std::exchange(armed_, std::nullopt);
  for (const Change& change : undone.undo)
    if (tree_.value(change.path) == change.was) write(change);
  ++revision_;
  settled_.insert_or_assign(undone.transaction, Settlement::undo);
  settle_effects();
}

class SimulatedDevice::EventWatch final : public Watcher {
 public:
  EventWatch(std::shared_ptr<Listeners> listeners, std::string device)
      : listeners_(std::move(listeners)), device_(std::move(device)) {
    const std::scoped_lock lock(listeners_->mutex);
    listeners_->watches.push_back(&wake_);
  }
  ~EventWatch() override {
    const std::scoped_lock lock(listeners_->mutex);
    std::erase(listeners_->watches, &wake_);
  }
  EventWatch(const EventWatch&) = delete;
  EventWatch& operator=(const EventWatch&) = delete;
  int descriptor() const override { return wake_.number(); }
  Result<Woken> drain() override {
    Woken out;
    if (wake_.clear()) out.devices.push_back(device_);
    return out;
  }

 private:
  WakeDescriptor wake_;
  std::shared_ptr<Listeners> listeners_;
  std::string device_;
};

Result<std::shared_ptr<Watcher>> SimulatedDevice::watch() {
  auto watch = std::make_shared<EventWatch>(listeners_, name_);
  if (watch->descriptor() < 0) return error(ErrorKind::transient, name_, "no descriptor is left");
  return std::shared_ptr<Watcher>(std::move(watch));
}

void SimulatedDevice::wake_watches() {
  const std::scoped_lock lock(listeners_->mutex);
  for (const WakeDescriptor* const watch : listeners_->watches) watch->signal();
}

Attached attach_simulated(std::unique_ptr<SimulatedDevice> device) {
  Attached out;
  out.watch = [raw = device.get()] { return raw->watch(); };
  out.driver = std::move(device);
  return out;
}

}  // namespace lockstep
