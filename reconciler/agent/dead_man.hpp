// DeadMan: the device's end of a transaction. It decides which calls may change the device, and rolls back
// what nobody settles.
//
// Contract, for whatever moment at which the agent, the controller, the path between them or the machine
// stops:
// - Nothing is written before its undo is in the journal; every write belongs to one armed transaction, at
//   most one on the device, of whichever driver. An apply for another, for none, or for the same one by
//   another driver is `conflict`. What was refused by the driver stays armed, as only the driver knows
//   whether it wrote: its undo finds nothing to do.
// - What an apply sets on its way (Passing: a port that is shut down meanwhile) is in the journal before it
//   begins, and put right by the rollback if the apply did not end well.
// - An apply without undo_after is `refused`: everything through an agent is armed.
// - What is not settled in time is rolled back: the undo's changes in order, each only where its `was` holds
//   (dead_man_rollback.hpp). A settlement that is repeated gets the same answer, the opposite one `conflict`;
//   of a transaction that is not known, `keep` is done, as nothing will be rolled back.
// - What was settled is over: an apply for it is `conflict`, as it is an attempt that comes late. So that
// none
//   comes after its transaction was forgotten (kSettledMin), a transaction beyond kSettledMax within
//   kSettledFor is `transient`.
// - Time is CLOCK_BOOTTIME: a suspended machine's time counts. After a restart of the machine (another boot
//   id) a transaction is rolled back at once; after one of the agent alone its time goes on.
// - A rollback that has begun goes on when its caller has gone. One that fails is tried again for
//   kRollbackTries; then every apply and remedy is refused, until acknowledge().
// - The highest epoch that came with any call is in the journal before that call is answered or begins; a
//   lower one is `denied`, and so is the same one of another leader, if both said who they are. An
//   observation without a leader has epoch 0, and is answered.
// - A driver gets a whole change set, as it may have to make parts of it together. For a higher epoch, a hold
//   or its own overdue rollback, a running change is asked to stop (Call::stop), and its driver stops it
//   between two of its writes.
// - While a hold is set, applies and remedies are refused; rollback and settlement go on.
// Thread-safe: calls come from several threads; one writes at a time. A driver has one call at a time, as its
// parts need: observations run beside what another driver writes, and one that a rollback waits for is
// stopped (`transient`). Stop tokens end a call that waits; its wake descriptor is not looked at.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "drivers/agent/wire.hpp"
#include "reconciler/agent/journal.hpp"

namespace lockstep::agent {

constexpr std::chrono::minutes kRollbackTries{10};
// For each try: chosen, above what a driver takes for a whole device.
constexpr std::chrono::minutes kRollbackTry{2};

// The machine, as tests replace it.
struct Machine {
  std::function<std::chrono::nanoseconds()> boot_time;  // CLOCK_BOOTTIME
  std::string boot_id;
};
Machine this_machine();

class DeadMan {
 public:
  // A line for whoever operates the machine, of a rollback by this alone; called by one thread at a time.
  using Log = std::function<void(const std::string&)>;
  // `drivers`: by name ("linux"), attached to this machine under its host policy; they outlive this.
  DeadMan(AgentJournal journal, std::map<std::string, Attached*> drivers, Machine machine, Log log = {});
  ~DeadMan();

  Result<Observation> observe(const wire::ObserveRequest& request, const Call& call);
  Result<Receipt> apply(const wire::ApplyRequest& request, const Call& call);
  Result<Done> settle(const wire::SettleRequest& request, const Call& call);
  Result<Done> remedy(const wire::RemedyRequest& request, const Call& call);
  Result<Usage::Use> usage(const wire::UsageRequest& request, const Call& call);
  // Armed transaction, epoch, hold and failed rollback, into a hello.
  void describe(wire::Hello& hello) const;

  // Rolls back what is due, also of an earlier agent or boot, and blocks meanwhile: as long as a call runs
  // that does not stop, and then for kRollbackTry, unless a driver does not keep to its deadline. Call it at
  // next_time() at the latest, which every call may change; none: nothing is armed.
  void keep_time();
  std::optional<std::chrono::nanoseconds> next_time() const;

  Result<Done> hold(const std::string& reason);  // empty: lifts it
  Result<Done> acknowledge();                    // of a failed rollback

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lockstep::agent
