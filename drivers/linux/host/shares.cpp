#include "drivers/linux/host/shares.hpp"

#include <utility>

namespace lockstep {

Result<Done> set_all(const Shares& shares) {
  for (std::size_t i = 0; i < shares.size(); ++i) {
    auto done = shares[i].set();
    if (done) continue;
    Error error = std::move(done.error());
    // An unknown outcome is left to the next observation.
    if (error.kind == ErrorKind::unknown_outcome) return error;
    std::string left;
    for (std::size_t k = i + 1; k-- > 0;)
      if (const auto back = shares[k].put_back(); !back)
        left += (left.empty() ? "" : ", ") + shares[k].device + " (" + back.error().text() + ")";
    if (left.empty()) return error;
    error.what += "; not put back: " + left;
    error.kind = ErrorKind::unknown_outcome;
    return error;
  }
  return Done{};
}

void Mixed::remember(const std::string& told, Shares shares) {
  const std::lock_guard lock(mutex_);
  by_text_[told] = std::move(shares);
}

std::optional<Result<Done>> Mixed::put_back(const std::string& told) {
  Shares reverse;
  {
    const std::lock_guard lock(mutex_);
    const auto found = by_text_.find(told);
    if (found == by_text_.end()) return std::nullopt;
    for (const Share& one : found->second) reverse.push_back({one.device, one.put_back, one.set});
  }
  return set_all(reverse);
}

}  // namespace lockstep
