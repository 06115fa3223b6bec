#include "specs/platforms/platform.hpp"

#include <algorithm>
#include <charconv>

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
    {"trafficClasses", &Platform::traffic_classes, "", "traffic classes of a port"},
    {"losslessClasses", &Platform::lossless_classes, "", "lossless classes of a port"},
    {"rdmaPortsMax", &Platform::rdma_ports_max, "", "ports of one adapter beyond which it has no RDMA"},
    {"mtuMin", &Platform::mtu_min, "B", "smallest IP MTU"},
    {"mtuMax", &Platform::mtu_max, "B", "largest IP MTU"},
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
};

constexpr std::string_view kTopKeys[] = {"platform", "kind",  "about",      "figures",    "pauseQuanta",
                                         "headroom", "facts", "hashFields", "needsReset", "notes"};

// Reads one file; the first thing that is wrong stops it, since the files are the tree's own.
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
    TRY_DONE(headroom());
    TRY_DONE(hash_fields());
    TRY_DONE(prose());
    return std::move(out_);
  }

 private:
  Error wrong(const Node& at, std::string what) const {
    return {ErrorKind::invalid_spec,
            std::string(file_) + ":" + std::to_string(at.at.line) + ": " + std::move(what)};
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
    if (problem != std::errc() || stop != end) return wrong(map, std::string(key) + " is not a number");
    return value;
  }

  Result<std::uint64_t> count(const Node& map, std::string_view key) const {
    TRY(const double value, number(map, key));
    constexpr double kMost = 1e15;  // exact in a double, far above any buffer
    if (value < 0 || value > kMost) return wrong(map, std::string(key) + " is out of range");
    return static_cast<std::uint64_t>(value);
  }

  Result<std::uint64_t> speed(const Node& at, std::string_view written) const {
    const Result<BitRate> rate = parse_bit_rate(written);
    if (!rate) return wrong(at, rate.error().what);
    return rate->bits_per_second;
  }

  Result<Done> figures() {
    const Node* const map = root_.find("figures");
    if (map == nullptr) return Done{};
    for (const auto& [key, node] : map->fields) {
      const auto row = std::find_if(std::begin(kFigures), std::end(kFigures),
                                    [&](const FigureKey& one) { return one.key == key->text; });
      if (row == std::end(kFigures)) return wrong(*key, "unknown figure " + key->text);
      constexpr std::string_view kKeys[] = {"value", "source", "differs"};
      TRY_DONE(only(*node, kKeys));
      Figure figure;
      TRY(figure.value, number(*node, "value"));
      TRY(figure.source, text(*node, "source"));
      if (const Node* const differs = node->find("differs"))
        for (const Node* const item : differs->items) {
          OtherValue other;
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
    TRY(out_.pause_quanta_source, text(*map, "source"));
    const Node* const values = map->find("values");
    if (values == nullptr) return wrong(*map, "no values");
    for (const auto& [key, node] : values->fields) {
      PauseQuanta row;
      TRY(row.speed, speed(*key, key->text));
      TRY(const std::uint64_t quanta, count(*values, key->text));
      row.quanta = static_cast<std::uint32_t>(quanta);
      out_.pause_quanta.push_back(row);
    }
    return Done{};
  }

  Result<Done> headroom() {
    const Node* const list = root_.find("headroom");
    if (list == nullptr) return Done{};
    for (const Node* const item : list->items) {
      HeadroomRow row;
      TRY(const std::string rate, text(*item, "speed"));
      TRY(row.speed, speed(*item, rate));
      TRY(const std::uint64_t metres, count(*item, "cableMetres"));
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

  Result<Done> prose() {
    if (const Node* const list = root_.find("needsReset"))
      for (const Node* const item : list->items) {
        NeedsReset row;
        TRY(row.what, text(*item, "what"));
        TRY(row.disruption, text(*item, "disruption"));
        TRY(row.source, text(*item, "source"));
        out_.needs_reset.push_back(std::move(row));
      }
    if (const Node* const list = root_.find("notes"))
      for (const Node* const item : list->items) {
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

Result<Platform> parse_platform(std::string_view file, std::string_view text) {
  Sources sources;
  Diagnostics diagnostics;
  Reporter reporter(sources, diagnostics);
  const std::uint32_t index = sources.add(std::string(file), std::string(text));
  Result<Platform> out = Error{ErrorKind::invalid_spec, std::string(file) + " is empty"};
  read_documents(index, reporter, [&](const Node& root) { out = PlatformFile(file, root).read(); });
  if (diagnostics.empty()) return out;
  return Error{ErrorKind::invalid_spec, std::string(file) + ":" +
                                            std::to_string(diagnostics.front().at.line) + ": " +
                                            diagnostics.front().message};
}

const Result<std::vector<Platform>>& all_platforms() {
  static const Result<std::vector<Platform>> all = read_all();
  return all;
}

Result<const Platform*> find_platform(std::string_view name) {
  const Result<std::vector<Platform>>& all = all_platforms();
  if (!all) return all.error();
  std::vector<std::string_view> names;
  for (const Platform& one : *all) {
    if (one.name == name) return &one;
    names.push_back(one.name);
  }
  const std::string_view meant = nearest(name, names);
  std::string known;
  for (const std::string_view one : names) known += (known.empty() ? "" : ", ") + std::string(one);
  return Error{ErrorKind::invalid_spec,
               "no platform is called " + std::string(name) +
                   (meant.empty() ? "; known are " + known : "; did you mean " + std::string(meant) + "?")};
}

}  // namespace lockstep
