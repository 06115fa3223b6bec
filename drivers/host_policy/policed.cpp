#include "drivers/host_policy/policed.hpp"

#include <mutex>
#include <utility>

namespace lockstep {
namespace {

// The most recently read policy. Accessed from several threads: the engine's, and those that its calls run
// on.
class Word : public Permission {
 public:
  Word(PolicedFor whom, ReadHostPolicy read)
      : whom_(std::move(whom)), read_(std::move(read)), policy_(read_()) {}

  void read_anew() {
    HostPolicy now = read_();
    const std::scoped_lock lock(mutex_);
    policy_ = std::move(now);
  }

  std::optional<std::string> why_not(const Change& change) const override {
    const std::scoped_lock lock(mutex_);
    WhyRefused why = policy_.why_not_device(whom_.device, whom_.cluster);
    if (!why) why = policy_.why_not_driver(whom_.driver);
    if (!why) why = policy_.why_not(change);
    if (!why) return std::nullopt;
    return "this host's policy refuses it: " + *why;
  }
  std::optional<std::string> why_not_unasked() const override {
    const std::scoped_lock lock(mutex_);
    return policy_.why_not_unasked();
  }
  std::optional<std::string> why_not_confirm_deletion() const override {
    const std::scoped_lock lock(mutex_);
    return policy_.why_not_confirm_deletion();
  }

  Result<Done> allows(const ChangeSet& changes) const {
    for (const Change& one : changes)
      if (const auto why = why_not(one)) return refused(one, *why);
    return Done{};
  }

 private:
  Error refused(const Change& change, const std::string& why) const {
    return Error{ErrorKind::denied, whom_.device + ": " + change.path.text() + ": " + why};
  }

  const PolicedFor whom_;
  const ReadHostPolicy read_;
  mutable std::mutex mutex_;
  HostPolicy policy_;
};

class PolicedDriver : public Driver, public Remedy {
 public:
  PolicedDriver(Attached inner, PolicedFor whom, ReadHostPolicy read)
      : inner_(std::move(inner)), word_(std::move(whom), std::move(read)) {}

  Result<Traits> traits(const Call& call) override { return inner_.driver->traits(call); }
  Result<Observation> observe(const Scope& scope, std::string_view if_not, const Call& call) override {
    word_.read_anew();
    return inner_.driver->observe(scope, if_not, call);
  }
  Result<Receipt> apply(const ChangeSet& changes, const Guard& guard, const Call& call) override {
    word_.read_anew();
    TRY_DONE(word_.allows(changes));
    TRY_DONE(word_.allows(guard.undo));
    return inner_.driver->apply(changes, guard, call);
  }
  Result<Done> settle(std::string_view transaction, Settlement settlement, const Call& call) override {
    return inner_.driver->settle(transaction, settlement, call);
  }

  std::optional<Offer> offer(const Change& effect) const override { return inner_.remedy->offer(effect); }
  std::optional<Offer> stands_by(const Change& effect) const override {
    return inner_.remedy->stands_by(effect);
  }
  Result<Done> cure(const ChangeSet& effects, const Call& call) override {
    word_.read_anew();
    TRY_DONE(word_.allows(effects));
    return inner_.remedy->cure(effects, call);
  }

  Attached& inner() { return inner_; }
  Permission* word() { return &word_; }

 private:
  Attached inner_;
  Word word_;
};

}  // namespace

Attached under_host_policy(Attached inner, PolicedFor whom, ReadHostPolicy read) {
  auto driver = std::make_unique<PolicedDriver>(std::move(inner), std::move(whom), std::move(read));
  Attached out;
  out.preview = driver->inner().preview;
  out.remedy = driver->inner().remedy == nullptr ? nullptr : driver.get();
  out.usage = driver->inner().usage;
  out.passing = driver->inner().passing;
  out.address = driver->inner().address;
  out.watch = driver->inner().watch;
  out.permission = driver->word();
  out.machine = driver->inner().machine;
  out.driver = std::move(driver);
  return out;
}

}  // namespace lockstep
