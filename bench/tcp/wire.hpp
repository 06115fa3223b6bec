// Messages between the controller and a probe: 4 bytes of length (big endian), then a JSON object.
//
// Promises: a message is delivered whole or not at all; truncated, oversized or malformed bytes are an error,
// never undefined. Refuses: anything above 4 MiB (the largest real one, a full histogram, is 60 KB), and JSON
// that is not an object. Field access never throws: missing fields and fields of another type read as the
// default.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/histogram.hpp"
#include "specs/model/result.hpp"

namespace lockstep::bench {

using Json = nlohmann::json;
constexpr std::size_t message_limit = std::size_t{4} << 20U;

// Accepts bytes as they arrive, returns messages as they are complete.
class MessageReader {
 public:
  void feed(const char* bytes, std::size_t count) { pending_.append(bytes, count); }
  Result<std::optional<Json>> next();  // nullopt: not complete yet; an error is final

 private:
  std::string pending_;
};

std::string framed(const Json& message);

std::string text_of(const Json& message, const char* key);
std::uint64_t number_of(const Json& message, const char* key);
double real_of(const Json& message, const char* key);
std::vector<double> reals_of(const Json& message, const char* key);

// Its non-empty buckets, min, max and sum; values that do not fit are dropped, or clamped to what the buckets
// allow.
Json to_json(const Histogram& seen);
Histogram histogram_of(const Json& json);

}  // namespace lockstep::bench
