#include "specs/compile/entry_fields.hpp"

#include <algorithm>
#include <deque>
#include <nlohmann/json.hpp>
#include <utility>

#include "specs/compile/entry_keys.hpp"
#include "specs/compile/entry_texts.hpp"
#include "specs/language/codes.hpp"
#include "specs/language/json_schema.hpp"
#include "specs/language/kinds.hpp"
#include "specs/language/struct_types.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

// How a quantity writes a row's unit, and its size in the row's unit.
struct Unit {
  std::string_view row;
  std::string_view suffix;
  std::uint64_t parts = 1;
};
constexpr Unit units[] = {{"B", "B"}, {"bit/s", "bps"}, {"Mbit/s", "Mbps"}, {"us", "us"},  {"ms", "ms"},
                          {"s", "s"}, {"m", "m"},       {"%", "%"},         {"‰", "%", 10}};

Unit unit_of(std::string_view row) {
  const auto* const at =
      std::find_if(std::begin(units), std::end(units), [row](const Unit& one) { return one.row == row; });
  return at == std::end(units) ? Unit{row, {}} : *at;
}

std::string_view suffix_of(std::string_view unit) { return unit_of(unit).suffix; }

// In the smallest unit of each type.
std::uint64_t amount_of(BitRate value) { return value.bits_per_second; }
std::uint64_t amount_of(ByteCount value) { return value.bytes; }
std::uint64_t amount_of(Length value) { return value.millimetres; }
std::uint64_t amount_of(Ratio value) { return value.parts_per_million; }
std::uint64_t amount_of(Duration value) { return static_cast<std::uint64_t>(value.count()); }

template <class T>
concept Amount = requires(T value) {
  amount_of(value);
};

template <class T>
Value value_of(const T& value) {
  if constexpr (std::same_as<T, std::string>) {
    return Value::text(value);
  } else if constexpr (std::same_as<T, SysctlValue> || EntryText<T>) {
    return Value::text(value.text);
  } else if constexpr (std::same_as<T, bool>) {
    return Value::boolean(value);
  } else if constexpr (std::integral<T>) {
    return Value::integer(value);
  } else if constexpr (requires { words(value); }) {
    return Value::text(to_string(value));
  } else if constexpr (requires { value.text(); }) {
    return Value::text(value.text());
  } else if constexpr (requires { entry_text(value); }) {
    return Value::text(entry_text(value));
  } else {
    return Value::text(format(value));
  }
}

template <Amount T>
std::optional<Value> whole_in(std::string_view unit, const Node& node, T value, Reporter& reporter) {
  const auto [row, suffix, parts] = unit_of(unit);
  const Result<T> one = Quantity<T>::parse("1" + std::string(suffix));
  const std::uint64_t scale = one ? amount_of(*one) / parts : 1;
  if (amount_of(value) % scale == 0) return Value::integer(amount_of(value) / scale);
  reporter.error(code::out_of_range, span_of(node), in_quotes(node.text) + " can't be set",
                 parts == 1 ? "a whole number of " + std::string(unit) : "steps of 0.1%");
  return std::nullopt;
}

bool is_whole_number(const Node& node) {
  return node.shape == Node::Shape::scalar && node.plain && !node.text.empty() &&
         std::all_of(node.text.begin(), node.text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

template <class T>
std::optional<Value> read_one(const Row& row, const Limits& limits, const Node& node, T& value,
                              Reporter& reporter) {
  Node with_unit = node;
  if (Amount<T> && is_whole_number(node)) with_unit.text += suffix_of(row.unit);
  if (!load_scalar(with_unit, limits, value, reporter)) return std::nullopt;
  if constexpr (Amount<T>)
    return whole_in(row.unit, node, value, reporter);
  else
    return value_of(value);
}

template <class T>
std::optional<Value> read_list(const Row& row, const Limits& limits, const Node& node, Reporter& reporter) {
  if (!expect_list(node, reporter)) return std::nullopt;
  std::vector<std::string> items;
  for (const Node* const item : node.items) {
    T value{};
    const std::optional<Value> one = read_one(row, limits, *item, value, reporter);
    if (!one) return std::nullopt;
    if (std::find(items.begin(), items.end(), one->to_string()) != items.end()) {
      reporter.error(code::written_twice, span_of(*item), in_quotes(item->text) + " is written twice");
      return std::nullopt;
    }
    items.push_back(one->to_string());
  }
  return row.is_set() ? Value::set(std::move(items)) : Value::list(items);
}

// The type of one value of a member.
template <class T>
struct ItemOf;
template <class T>
struct ItemOf<Said<T>> {
  using Type = T;
};
template <class T>
struct ItemOf<std::vector<Said<T>>> {
  using Type = T;
};
template <class T>
struct ItemOf<MapEntries<T>> {
  using Type = T;
};

template <auto Member>
const Field& field_of() {
  const std::span<const Field> all = struct_type<typename MemberOf<Member>::Owner>().fields;
  return *std::find_if(all.begin(), all.end(),
                       [](const Field& one) { return one.at == MemberOf<Member>::at; });
}

// As a field defines it, with the rules of the object that the field belongs to.
template <auto Member>
struct AsField {
  using Owner = typename MemberOf<Member>::Owner;
  using T = typename ItemOf<typename MemberOf<Member>::Value>::Type;
  static Limits limits() { return field_of<Member>().limits; }
  static std::optional<Value> read(const Row& row, const Node& node, Reporter& reporter) {
    if (row.type == EntryType::list) return read_list<T>(row, limits(), node, reporter);
    Said<T> said{{}, node.at, true};
    std::optional<Value> value = read_one(row, limits(), node, said.value, reporter);
    if constexpr (std::same_as<typename MemberOf<Member>::Value, Said<T>>) {
      const Type& owner = struct_type<Owner>();
      if (!value || owner.check == nullptr) return value;
      Owner object{};
      object.*Member = std::move(said);
      const std::size_t before = reporter.count();
      owner.check(&object, span_of(node), reporter);
      if (reporter.count() != before) return std::nullopt;
    }
    return value;
  }
};

// As a type defines it, for entries without a field. A kernel that counts bytes accepts bit rates in steps of
// 8.
constexpr Limits no_limits{.least = 0};
constexpr Limits shaped_rates{
    .least = 1000, .range = "1Kbps or more", .why = "what Linux's shapers can keep"};
constexpr Limits function_rates{
    .least = 8, .range = "8bps or more", .why = "0 is no bound (devlink-rate(8))"};
template <class T_, const Limits& bounds, std::int64_t step>
struct AsType {
  using T = T_;
  static Limits limits() { return bounds; }
  static std::optional<Value> read(const Row& row, const Node& node, Reporter& reporter) {
    if (row.type == EntryType::list) return read_list<T>(row, limits(), node, reporter);
    T value{};
    const std::optional<Value> out = read_one(row, limits(), node, value, reporter);
    if (!out || row.type != EntryType::integer || out->as_integer() % step == 0) return out;
    reporter.error(code::out_of_range, span_of(node), in_quotes(node.text) + " can't be set",
                   "steps of " + std::to_string(step) + std::string(suffix_of(row.unit)));
    return std::nullopt;
  }
};

// An AS number that Fabric's ranges may contain.
struct AsAsn {
  using T = std::uint32_t;
  static Limits limits() { return {.least = 1, .most = 4'294'967'294, .why = "RFC 6793, RFC 7300"}; }
  static std::optional<Value> read(const Row& row, const Node& node, Reporter& reporter) {
    T value = 0;
    const std::optional<Value> out = read_one(row, limits(), node, value, reporter);
    const Result<AsnRange> usable = parse_asn_range(node.text);
    if (!out || usable) return out;
    report_quantity(node, usable.error(), reporter);
    return std::nullopt;
  }
};

template <class As>
constexpr EntryField made(RowId row) {
  return {row, TypeOf<Said<typename As::T>>::type, As::limits, As::read};
}
template <auto Member>
constexpr EntryField entry(RowId row) {
  return made<AsField<Member>>(row);
}
template <class T, const Limits& bounds = no_limits, std::int64_t step = 1>
constexpr EntryField amount(RowId row) {
  return made<AsType<T, bounds, step>>(row);
}

constexpr EntryField host_entries[] = {
    entry<&Cpu::governor>(row("cpu/governor")),
    entry<&Cpu::irq_affinity>(row("cpu/irq-affinity")),
    entry<&HostProfile::firmware>(row("firmware[*]")),
    entry<&Gpu::driver>(row("gpu/driver")),
    entry<&Kernel::version>(row("kernel/version")),
    entry<&HostProfile::memlock>(row("memlock")),
    entry<&Nccl::cross_nic>(row("nccl/cross-nic")),
    entry<&Nccl::gid_index>(row("nccl/gid-index")),
    entry<&Nccl::qps_per_connection>(row("nccl/qps-per-connection")),
    entry<&Nccl::service_level>(row("nccl/service-level")),
    amount<std::uint8_t>(row("nccl/traffic-class")),  // a ToS byte
    entry<&HostProfile::packages>(row("package[*]")),
    entry<&Pcie::max_read_request>(row("pcie/max-read-request")),
    entry<&HostProfile::services>(row("service[*]")),
    entry<&HostProfile::sysctl>(row("sysctl[*]")),
};

constexpr EntryField nic_entries[] = {
    entry<&NicChannels::combined>(row("interface[*]/channels[*]")),
    entry<&NicCoalescing::rx_frames>(row("interface[*]/coalescing/frames[*]")),
    entry<&NicCoalescing::rx_time>(row("interface[*]/coalescing/time[*]")),
    entry<&VirtualFunctions::eswitch>(row("interface[*]/eswitch")),
    entry<&Nic::fec>(row("interface[*]/fec")),
    entry<&NicRings::rx>(row("interface[*]/ring[*]")),
    amount<BitRate, function_rates, 8>(row("interface[*]/virtual-function[*]/max-rate")),
    entry<&VirtualFunctions::count>(row("interface[*]/virtual-functions")),
};

constexpr EntryField port_entries[] = {
    entry<&Bond::lacp_rate>(row("bond[*]/lacp-rate")),
    entry<&Bond::min_links>(row("bond[*]/min-links")),
    entry<&Bond::mode>(row("bond[*]/mode")),
    amount<PortText>(row("bond[*]/members")),
    entry<&Multihoming::segment>(row("bond[*]/segment")),
    entry<&Multihoming::system_mac>(row("bond[*]/system-mac")),
    entry<&Counted::interval>(row("counter-group[*]/interval")),
    entry<&Port::breakout>(row("interface[*]/breakout")),
    entry<&Mtu::host>(row("interface[*]/mtu")),
    amount<BitRate, shaped_rates, 8>(row("interface[*]/rate")),
    entry<&Interface::speed>(row("interface[*]/speed")),
    amount<VlanMember>(row("interface[*]/vlans")),
    entry<&Fabric::vrf>(row("interface[*]/vrf")),
    amount<IpPrefix>(row("vlan[*]/gateway")),
    entry<&Vlan::name>(row("vlan[*]/name")),
};

constexpr EntryField roce_entries[] = {
    amount<ByteCount>(row("buffer-headroom")),
    entry<&BufferPools::lossy>(row("buffer-pool[*]/share")),
    entry<&Buffers::dynamic_threshold>(row("interface[*]/buffer[*]/dynamic-threshold")),
    amount<ByteCount>(row("interface[*]/buffer[*]/size")),
    amount<ByteCount>(row("interface[*]/buffer[*]/xoff")),
    amount<ByteCount>(row("interface[*]/buffer[*]/xon")),
    amount<ByteCount>(row("interface[*]/buffer[*]/xon-offset")),
    entry<&Cabling::cable_length>(row("interface[*]/cable-length")),
    entry<&TrafficClass::dscp>(row("interface[*]/class[*]/dscp")),
    entry<&Ecn::kmax>(row("interface[*]/class[*]/ecn-max")),
    entry<&Ecn::kmin>(row("interface[*]/class[*]/ecn-min")),
    entry<&Ecn::pmax>(row("interface[*]/class[*]/ecn-probability")),
    amount<BitRate, shaped_rates, 8>(row("interface[*]/class[*]/max-rate")),
    entry<&TrafficClass::priority>(row("interface[*]/class[*]/priority")),
    entry<&TrafficClass::bandwidth>(row("interface[*]/class[*]/share")),
    entry<&TrafficClass::dscp>(row("interface[*]/cnp-dscp")),
    entry<&TrafficClass::priority>(row("interface[*]/cnp-priority")),
    entry<&RoceProfile::congestion_control>(row("interface[*]/congestion-control")),
    amount<ByteCount>(row("interface[*]/ecn-threshold")),
    amount<DcbxMode>(row("interface[*]/dcbx")),
    entry<&TrafficClass::priority>(row("interface[*]/pfc")),
    entry<&Watchdog::action>(row("interface[*]/pfc-watchdog/action")),
    entry<&Watchdog::detection_time>(row("interface[*]/pfc-watchdog/detection-time")),
    entry<&Pfc::asymmetric>(row("interface[*]/pfc-asymmetric")),
    entry<&Watchdog::poll_interval>(row("pfc-watchdog/poll-interval")),
    entry<&Watchdog::restoration_time>(row("interface[*]/pfc-watchdog/restoration-time")),
    amount<std::uint8_t>(row("interface[*]/roce-tos")),
    entry<&RoceProfile::trust>(row("interface[*]/trust")),
};

constexpr EntryField dcqcn_entries[] = {
    entry<&Dcqcn::additive_increase>(row("interface[*]/dcqcn/additive-increase")),
    entry<&Dcqcn::alpha_gain>(row("interface[*]/dcqcn/alpha-gain")),
    entry<&Dcqcn::alpha_timer>(row("interface[*]/dcqcn/alpha-timer")),
    entry<&Dcqcn::byte_reset>(row("interface[*]/dcqcn/byte-reset")),
    entry<&Dcqcn::cnp_interval>(row("interface[*]/dcqcn/cnp-interval")),
    entry<&Dcqcn::fast_recovery_steps>(row("interface[*]/dcqcn/fast-recovery-steps")),
    entry<&Dcqcn::hyper_increase>(row("interface[*]/dcqcn/hyper-increase")),
    entry<&Dcqcn::initial_alpha>(row("interface[*]/dcqcn/initial-alpha")),
    entry<&Dcqcn::max_rate>(row("interface[*]/dcqcn/max-rate")),
    entry<&Dcqcn::min_decrease>(row("interface[*]/dcqcn/min-decrease")),
    entry<&Dcqcn::min_rate>(row("interface[*]/dcqcn/min-rate")),
    entry<&Dcqcn::rate_on_first_cnp>(row("interface[*]/dcqcn/rate-on-first-cnp")),
    entry<&Dcqcn::rate_reduce_period>(row("interface[*]/dcqcn/rate-reduce-period")),
    entry<&Dcqcn::reduction_shift>(row("interface[*]/dcqcn/reduction-shift")),
    entry<&Dcqcn::time_reset>(row("interface[*]/dcqcn/time-reset")),
};

constexpr EntryField routing_entries[] = {
    entry<&Bfd::multiplier>(row("bfd-profile[*]/multiplier")),
    entry<&Bfd::interval>(row("bfd-profile[*]/receive-interval")),
    entry<&Bfd::interval>(row("bfd-profile[*]/transmit-interval")),
    made<AsAsn>(row("bgp/asn")),
    entry<&Ecmp::max_paths>(row("bgp/max-paths")),
    entry<&BgpTimers::hold>(row("bgp/neighbor[*]/hold")),
    entry<&BgpTimers::keepalive>(row("bgp/neighbor[*]/keepalive")),
    amount<RemoteAs>(row("bgp/neighbor[*]/remote-as")),
    amount<RouterId>(row("bgp/router-id")),
    entry<&Flowlets::entries>(row("load-balancing/flowlet-entries")),
    entry<&Flowlets::inactivity>(row("load-balancing/flowlet-inactivity")),
    entry<&LoadBalancing::link_utilization>(row("load-balancing/link-utilization")),
    entry<&LoadBalancing::hash_fields>(row("load-balancing/hash-fields")),
    entry<&LoadBalancing::mode>(row("load-balancing/mode")),
    entry<&HashSeeds::leaf>(row("load-balancing/seed")),
    amount<NextHopText>(row("route[*]")),
};

// The literal as written; items are stored in `store`.
Node node_of(const Literal& literal, std::deque<Node>& store) {
  using Shape = Literal::Shape;
  Node node;
  node.shape = literal.shape == Shape::null   ? Node::Shape::null
               : literal.shape == Shape::list ? Node::Shape::list
               : literal.shape == Shape::map  ? Node::Shape::map
                                              : Node::Shape::scalar;
  node.plain = literal.plain;
  node.at = literal.at;
  node.text = literal.text;
  node.length = static_cast<std::uint32_t>(literal.text.size());
  for (const Literal& item : literal.items) node.items.push_back(&store.emplace_back(node_of(item, store)));
  return node;
}

// "interface[*]/mtu" as a regular expression over paths, whose keys may contain matching brackets.
std::string pattern_of(RowId id) {
  constexpr std::string_view any = R"(([^\[\]]|\[[^\[\]]*\])+)";
  std::string out = "^";
  std::size_t place = 0;
  for (const char c : schema_row(id).pattern) {
    if (c == '[' || c == ']') {
      out += std::string("\\") + c;
    } else if (c != '*') {
      out += c;
    } else {
      const EntryKey* const rule = entry_key(id, place++);
      out += rule == nullptr ? any : rule->pattern;
    }
  }
  return out + "$";
}

nlohmann::json value_schema(RowId id) {
  const Row& row = schema_row(id);
  const EntryField* const field = field_of_entry(id);
  if (field != nullptr) {
    nlohmann::json value = json_schema_of(field->type(), field->limits());
    return row.type == EntryType::list
               ? nlohmann::json{{"type", "array"}, {"items", std::move(value)}, {"uniqueItems", true}}
               : value;
  }
  switch (row.type) {
    case EntryType::present: return {{"const", true}};
    case EntryType::boolean: return {{"type", "boolean"}};
    case EntryType::integer: return {{"type", "integer"}};
    case EntryType::text: return {{"type", nlohmann::json::array({"string", "number", "boolean"})}};
    case EntryType::list: return {{"type", "array"}};
    case EntryType::secret: break;
  }
  return false;
}

}  // namespace

const EntryField* field_of_entry(RowId id) {
  for (const std::span<const EntryField> table :
       {std::span<const EntryField>(host_entries), std::span<const EntryField>(nic_entries),
        std::span<const EntryField>(port_entries), std::span<const EntryField>(roce_entries),
        std::span<const EntryField>(dcqcn_entries), std::span<const EntryField>(routing_entries)})
    for (const EntryField& one : table)
      if (one.row == id) return &one;
  return nullptr;
}

std::optional<Value> read(const EntryField& field, const Literal& literal, Reporter& reporter) {
  std::deque<Node> store;
  return field.read(schema_row(field.row), node_of(literal, store), reporter);
}

// What overrides may set: every configuration entry, with the schema of its field.
nlohmann::json entries_schema() {
  nlohmann::json patterns = nlohmann::json::object();
  for (std::size_t i = 0; i < kSchema.size(); ++i) {
    const auto id = static_cast<RowId>(i);
    if (kSchema[i].facet != Facet::effect) patterns[pattern_of(id)] = value_schema(id);
  }
  return {{"type", "object"}, {"patternProperties", std::move(patterns)}, {"additionalProperties", false}};
}

}  // namespace lockstep
