#include "drivers/agent/driver.hpp"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <optional>
#include <utility>

#include "drivers/agent/driver_answers.hpp"
#include "drivers/agent/wire.hpp"
#include "specs/model/ip.hpp"

namespace lockstep {
namespace {

using Effect = AgentNetwork::Effect;

class AgentDriver final : public Driver, public Remedy, public Usage {
 public:
  AgentDriver(std::shared_ptr<AgentNetwork> network, std::string cluster, AgentTarget target)
      : network_(std::move(network)), cluster_(std::move(cluster)), target_(std::move(target)) {}

  Result<Traits> traits(const Call& call) override;
  Result<Observation> observe(const Scope& scope, std::string_view if_not, const Call& call) override;
  Result<Receipt> apply(const ChangeSet& changes, const Guard& guard, const Call& call) override;
  Result<Done> settle(std::string_view transaction, Settlement settlement, const Call& call) override;

  std::optional<Offer> offer(const Change& effect) const override {
    return target_.offline.remedy->offer(effect);
  }
  std::optional<Offer> stands_by(const Change& effect) const override {
    return target_.offline.remedy->stands_by(effect);
  }
  Result<Done> cure(const ChangeSet& effects, const Call& call) override;

  bool knows(Path entry) const override { return target_.offline.usage->knows(entry); }
  Result<Use> of(Path entry, const Call& call) override;

 private:
  // The answer, as `read` decodes and checks it. After an error nothing that the agent was known to be holds.
  template <class T, class Read>
  Result<T> ask(std::string_view name, const std::string& body, Effect effect, const Call& call, Read read);
  CurrentEpoch::Leader leader() const {
    return target_.epoch ? target_.epoch->leader() : CurrentEpoch::Leader{};
  }
  void learn_of_another_leader(const Call& call);
  // Why nothing may be written; none: a leader leads.
  std::optional<Error> why_not_write(std::string_view what) const;
  void forget_traits() {
    const std::lock_guard lock(mutex_);
    traits_.reset();
  }

  const std::shared_ptr<AgentNetwork> network_;
  const std::string cluster_;
  const AgentTarget target_;
  std::mutex mutex_;
  std::optional<Traits> traits_;  // under mutex_
};

template <class T, class Read>
Result<T> AgentDriver::ask(std::string_view name, const std::string& body, Effect effect, const Call& call,
                           Read read) {
  auto answer = network_->call(target_.agent, name, body, effect, call);
  if (!answer) {
    forget_traits();
    if (answer.error().kind == ErrorKind::denied && name != "hello") learn_of_another_leader(call);
    return std::move(answer.error());
  }
  Result<T> out = read(*answer);
  if (out) return out;
  forget_traits();
  return Error{out.error().kind, target_.agent.text() + ": " + out.error().what, out.error().cause};
}

// Denied for whatever reason: its hello says whether it has accepted another leader.
void AgentDriver::learn_of_another_leader(const Call& call) {
  const CurrentEpoch::Leader own = leader();
  if (own.epoch == 0) return;
  const auto body = network_->call(target_.agent, "hello", "{}", Effect::reads, call);
  const auto hello = body ? wire::decode_hello(*body) : Result<wire::Hello>(body.error());
  if (!hello) return;
  const bool is_copy = hello->epoch == own.epoch && !hello->leader.empty() && hello->leader != own.id;
  if (hello->epoch > own.epoch || is_copy) target_.epoch->denied_by(target_.agent.device, hello->epoch);
}

std::optional<Error> AgentDriver::why_not_write(std::string_view what) const {
  if (leader().epoch != 0) return std::nullopt;
  return Error{ErrorKind::denied, target_.agent.text() + ": this process does not lead cluster " + cluster_ +
                                      ", so it may not " + std::string(what)};
}

Result<Traits> AgentDriver::traits(const Call& call) {
  {
    const std::lock_guard lock(mutex_);
    if (traits_) return *traits_;
  }
  const agent_answers::Wanted wanted{cluster_, target_.agent.device, target_.driver};
  TRY(Traits out, ask<Traits>("hello", "{}", Effect::reads, call, [&wanted](const std::string& body) {
        return agent_answers::traits_from(body, wanted);
      }));
  const std::lock_guard lock(mutex_);
  traits_ = out;
  return out;
}

Result<Observation> AgentDriver::observe(const Scope& scope, std::string_view if_not, const Call& call) {
  const auto sent = std::chrono::steady_clock::now();
  const CurrentEpoch::Leader by = leader();
  const wire::ObserveRequest request{target_.driver, scope, std::string(if_not), by.epoch, by.id};
  TRY(Observation out,
      ask<Observation>("observe", encode(request), Effect::reads, call, [&](const std::string& body) {
        return agent_answers::observation_from(body, sent, target_.agent.device, scope);
      }));
  const bool is_unchanged = !if_not.empty() && out.revision == if_not;
  if (target_.offline.recall != nullptr && !is_unchanged) target_.offline.recall->recall(out, scope);
  return out;
}

Result<Receipt> AgentDriver::apply(const ChangeSet& changes, const Guard& guard, const Call& call) {
  if (!guard.undo_after)
    return Error{ErrorKind::unsupported,
                 target_.agent.text() +
                     ": an agent rolls back what is not settled in time, so every apply "
                     "needs an undo_after, and this one has none"};
  if (auto refused = why_not_write("apply changes")) return *std::move(refused);
  const CurrentEpoch::Leader by = leader();
  const wire::ApplyRequest request{target_.driver, changes, guard, guard.epoch == by.epoch ? by.id : ""};
  return ask<Receipt>("apply", encode(request), Effect::writes, call, [&](const std::string& body) {
    return agent_answers::receipt_from(body, changes, guard.ticket);
  });
}

Result<Done> AgentDriver::settle(std::string_view transaction, Settlement settlement, const Call& call) {
  if (auto refused = why_not_write("settle transactions")) return *std::move(refused);
  const CurrentEpoch::Leader by = leader();
  const wire::SettleRequest request{std::string(transaction), settlement, by.epoch, by.id};
  return ask<Done>("settle", encode(request), Effect::writes, call, agent_answers::settled_from);
}

Result<Done> AgentDriver::cure(const ChangeSet& effects, const Call& call) {
  if (auto refused = why_not_write("carry out remedies")) return *std::move(refused);
  const CurrentEpoch::Leader by = leader();
  const wire::RemedyRequest request{target_.driver, effects, by.epoch, by.id};
  return ask<Done>("remedy", encode(request), Effect::writes, call, agent_answers::cured_from);
}

Result<Usage::Use> AgentDriver::of(Path entry, const Call& call) {
  return ask<Use>("usage", wire::encode(wire::UsageRequest{target_.driver, entry}), Effect::reads, call,
                  agent_answers::use_from);
}

}  // namespace

Attached make_agent_driver(std::shared_ptr<AgentNetwork> network, AgentTarget target) {
  Attached out;
  out.preview = target.offline.preview;
  out.address = IpAddress::parse(target.agent.endpoint.host);
  out.watch = [network, agent = target.agent] { return network->events(agent); };
  const bool has_remedy = target.offline.remedy != nullptr;
  const bool has_usage = target.offline.usage != nullptr;
  std::string cluster = network->cluster();
  auto driver = std::make_unique<AgentDriver>(std::move(network), std::move(cluster), std::move(target));
  if (has_remedy) out.remedy = driver.get();
  if (has_usage) out.usage = driver.get();
  out.driver = std::move(driver);
  return out;
}

}  // namespace lockstep
