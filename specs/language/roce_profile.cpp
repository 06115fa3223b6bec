// The field tables of RoceProfile, and the rules between its fields.
#include <map>

#include "specs/language/codes.hpp"
#include "specs/language/fabric.hpp"
#include "specs/language/kind_rows.hpp"

namespace lockstep {

namespace {

constexpr std::int64_t whole = 1'000'000;  // 100%, in parts per million
constexpr std::int64_t millisecond = 1'000'000;
constexpr Limits priority_limits{
    .required = true, .least = 0, .most = 7, .why = "IEEE 802.1Q has 8 priorities and traffic classes"};

constexpr Field ecn_fields[] = {
    field<&Ecn::kmin>("kmin", "queue length at which marking begins", {.required = true}),
    field<&Ecn::kmax>("kmax", "queue length at which marking is at pmax",
                      {.required = true, .least = 1, .range = "more than 0B"}),
    field<&Ecn::pmax>("pmax", "share of packets marked at kmax",
                      {.required = true, .most = whole, .range = "0% to 100%"}),
};
constexpr Field class_fields[] = {
    field<&TrafficClass::name>("name", "the class's name", {.required = true, .form = Form::name}),
    field<&TrafficClass::dscp>(
        "dscp", "the DSCPs that it takes",
        {.required = true, .least = 0, .most = 63, .why = "a DSCP has 6 bits (RFC 2474 3)"}),
    field<&TrafficClass::priority>("priority", "its priority, for PFC", priority_limits),
    field<&TrafficClass::tc>("tc", "its traffic class: the queue", priority_limits),
    field<&TrafficClass::bandwidth>("bandwidth", "its share of the link when all classes send",
                                    {.least = 1, .most = whole, .range = "more than 0%, to 100%"}),
    field<&TrafficClass::scheduling>("scheduling", "dwrr (by bandwidth) or strict"),
    field<&TrafficClass::max_rate>("maxRate", "the most that it may send",
                                   {.least = 1,
                                    .range = "1Kbps or more, or a share above 0%",
                                    .pattern = "^(?!0*[0-9]{0,3}([.][0-9]*)?bps$)"}),
    field<&TrafficClass::lossless>("lossless", "true if PFC holds senders back rather than drop"),
    field<&TrafficClass::ecn>("ecn", "auto, or thresholds"),
};
constexpr Field watchdog_fields[] = {
    field<&Watchdog::detection_time>(
        "detectionTime", "how long a queue is paused before it counts as stuck",
        {.required = true, .least = 10 * millisecond, .most = 60'000 * millisecond, .range = "10ms to 60s"}),
    field<&Watchdog::restoration_time>(
        "restorationTime", "how long after the last pause it is restored",
        {.least = 10 * millisecond, .most = 60'000 * millisecond, .range = "10ms to 60s"}),
    field<&Watchdog::action>("action", "what happens to a stuck queue's packets"),
};
constexpr Field pfc_fields[] = {
    field<&Pfc::watchdog>("watchdog", "breaks PFC storms"),
};
constexpr Field fields[] = {
    field<&RoceProfile::trust>("trust", "dscp or pcp: which field of a packet decides"),
    field<&RoceProfile::classes>("classes",
                                 "traffic classes; a DSCP that none names goes to the class `default`",
                                 {.required = true, .not_empty = true}),
    field<&RoceProfile::congestion_control>("congestionControl", "dcqcn, none or vendor"),
    field<&RoceProfile::pfc>("pfc", "priority flow control"),
    field<&RoceProfile::small_packets>(
        "smallPackets", "share of packets that fill a cell of the buffer badly, for the headroom",
        {.most = whole, .range = "0% to 100%", .why = "SONiC's small_packet_percentage; the worst is 100%"}),
};

// `auto`, or thresholds.
void load_ecn(const Type& type, const Limits&, const Node& node, void* out, Reporter& reporter) {
  auto& said = *static_cast<Said<Ecn>*>(out);
  said.at = node.at;
  said.said = true;
  if (node.shape == Node::Shape::scalar) {
    std::size_t word = 0;
    said.value.automatic = said.said = load_word(node, type.words, word, reporter);
    return;
  }
  if (!expect_map(node, type.noun, reporter)) return;
  const Part part{type.fields, &said.value};
  load_fields({&part, 1}, node, type.noun, reporter);
  const Ecn& ecn = said.value;
  if (ecn.kmin.said && ecn.kmax.said && *ecn.kmin > *ecn.kmax)
    reporter.error(code::fields_conflict, {ecn.kmin.at, 1},
                   "kmin " + format(*ecn.kmin) + " is above kmax " + format(*ecn.kmax), "",
                   {{ecn.kmax.at, "kmax is here"}});
}

// Reports the second of two classes that claim one number.
class Claims {
 public:
  Claims(std::string what, Reporter& reporter) : what_(std::move(what)), reporter_(reporter) {}
  void claim(const Said<std::uint8_t>& number) {
    if (!number.said) return;
    const auto [at, fresh] = first_.emplace(*number, number.at);
    if (!fresh)
      reporter_.error(code::class_overlap, {number.at, 1},
                      what_ + " " + std::to_string(*number) + " is claimed twice", "",
                      {{at->second, "first claimed here"}});
  }

 private:
  std::string what_;
  Reporter& reporter_;
  std::map<std::uint8_t, Position> first_;
};

bool is_strict(const TrafficClass& one) { return *one.scheduling == Scheduling::strict; }

// Linux's shapers count bytes a second, and below 1 kbit/s their buckets are longer than a minute
// (drivers/linux/queueing/scheduler.cpp).
void check_shaped_rate(const Said<RateOrRatio>& said, Reporter& reporter) {
  constexpr std::uint64_t least = 1000;
  constexpr std::uint64_t step = 8;
  if (!said.said || said->share) return;
  const std::uint64_t rate = said->rate.bits_per_second;
  if (rate < least || rate % step != 0)
    reporter.error(code::out_of_range, {said.at, 1}, in_quotes(format(*said)) + " can't be set",
                   "1Kbps or more, in steps of 8bps");
}

void check_class(const TrafficClass& one, Span, Reporter& reporter) {
  if (one.max_rate.said && one.max_rate->share && one.max_rate->ratio.parts_per_million > whole)
    reporter.error(code::out_of_range, {one.max_rate.at, 1},
                   in_quotes(format(*one.max_rate)) + " is more than the whole link",
                   "at most 100%; leave maxRate out where there is no bound");
  check_shaped_rate(one.max_rate, reporter);
}

// Shares are of the link that weighted classes divide among them: one that has none would get what no rule
// says.
bool check_all_have_shares(const RoceProfile& profile, const TrafficClass& first, std::uint64_t sum,
                           Reporter& reporter) {
  bool all = true;
  for (const TrafficClass& one : profile.classes) {
    if (one.bandwidth.at.line != 0 || is_strict(one)) continue;
    all = false;
    reporter.error(code::bandwidth_sum, {one.at, 1},
                   "class " + in_quotes(*one.name) + " has no bandwidth, and others have",
                   sum < whole
                       ? "write bandwidth: " + format(Ratio{static_cast<std::uint32_t>(whole - sum)}) +
                             ", which the others leave, or scheduling: strict"
                       : "the others leave nothing of 100%: give it a share of theirs, or "
                         "scheduling: strict",
                   {{first.bandwidth.at, "the first share is here"}});
  }
  return all;
}

void check_bandwidth(const RoceProfile& profile, Reporter& reporter) {
  std::uint64_t sum = 0;
  const TrafficClass* first = nullptr;
  const TrafficClass* last = nullptr;
  for (const TrafficClass& one : profile.classes) {
    if (!one.bandwidth.said) continue;
    if (is_strict(one)) {
      reporter.error(code::fields_conflict, {one.bandwidth.at, 1}, "a strict class has no bandwidth share",
                     "bound it with maxRate", {{one.scheduling.at, "strict is said here"}});
      continue;
    }
    sum += one.bandwidth->parts_per_million;
    if (first == nullptr) first = &one;
    last = &one;
  }
  if (last == nullptr || !check_all_have_shares(profile, *first, sum, reporter) || sum == whole) return;
  reporter.error(code::bandwidth_sum, {last->bandwidth.at, 1},
                 "the bandwidth shares sum to " +
                     format(Ratio{static_cast<std::uint32_t>(std::min<std::uint64_t>(sum, 0xffffffffU))}),
                 "they must sum to 100%");
}

// A class that nothing is put into: its headroom would be kept for nothing.
void check_lossless_are_reached(const RoceProfile& profile, Reporter& reporter) {
  if (*profile.trust != Trust::dscp) return;
  for (const TrafficClass& one : profile.classes)
    if (*one.lossless && one.dscp.empty() && *one.name != default_class_name)
      reporter.error(code::fields_conflict, {one.at, 1},
                     "no packet is put into the lossless class " + in_quotes(*one.name) + ": it has no DSCP",
                     "write dscp: [26], or trust: pcp where the priority decides",
                     profile.trust.said ? std::vector<Related>{{profile.trust.at, "DSCPs decide"}}
                                        : std::vector<Related>{});
}

// Compile takes the lossy weighted class with the lowest number where none is called `default`.
void check_default(const RoceProfile& profile, Span span, Reporter& reporter) {
  const TrafficClass* taken = nullptr;
  for (const TrafficClass& one : profile.classes) {
    if (!one.name.said || *one.name == default_class_name) return;
    if (*one.lossless || is_strict(one) || (taken != nullptr && *taken->tc <= *one.tc)) continue;
    taken = &one;
  }
  if (profile.classes.empty()) return;  // reported as empty
  if (taken == nullptr)
    return reporter.error(code::no_default_class, span,
                          "no class takes the DSCPs that none names: all are lossless or strict",
                          "add {name: default, dscp: [0], priority: 0, tc: 0, bandwidth: ...}");
  reporter.warning(
      code::no_default_class, {taken->at, 1},
      "no class is called default: " + in_quotes(*taken->name) + " takes the DSCPs that none names",
      "call it default, or add a class of that name");
}

void check_profile(const RoceProfile& profile, Span span, Reporter& reporter) {
  Claims dscps("DSCP", reporter);
  Claims priorities("priority", reporter);
  Claims traffic_classes("traffic class", reporter);
  std::map<std::string_view, Position> names;
  for (const TrafficClass& one : profile.classes) {
    for (const auto& dscp : one.dscp) dscps.claim(dscp);
    priorities.claim(one.priority);
    traffic_classes.claim(one.tc);
    if (!one.name.said) continue;
    const auto [at, fresh] = names.emplace(*one.name, one.name.at);
    if (!fresh)
      reporter.error(code::written_twice, {one.name.at, 1},
                     "class " + in_quotes(*one.name) + " is written twice", "",
                     {{at->second, "first written here"}});
  }
  check_bandwidth(profile, reporter);
  check_lossless_are_reached(profile, reporter);
  check_default(profile, span, reporter);
}

constexpr std::string_view ecn_words[] = {"auto"};

}  // namespace

template <>
const Type& struct_type<Ecn>() {
  static constexpr Type type{Type::Shape::object, "ecn", {}, ecn_words, ecn_fields, nullptr,
                             load_struct<Ecn>};
  return type;
}
template <>
const Type& TypeOf<Said<Ecn>>::type() {
  static constexpr Type type{Type::Shape::object, "ecn", {}, ecn_words, ecn_fields, nullptr, load_ecn};
  return type;
}
template <>
const Type& struct_type<TrafficClass>() {
  static constexpr Type type =
      object_type<TrafficClass>("a class", class_fields, checked<TrafficClass, check_class>);
  return type;
}
template <>
const Type& struct_type<Watchdog>() {
  static constexpr Type type = object_type<Watchdog>("watchdog", watchdog_fields);
  return type;
}
template <>
const Type& struct_type<Pfc>() {
  static constexpr Type type = object_type<Pfc>("pfc", pfc_fields);
  return type;
}
template <>
const Type& struct_type<RoceProfile>() {
  static constexpr Type type =
      object_type<RoceProfile>("a RoceProfile", fields, checked<RoceProfile, check_profile>);
  return type;
}

}  // namespace lockstep
