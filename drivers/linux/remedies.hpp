// LinuxRemedies: the remedies of all parts of the driver, combined.
//
// Promises: an effect is handled by the first remedy that offers one for it; each remedy gets all its effects
// of a call in one call.
#pragma once

#include <algorithm>
#include <vector>

#include "drivers/driver.hpp"

namespace lockstep {

class LinuxRemedies : public Remedy {
 public:
  void add(Remedy* one) {
    if (one != nullptr) all_.push_back(one);
  }
  std::optional<Offer> offer(const Change& effect) const override {
    for (const Remedy* const one : all_)
      if (auto offer = one->offer(effect)) return offer;
    return std::nullopt;
  }
  std::optional<Offer> stands_by(const Change& effect) const override {
    for (const Remedy* const one : all_)
      if (auto offer = one->stands_by(effect)) return offer;
    return std::nullopt;
  }
  Result<Done> cure(const ChangeSet& effects, const Call& call) override {
    std::vector<ChangeSet> parts(all_.size());
    for (const Change& effect : effects) {
      const auto one =
          std::ranges::find_if(all_, [&](const Remedy* each) { return each->offer(effect).has_value(); });
      if (one == all_.end())
        return Error{ErrorKind::unsupported, effect.path.text() + ": there is no remedy for it here"};
      parts[static_cast<std::size_t>(one - all_.begin())].push_back(effect);
    }
    for (std::size_t i = 0; i < all_.size(); ++i)
      if (!parts[i].empty()) TRY_DONE(all_[i]->cure(parts[i], call));
    return Done{};
  }

 private:
  std::vector<Remedy*> all_;
};

}  // namespace lockstep
