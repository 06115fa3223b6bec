#include "bench/tcp/wire.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

namespace lockstep::bench {
namespace {

Error wrong(const char* what) { return {ErrorKind::refused, std::string("probe message: ") + what, nullptr}; }

}  // namespace

Result<std::optional<Json>> MessageReader::next() {
  if (pending_.size() < 4) return std::optional<Json>{};
  std::uint32_t length = 0;
  for (std::size_t i = 0; i < 4; ++i) length = (length << 8U) | static_cast<unsigned char>(pending_[i]);
  if (length > message_limit) return wrong("longer than 4 MiB");
  if (pending_.size() - 4 < length) return std::optional<Json>{};
  const std::string_view body = std::string_view(pending_).substr(4, length);
  // The controller's and probe's messages nest 3 deep; the parser recurses, so the input must not choose the
  // depth.
  std::size_t depth = 0;
  for (const char c : body) {
    if (c == '[' || c == '{') ++depth;
    if ((c == ']' || c == '}') && depth > 0) --depth;
    if (depth > 64) return wrong("nested too deep");
  }
  Json message = Json::parse(body.begin(), body.end(), nullptr, false);
  pending_.erase(0, 4 + static_cast<std::size_t>(length));
  if (message.is_discarded() || !message.is_object()) return wrong("not a JSON object");
  return std::optional<Json>(std::move(message));
}

std::string framed(const Json& message) {
  const std::string body = message.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string bytes;
  for (const unsigned shift : {24U, 16U, 8U, 0U})
    bytes.push_back(static_cast<char>((static_cast<std::uint32_t>(body.size()) >> shift) & 0xffU));
  return bytes + body;
}

std::string text_of(const Json& message, const char* key) {
  const auto found = message.find(key);
  return found != message.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

std::uint64_t number_of(const Json& message, const char* key) {
  const auto found = message.find(key);
  return found != message.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

double real_of(const Json& message, const char* key) {
  const auto found = message.find(key);
  const double value = found != message.end() && found->is_number() ? found->get<double>() : 0;
  return std::isfinite(value) ? value : 0;
}

std::vector<double> reals_of(const Json& message, const char* key) {
  std::vector<double> values;
  const auto found = message.find(key);
  if (found == message.end() || !found->is_array()) return values;
  for (const Json& one : *found) values.push_back(one.is_number() ? one.get<double>() : 0);
  return values;
}

Json to_json(const Histogram& seen) {
  Json buckets = Json::array();
  for (const Histogram::Bucket& bucket : seen.buckets())
    buckets.push_back(Json::array({bucket.lowest, bucket.count}));
  return {{"min", seen.min()}, {"max", seen.max()}, {"sum", seen.sum()}, {"buckets", std::move(buckets)}};
}

Histogram histogram_of(const Json& json) {
  std::vector<Histogram::Bucket> buckets;
  if (const auto list = json.find("buckets"); list != json.end() && list->is_array())
    for (const Json& one : *list)
      if (one.is_array() && one.size() == 2 && one[0].is_number_unsigned() && one[1].is_number_unsigned())
        buckets.push_back({one[0].get<std::uint64_t>(), one[1].get<std::uint64_t>()});
  return Histogram::from(buckets, number_of(json, "min"), number_of(json, "max"), real_of(json, "sum"));
}

}  // namespace lockstep::bench
