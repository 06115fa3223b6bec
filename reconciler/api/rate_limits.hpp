// RateLimits: requests per second of each client, by a token bucket.
//
// Promises: pure: time is an argument. A client that has made no request for a while may make `burst` at
// once, and `per_second` for good. Memory is bounded: of more than kClientsMax clients, those whose bucket is
// full are forgotten, which changes nothing for them; if none is full, new clients share one bucket. For one
// thread.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "drivers/posix/call.hpp"

namespace lockstep::api {

class RateLimits {
 public:
  static constexpr std::size_t kClientsMax = 10'000;
  RateLimits(double per_second, double burst) : per_second_(per_second), burst_(burst) {}

  // None: it may. Else when it may again.
  std::optional<std::chrono::milliseconds> take(const std::string& client, Time now);
  std::size_t clients() const { return buckets_.size(); }

 private:
  struct Bucket {
    double left = 0;
    Time at{};
  };
  void forget_full(Time now);
  double left_at(const Bucket& bucket, Time now) const;

  const double per_second_;
  const double burst_;
  std::map<std::string, Bucket> buckets_;
};

}  // namespace lockstep::api
