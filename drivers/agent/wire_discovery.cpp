#include "drivers/agent/wire_discovery.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "drivers/agent/wire_discovery_fields.hpp"
#include "drivers/agent/wire_fields.hpp"

namespace lockstep::wire {
namespace {

constexpr std::array kDistances{PciDistance::pix, PciDistance::pxb, PciDistance::phb, PciDistance::node,
                                PciDistance::sys};

template <class T>
constexpr bool kIsOptional = false;
template <class T>
constexpr bool kIsOptional<std::optional<T>> = true;
template <class T>
constexpr bool kIsPair = false;
template <class K, class V>
constexpr bool kIsPair<std::pair<K, V>> = true;
// Maps are lists of pairs on the wire: their keys may be any bytes.
template <class T>
constexpr bool kIsList = false;
template <class T>
constexpr bool kIsList<std::vector<T>> = true;
template <class K, class V, class C>
constexpr bool kIsList<std::map<K, V, C>> = true;

template <class T>
Json fact_json(const T& fact);

class FactWriter {
 public:
  template <class T>
  void operator()(const char* name, const T& field) {
    if constexpr (kIsOptional<T>) {
      if (field) out[name] = fact_json(*field);
    } else if constexpr (kIsList<T> || std::same_as<T, std::string>) {
      if (!field.empty()) out[name] = fact_json(field);
    } else {
      out[name] = fact_json(field);
    }
  }
  Json out = Json::object();
};

template <class T>
Json fact_json(const T& fact) {
  if constexpr (std::same_as<T, std::string>) {
    return exact_json(fact);
  } else if constexpr (std::integral<T>) {
    return fact;
  } else if constexpr (std::same_as<T, PciDistance>) {
    return to_string(fact);
  } else if constexpr (kIsPair<T>) {
    return Json::array({fact_json(fact.first), fact_json(fact.second)});
  } else if constexpr (kIsList<T>) {
    Json out = Json::array();
    for (const auto& one : fact) out.push_back(fact_json(one));
    return out;
  } else {
    FactWriter writer;
    discovered(writer, fact);
    return std::move(writer.out);
  }
}

Error not_a(const char* name, const std::string& type) {
  return wrong("field '" + std::string(name) + "' is not " + type);
}

template <class T>
Result<Done> read_fact(const Json& json, const char* name, T& out);

class FactReader {
 public:
  explicit FactReader(const Fields& fields) : fields_(fields) {}
  template <class T>
  void operator()(const char* name, T& field) {
    const Json* const json = failed ? nullptr : fields_.find(name);
    if (json == nullptr) return;
    if (Result<Done> read = read_fact(*json, name, field); !read) failed = std::move(read.error());
  }
  std::optional<Error> failed;

 private:
  const Fields& fields_;
};

template <class T>
Result<Done> read_list(const Json& json, const char* name, std::vector<T>& out) {
  for (const Json& one : json) TRY_DONE(read_fact(one, name, out.emplace_back()));
  return Done{};
}

template <class K, class V, class C>
Result<Done> read_list(const Json& json, const char* name, std::map<K, V, C>& out) {
  for (const Json& one : json) {
    std::pair<K, V> pair;
    TRY_DONE(read_fact(one, name, pair));
    out.insert_or_assign(std::move(pair.first), std::move(pair.second));
  }
  return Done{};
}

template <class T>
Result<Done> read_number(const Json& json, const char* name, T& out) {
  if (!json.is_number_unsigned() || !std::in_range<T>(json.get<std::uint64_t>()))
    return not_a(name, "a number of its range");
  out = static_cast<T>(json.get<std::uint64_t>());
  return Done{};
}

Result<Done> read_distance(const Json& json, const char* name, PciDistance& out) {
  const auto* const found = std::ranges::find_if(
      kDistances, [&json](PciDistance one) { return json.is_string() && json == to_string(one); });
  if (found == kDistances.end()) return not_a(name, "a distance of PCI functions");
  out = *found;
  return Done{};
}

template <class T>
Result<Done> read_fact(const Json& json, const char* name, T& out) {
  if constexpr (kIsOptional<T>) {
    return read_fact(json, name, out.emplace());
  } else if constexpr (std::same_as<T, std::string>) {
    Result<std::string> text = read_exact(json, name);
    if (!text) return not_a(name, "text: " + text.error().what);
    out = *std::move(text);
  } else if constexpr (std::same_as<T, bool>) {
    if (!json.is_boolean()) return not_a(name, "true or false");
    out = json.get<bool>();
  } else if constexpr (std::integral<T>) {
    return read_number(json, name, out);
  } else if constexpr (std::same_as<T, PciDistance>) {
    return read_distance(json, name, out);
  } else if constexpr (kIsPair<T>) {
    if (!json.is_array() || json.size() != 2) return not_a(name, "a list of pairs");
    TRY_DONE(read_fact(json[0], name, out.first));
    return read_fact(json[1], name, out.second);
  } else if constexpr (kIsList<T>) {
    if (!json.is_array()) return not_a(name, "a list");
    return read_list(json, name, out);
  } else {
    TRY(const Fields fields, Fields::of(json, name));
    FactReader reader(fields);
    discovered(reader, out);
    if (reader.failed) return *std::move(reader.failed);
  }
  return Done{};
}

// What a report takes for granted, as it is so by construction where a host discovers itself.
Result<Done> check_discovered(const DiscoveredHost& host) {
  const auto names = [](const DiscoveredGpu& gpu) {
    std::vector<std::string> out;
    for (const auto& [nic, distance] : gpu.nics) out.push_back(nic);
    return out;
  };
  for (const DiscoveredGpu& one : host.gpus)
    if (names(one) != names(host.gpus.front()))
      return wrong("field 'nics': the GPUs do not name the same NICs");
  for (const DiscoveredRdma& one : host.rdma)
    if (one.ports.size() != one.facts.ports.size())
      return wrong("field 'ports': of RDMA device " + one.facts.name + " there are " +
                   std::to_string(one.facts.ports.size()) + " ports, and GIDs of " +
                   std::to_string(one.ports.size()));
  return Done{};
}

}  // namespace

std::string encode(const DiscoveredHost& host) { return text_of(fact_json(host)); }

Result<DiscoveredHost> decode_discovery(std::string_view body) {
  TRY(const Json json, parsed(body));
  DiscoveredHost out;
  TRY_DONE(read_fact(json, "discovery", out));
  TRY_DONE(check_discovered(out));
  return out;
}

}  // namespace lockstep::wire
