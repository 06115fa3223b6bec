#include "specs/platforms/platform.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <mutex>

#include "specs/language/node.hpp"
#include "specs/language/said.hpp"
#include "specs/model/near_miss.hpp"

namespace lockstep {
namespace {

constexpr FigureKey kFigures[] = {
    {"cellBytes", &Platform::cell_bytes, "B", "the unit in which the buffer is given out"},
    {"pipelineBytes", &Platform::pipeline_bytes, "B", "in the pipeline between XON and the first packet"},
    {"macPhyBytes", &Platform::mac_phy_bytes, "B", "in MAC and PHY while a pause frame passes them"},
    {"peerResponseBytes", &Platform::peer_response_bytes, "B", "sent before a peer obeys, without quanta"},
    {"smallPacketPercent", &Platform::small_packet_percent, "%", "packets that fill their cells badly"},
    {"gearboxNs", &Platform::gearbox_ns, "ns", "that a gearbox holds a frame, one way"},
    {"eightLaneGbps", &Platform::eight_lane_gbps, "Gbit/s", "the speed whose ports have eight lanes"},
    {"sharedBufferBytes", &Platform::shared_buffer_bytes, "B", "buffer that headroom and pools share"},
    {"sharedHeadroomBytes", &Platform::shared_headroom_bytes, "B", "of it, for what comes after XOFF"},
    {"alphaLog2", &Platform::alpha_log2, "log2", "dynamic threshold of a lossless priority group"},
    {"receiveBufferBytes", &Platform::receive_buffer_bytes, "B", "receive buffer of a NIC's port"},
    {"trafficClasses", &Platform::traffic_classes, "", "traffic classes of a port"},
    {"losslessClasses", &Platform::lossless_classes, "", "lossless classes of a port"},
    {"capacityGbps", &Platform::capacity_gbps, "Gbit/s", "speeds of all ports together"},
    {"lanes", &Platform::lanes, "", "SerDes for ports: each port needs at least one"},
    {"rdmaPortsMax", &Platform::rdma_ports_max, "", "ports of one adapter beyond which it has no RDMA"},
    {"mtuMin", &Platform::mtu_min, "B", "smallest IP MTU"},
    {"mtuMax", &Platform::mtu_max, "B", "largest IP MTU"},
    {"watchdogMinMs", &Platform::watchdog_min_ms, "ms", "shortest time of its PFC watchdog"},
    {"watchdogDetectionMaxMs", &Platform::watchdog_detection_max_ms, "ms", "longest detectionTime of it"},
};

constexpr FactKey kFacts[] = {
    {"pfc", &Platform::pfc, "priority flow control"},
    {"ecn", &Platform::ecn, "marks or reacts to ECN"},
    {"trustDscp", &Platform::trust_dscp, "classifies by DSCP"},
    {"trustPcp", &Platform::trust_pcp, "classifies by VLAN priority"},
    {"trustExclusive", &Platform::trust_exclusive, "DSCP and VLAN modes exclude each other"},
    {"priorityIsTc", &Platform::priority_is_tc, "in DSCP mode priority n is traffic class n"},
    {"perPacket", &Platform::per_packet, "sprays packets over equal paths"},
    {"flowlet", &Platform::flowlet, "moves flows between bursts"},
    {"outOfOrder", &Platform::out_of_order, "places packets that arrive out of order"},
    {"rdma", &Platform::rdma, "RDMA (RoCEv2)"},
    {"ownHeadroom", &Platform::own_headroom, "firmware sizes the receive headroom, nothing can be set"},
};

constexpr std::uint64_t kWordMax = 65'535;
constexpr std::uint64_t kCableMost = 1'000'000;  // metres; Jericho's tables go to 120 km

constexpr std::string_view kTopKeys[] = {
    "platform", "kind",        "about", "figures",    "headroomRule",           "pauseQuanta",
    "headroom", "ecnDefaults", "facts", "hashFields", "adaptiveRoutingSetting", "needsReset",
    "notes"};

// "spectrum-9.yaml:3:12: "
std::string place_text(std::string_view file, Position at) {
  return std::string(file) + ":" + std::to_string(at.line) + ":" + std::to_string(at.column) + ": ";
}

// Reads one file, up to the first error.
class PlatformFile {
 public:
  PlatformFile(std::string_view file, const Node& root) : file_(file), root_(root) {}

  Result<Platform> read() {
    TRY_DONE(only(root_, kTopKeys));
    TRY(out_.name, text(root_, "platform"));
    TRY(out_.about, text(root_, "about"));
    TRY(const std::string kind, text(root_, "kind"));
    const auto kinds = words(PlatformKind{});
    const auto found = std::find(kinds.begin(), kinds.end(), kind);
    if (found == kinds.end()) return wrong(root_, "kind is switch, nic or software");
    out_.kind = static_cast<PlatformKind>(found - kinds.begin());
    TRY_DONE(figures());
    TRY_DONE(facts());
    TRY_DONE(pause_quanta());
    TRY_DONE(headroom_rule());
    TRY_DONE(headroom());
    TRY_DONE(ecn_defaults());
    TRY_DONE(hash_fields());
    TRY_DONE(adaptive_routing());
    TRY_DONE(prose());
    return std::move(out_);
  }
  Position at() const { return at_; }

 private:
  Error wrong(const Node& at, std::string what) const {
    at_ = at.at;
    return {ErrorKind::invalid_spec, place_text(file_, at.at) + std::move(what)};
  }

  Result<Done> only(const Node& map, std::span<const std::string_view> keys) const {
    if (map.shape != Node::Shape::map) return wrong(map, "a map is expected");
    for (const auto& [key, value] : map.fields)
      if (std::find(keys.begin(), keys.end(), key->text) == keys.end())
        return wrong(*key, "unknown key " + key->text);
    return Done{};
  }

  Result<std::string> text(const Node& map, std::string_view key) const {
    const Node* const node = map.find(key);
    if (node == nullptr || node->shape != Node::Shape::scalar || node->text.empty())
      return wrong(map, "no " + std::string(key));
    return node->text;
  }

  Result<double> number(const Node& map, std::string_view key) const {
    TRY(const std::string written, text(map, key));
    double value = 0;
    const char* const end = written.data() + written.size();
    const auto [stop, problem] = std::from_chars(written.data(), end, value);
    if (problem != std::errc() || stop != end || !std::isfinite(value))
      return wrong(*map.find(key), std::string(key) + " is not a number");
    return value;
  }

  Result<std::uint64_t> count(const Node& map, std::string_view key) const {
    TRY(const double value, number(map, key));
    constexpr double kMost = 1e15;  // exact in a double, far above any buffer
    if (value < 0 || value > kMost) return wrong(*map.find(key), std::string(key) + " is out of range");
    return static_cast<std::uint64_t>(value);
  }

  Result<std::uint64_t> speed(const Node& at, std::string_view written) const {
    const Result<BitRate> rate = parse_bit_rate(written);
    if (!rate) return wrong(at, rate.error().what);
    return rate->bits_per_second;
  }

  // Range limits of the arithmetic: log2 of alpha is SONiC's dynamic_th; a cell must not be empty.
  Result<Done> in_range(const Node& at, const FigureKey& row, double value) const {
    constexpr double kMost = 1e15;  // exact in a double, far above any buffer
    constexpr double kLeastLog2 = -8;
    constexpr double kMostLog2 = 7;
    const bool is_log2 = row.unit == "log2";
    const bool is_positive =
        row.member == &Platform::cell_bytes || row.member == &Platform::shared_buffer_bytes;
    if (is_log2 && value != std::floor(value)) return wrong(at, std::string(row.key) + " is a whole number");
    const double least = is_log2 ? kLeastLog2 : 0;
    const double most = is_log2 ? kMostLog2 : row.unit == "%" ? 100 : kMost;
    if (value >= least && value <= most && (value > 0 || !is_positive)) return Done{};
    return wrong(at, std::string(row.key) + " is out of range");
  }

  // Null: the key is absent.
  Result<const Node*> list(std::string_view key) const {
    const Node* const node = root_.find(key);
    if (node != nullptr && node->shape != Node::Shape::list)
      return wrong(*node, std::string(key) + " is a list");
    return node;
  }

  Result<Done> figures() {
    const Node* const map = root_.find("figures");
    if (map == nullptr) return Done{};
    if (map->shape != Node::Shape::map) return wrong(*map, "figures is a map");
    for (const auto& [key, node] : map->fields) {
      const auto row = std::find_if(std::begin(kFigures), std::end(kFigures),
                                    [&](const FigureKey& one) { return one.key == key->text; });
      if (row == std::end(kFigures)) return wrong(*key, "unknown figure " + key->text);
      constexpr std::string_view kKeys[] = {"value", "source", "differs"};
      TRY_DONE(only(*node, kKeys));
      Figure figure;
      TRY(figure.value, number(*node, "value"));
      TRY_DONE(in_range(*node->find("value"), *row, figure.value));
      TRY(figure.source, text(*node, "source"));
      if (const Node* const differs = node->find("differs"))
        for (const Node* const item : differs->items) {
          OtherValue other;
          TRY_DONE(only(*item, std::span(kKeys).first(2)));
          TRY(other.value, number(*item, "value"));
          TRY(other.source, text(*item, "source"));
          figure.differs.push_back(std::move(other));
        }
      out_.*(row->member) = std::move(figure);
    }
    return Done{};
  }

  Result<Done> facts() {
    const Node* const map = root_.find("facts");
    if (map == nullptr) return Done{};
    for (const auto& [key, node] : map->fields) {
      const auto row = std::find_if(std::begin(kFacts), std::end(kFacts),
                                    [&](const FactKey& one) { return one.key == key->text; });
      if (row == std::end(kFacts)) return wrong(*key, "unknown fact " + key->text);
      constexpr std::string_view kKeys[] = {"value", "source"};
      TRY_DONE(only(*node, kKeys));
      TRY(const std::string value, text(*node, "value"));
      if (value != "true" && value != "false") return wrong(*node, "a fact is true or false");
      Fact fact{.value = value == "true", .source = {}};
      TRY(fact.source, text(*node, "source"));
      out_.*(row->member) = std::move(fact);
    }
    return Done{};
  }

  Result<Done> pause_quanta() {
    const Node* const map = root_.find("pauseQuanta");
    if (map == nullptr) return Done{};
    constexpr std::string_view kKeys[] = {"source", "values"};
    TRY_DONE(only(*map, kKeys));
    TRY(out_.pause_quanta_source, text(*map, "source"));
    const Node* const values = map->find("values");
    if (values == nullptr || values->shape != Node::Shape::map) return wrong(*map, "no map of values");
    for (const auto& [key, node] : values->fields) {
      PauseQuanta row;
      TRY(row.speed, speed(*key, key->text));
      TRY(const std::uint64_t quanta, count(*values, key->text));
      if (quanta > kWordMax) return wrong(*key, "a pause has 16 bits (IEEE 802.3 31B.2)");
      row.quanta = static_cast<std::uint32_t>(quanta);
      out_.pause_quanta.push_back(row);
    }
    return Done{};
  }

  Result<Done> headroom() {
    TRY(const Node* const rows, list("headroom"));
    if (rows == nullptr) return Done{};
    for (const Node* const item : rows->items) {
      constexpr std::string_view kKeys[] = {"speed",          "cableMetres", "reservedBytes", "xonBytes",
                                            "xonOffsetBytes", "xoffBytes",   "source"};
      TRY_DONE(only(*item, kKeys));
      HeadroomRow row;
      TRY(const std::string rate, text(*item, "speed"));
      TRY(row.speed, speed(*item, rate));
      TRY(const std::uint64_t metres, count(*item, "cableMetres"));
      if (metres > kCableMost) return wrong(*item, "cableMetres is 1000000 at most");
      row.cable_metres = static_cast<std::uint32_t>(metres);
      TRY(row.reserved_bytes, count(*item, "reservedBytes"));
      TRY(row.xon_bytes, count(*item, "xonBytes"));
      TRY(row.xon_offset_bytes, count(*item, "xonOffsetBytes"));
      TRY(row.xoff_bytes, count(*item, "xoffBytes"));
      TRY(row.source, text(*item, "source"));
      out_.headroom.push_back(std::move(row));
    }
    return Done{};
  }

  Result<Done> headroom_rule() {
    const Node* const map = root_.find("headroomRule");
    if (map == nullptr) return Done{};
    constexpr std::string_view kKeys[] = {"name", "source"};
    TRY_DONE(only(*map, kKeys));
    NamedRule rule;
    TRY(rule.name, text(*map, "name"));
    if (rule.name != "mlx5") return wrong(*map, "the one rule that is known is mlx5");
    TRY(rule.source, text(*map, "source"));
    out_.headroom_rule = std::move(rule);
    return Done{};
  }

  Result<PublishedEcn> ecn(const Node& map, std::span<const std::string_view> keys) const {
    TRY_DONE(only(map, keys));
    PublishedEcn out;
    TRY(out.kmin_bytes, count(map, "kminBytes"));
    TRY(out.kmax_bytes, count(map, "kmaxBytes"));
    TRY(const double percent, number(map, "pmaxPercent"));
    constexpr double kPartsPerPercent = 10'000;
    constexpr std::uint32_t kStep = 1000;  // 0.1 %, as in specs
    if (percent > 0 && percent <= 100)
      out.pmax = Ratio{static_cast<std::uint32_t>(std::lround(percent * kPartsPerPercent))};
    if (out.pmax.parts_per_million == 0 || out.pmax.parts_per_million % kStep != 0)
      return wrong(*map.find("pmaxPercent"), "pmaxPercent is above 0, 100 at most, and in steps of 0.1");
    if (out.kmin_bytes == 0 || out.kmin_bytes > out.kmax_bytes)
      return wrong(*map.find("kminBytes"), "kminBytes is above 0, and kmaxBytes at most");
    TRY(out.source, text(map, "source"));
    return out;
  }

  Result<Done> ecn_defaults() {
    const Node* const map = root_.find("ecnDefaults");
    if (map == nullptr) return Done{};
    constexpr std::string_view kKeys[] = {"kminBytes", "kmaxBytes", "pmaxPercent", "source", "differs"};
    TRY(out_.ecn_defaults, ecn(*map, kKeys));
    if (const Node* const differs = map->find("differs"))
      for (const Node* const item : differs->items) {
        TRY(PublishedEcn other, ecn(*item, std::span(kKeys).first(4)));
        out_.other_ecn_defaults.push_back(std::move(other));
      }
    return Done{};
  }

  Result<Done> hash_fields() {
    const Node* const map = root_.find("hashFields");
    if (map == nullptr) return Done{};
    TRY(out_.hash_fields_source, text(*map, "source"));
    const Node* const values = map->find("values");
    if (values == nullptr) return wrong(*map, "no values");
    const auto spellings = words(HashField{});
    for (const Node* const item : values->items) {
      const auto found = std::find(spellings.begin(), spellings.end(), item->text);
      if (found == spellings.end()) return wrong(*item, "unknown hash field " + item->text);
      out_.hash_fields.push_back(static_cast<HashField>(found - spellings.begin()));
    }
    return Done{};
  }

  Result<Done> adaptive_routing() {
    const Node* const map = root_.find("adaptiveRoutingSetting");
    if (map == nullptr) return Done{};
    TRY(out_.adaptive_routing_setting, text(*map, "name"));
    TRY(out_.adaptive_routing_source, text(*map, "source"));
    return Done{};
  }

  Result<Done> prose() {
    TRY(const Node* const resets, list("needsReset"));
    if (resets != nullptr)
      for (const Node* const item : resets->items) {
        constexpr std::string_view kKeys[] = {"what", "disruption", "source"};
        TRY_DONE(only(*item, kKeys));
        NeedsReset row;
        TRY(row.what, text(*item, "what"));
        TRY(row.disruption, text(*item, "disruption"));
        TRY(row.source, text(*item, "source"));
        out_.needs_reset.push_back(std::move(row));
      }
    TRY(const Node* const notes, list("notes"));
    if (notes != nullptr)
      for (const Node* const item : notes->items) {
        constexpr std::string_view kKeys[] = {"text", "source"};
        TRY_DONE(only(*item, kKeys));
        PlatformNote row;
        TRY(row.text, text(*item, "text"));
        TRY(row.source, text(*item, "source"));
        out_.notes.push_back(std::move(row));
      }
    return Done{};
  }

  std::string_view file_;
  const Node& root_;
  Platform out_;
  mutable Position at_;  // position of an error
};

Result<std::vector<Platform>> read_all() {
  std::vector<Platform> out;
  for (const EmbeddedText& one : embedded_platforms()) {
    TRY(Platform platform, parse_platform(one.name, one.text));
    if (platform.name + ".yaml" != one.name)
      return Error{ErrorKind::invalid_spec, std::string(one.name) + " describes " + platform.name};
    out.push_back(std::move(platform));
  }
  std::sort(out.begin(), out.end(), [](const Platform& a, const Platform& b) { return a.name < b.name; });
  return out;
}

}  // namespace

std::span<const FigureKey> figure_keys() { return kFigures; }
std::span<const FactKey> fact_keys() { return kFacts; }

Result<Platform> parse_platform(std::string_view file, std::string_view text, Position* at) {
  Sources sources;
  Diagnostics diagnostics;
  Reporter reporter(sources, diagnostics);
  const std::uint32_t index = sources.add(std::string(file), std::string(text));
  Position wrong;
  Result<Platform> out = Error{ErrorKind::invalid_spec, std::string(file) + " describes no platform"};
  std::size_t documents = 0;
  read_documents(index, reporter, [&](const Node& root) {
    if (++documents == 1) {
      PlatformFile reading(file, root);
      out = reading.read();
      wrong = reading.at();
    } else if (out) {
      wrong = root.at;
      out = Error{ErrorKind::invalid_spec,
                  place_text(file, wrong) + "a second platform: each has a file of its own"};
    }
  });
  if (!diagnostics.empty()) {
    wrong = diagnostics.front().at;
    out = Error{ErrorKind::invalid_spec, place_text(file, wrong) + diagnostics.front().message};
  }
  if (at != nullptr) *at = wrong;
  return out;
}

const Result<std::vector<Platform>>& all_platforms() {
  static const Result<std::vector<Platform>> all = read_all();
  return all;
}

namespace {

struct OwnPlatform {
  Result<Platform> platform;
  Position at;  // position of the error
};

// Kept for the life of the program, so that references stay valid: there are few, one per distinct text.
const OwnPlatform& own_platform(const SourceFile& file) {
  static std::mutex mutex;
  static std::map<std::string, std::map<std::string, OwnPlatform>> known;  // by name, then text
  const std::lock_guard lock(mutex);
  std::map<std::string, OwnPlatform>& of_name = known[file.name];
  if (const auto found = of_name.find(file.text); found != of_name.end()) return found->second;
  Position at;
  Result<Platform> platform = parse_platform(file.name, file.text, &at);
  return of_name.emplace(file.text, OwnPlatform{std::move(platform), at}).first->second;
}

Error no_platform(std::string_view name, const std::vector<const Platform*>& all) {
  std::vector<std::string_view> names;
  for (const Platform* const one : all) names.push_back(one->name);
  const std::string_view meant = nearest(name, names);
  std::string known;
  for (const std::string_view one : names) known += (known.empty() ? "" : ", ") + std::string(one);
  return {ErrorKind::invalid_spec,
          "no platform is called " + std::string(name) +
              (meant.empty() ? "; known are " + known : "; did you mean " + std::string(meant) + "?")};
}

const Platform* named(std::string_view name, const std::vector<const Platform*>& all) {
  const auto found = std::ranges::find(all, name, &Platform::name);
  return found == all.end() ? nullptr : *found;
}

}  // namespace

std::vector<const Platform*> platforms_of(const Catalog& catalog) {
  std::vector<const Platform*> out;
  for (const std::uint32_t file : catalog.platform_files)
    if (const Result<Platform>& own = own_platform(catalog.sources.files[file]).platform;
        own && named(own->name, out) == nullptr)
      out.push_back(&*own);
  if (const Result<std::vector<Platform>>& all = all_platforms())
    for (const Platform& one : *all)
      if (named(one.name, out) == nullptr) out.push_back(&one);
  std::ranges::sort(out, {}, &Platform::name);
  return out;
}

Diagnostics check_platforms(const Catalog& catalog) {
  Diagnostics out;
  std::map<std::string, std::uint32_t> first;
  for (const std::uint32_t file : catalog.platform_files) {
    const OwnPlatform& own = own_platform(catalog.sources.files[file]);
    Diagnostic wrong;
    wrong.code = "LS120";
    wrong.at = {file, std::max(own.at.line, 1U), std::max(own.at.column, 1U)};
    if (!own.platform) {
      const std::string& file_name = catalog.sources.files[file].name;
      const std::string place = place_text(file_name, own.at);
      wrong.message = own.platform.error().what;
      if (wrong.message.starts_with(place)) wrong.message.erase(0, place.size());
      wrong.hint = "the form of such a file, and its keys: specs/platforms/README.md";
    } else if (const auto [at, fresh] = first.emplace(own.platform->name, file); !fresh) {
      wrong.message = "platform " + own.platform->name + " is described twice";
      wrong.related = {{{at->second, 1, 1}, "first here"}};
    } else {
      continue;
    }
    out.push_back(std::move(wrong));
  }
  return out;
}

Result<const Platform*> find_platform(const Catalog& catalog, std::string_view name) {
  for (const std::uint32_t file : catalog.platform_files)
    if (const Result<Platform>& own = own_platform(catalog.sources.files[file]).platform;
        own && own->name == name)
      return &*own;
  const Result<const Platform*> known = find_platform(name);
  return known ? known : Result<const Platform*>(no_platform(name, platforms_of(catalog)));
}

Result<const Platform*> find_platform(std::string_view name) {
  const Result<std::vector<Platform>>& all = all_platforms();
  if (!all) return all.error();
  for (const Platform& one : *all)
    if (one.name == name) return &one;
  return no_platform(name, platforms_of({}));
}

}  // namespace lockstep
