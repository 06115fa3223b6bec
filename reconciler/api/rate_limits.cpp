#include "reconciler/api/rate_limits.hpp"

#include <algorithm>
#include <cmath>

namespace lockstep::api {

double RateLimits::left_at(const Bucket& bucket, Time now) const {
  const double seconds = std::chrono::duration<double>(now - bucket.at).count();
  return std::min(burst_, bucket.left + std::max(0.0, seconds) * per_second_);
}

void RateLimits::forget_full(Time now) {
  std::erase_if(buckets_, [&](const auto& one) { return left_at(one.second, now) >= burst_; });
}

std::optional<std::chrono::milliseconds> RateLimits::take(const std::string& client, Time now) {
  auto found = buckets_.find(client);
  if (found == buckets_.end()) {
    if (buckets_.size() >= kClientsMax) forget_full(now);
    // No client is called so: their names are "token:...", or addresses.
    found = buckets_.try_emplace(buckets_.size() >= kClientsMax ? "" : client, Bucket{burst_, now}).first;
  }
  Bucket& bucket = found->second;
  bucket.left = left_at(bucket, now);
  bucket.at = now;
  if (bucket.left >= 1) {
    bucket.left -= 1;
    return std::nullopt;
  }
  const double wait = (1 - bucket.left) / per_second_ * 1000;
  return std::chrono::milliseconds(static_cast<std::int64_t>(std::ceil(wait)));
}

}  // namespace lockstep::api
