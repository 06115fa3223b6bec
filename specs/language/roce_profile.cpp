// The field tables of RoceProfile, and the rules between its fields.
#include <map>

#include "specs/language/codes.hpp"
#include "specs/language/fabric.hpp"
#include "specs/language/kind_rows.hpp"

namespace lockstep {

namespace {

constexpr std::int64_t whole = 1'000'000;  // 100%, in parts per million
constexpr std::int64_t millisecond = 1'000'000;
constexpr std::string_view eight = "IEEE 802.1Q has 8 priorities and traffic classes";
constexpr Field ecn_fields[] = {
    field<&Ecn::kmin>("kmin", "queue length at which marking begins", {.required = true}),
    field<&Ecn::kmax>("kmax", "queue length at which marking is at pmax",
                      {.required = true, .least = 1, .range = "more than 0B"}),
    field<&Ecn::pmax>("pmax", "share of packets marked at kmax",
                      {.required = true, .most = whole, .range = "0% to 100%"}),
};
constexpr Field class_fields[] = {
    field<&TrafficClass::name>("name", "the class's name", {.required = true, .form = Form::name}),
    field<&TrafficClass::carries>("carries", "compute, storage, control or cnp: what is sent in it",
                                  {.not_empty = true}),
    field<&TrafficClass::dscp>(
        "dscp", "the DSCPs that it takes",
        {.required = true, .least = 0, .most = 63, .why = "a DSCP has 6 bits (RFC 2474 3)"}),
    field<&TrafficClass::priority>(
        "priority", "its priority, for PFC",
        {.least = 0, .most = 7, .why = eight, .otherwise = "required unless priorities is written"}),
    field<&TrafficClass::priorities>(
        "priorities", "instead of priority where it has several, ascending; DSCPs are given the lowest",
        {.not_empty = true, .least = 0, .most = 7, .why = eight}),
    field<&TrafficClass::tc>("tc", "its traffic class: the queue",
                             {.required = true, .least = 0, .most = 7, .why = eight}),
    field<&TrafficClass::bandwidth>("bandwidth", "its share of the link when all classes send",
                                    {.least = 1,
                                     .most = whole,
                                     .range = "more than 0%, to 100%",
                                     .otherwise = "none; required of every weighted class if one has it"}),
    field<&TrafficClass::scheduling>("scheduling", "dwrr (by bandwidth) or strict", {.otherwise = "dwrr"}),
    field<&TrafficClass::max_rate>("maxRate", "the most that it may send",
                                   {.least = 1,
                                    .range = "1Kbps or more, or a share above 0%",
                                    .pattern = "^(?!0*[0-9]{0,3}([.][0-9]*)?bps$)",
                                    .otherwise = "the link's speed"}),
    field<&TrafficClass::lossless>("lossless", "true if PFC holds senders back rather than drop",
                                   {.otherwise = "false"}),
    field<&TrafficClass::ecn>("ecn", "auto, or thresholds", {.otherwise = "no ECN marking"}),
    field<&TrafficClass::ecn_on_spines>(
        "ecnOnSpines", "instead of ecn on spines and superspines (Arista's guide has others there)",
        {.otherwise = "as ecn"}),
};
constexpr Field watchdog_fields[] = {
    field<&Watchdog::detection_time>(
        "detectionTime", "how long a queue is paused before it counts as stuck",
        {.required = true, .least = 10 * millisecond, .most = 60'000 * millisecond, .range = "10ms to 60s"}),
    field<&Watchdog::restoration_time>("restorationTime", "how long after the last pause it is restored",
                                       {.least = 10 * millisecond,
                                        .most = 60'000 * millisecond,
                                        .range = "10ms to 60s",
                                        .otherwise = "unmanaged"}),
    field<&Watchdog::action>("action", "what happens to a stuck queue's packets", {.otherwise = "unmanaged"}),
    field<&Watchdog::poll_interval>("pollInterval", "how often queues are looked at",
                                    {.least = 5 * millisecond,
                                     .most = 30'000 * millisecond,
                                     .range = "5ms to 30s",
                                     .why = "EOS; SONiC has 100ms to 1s",
                                     .otherwise = "unmanaged"}),
};
constexpr Field pfc_fields[] = {
    field<&Pfc::watchdog>("watchdog", "breaks PFC storms"),
    field<&Pfc::asymmetric>("asymmetric",
                            "true if ports obey pauses of every priority and send them for the lossless ones "
                            "only (SONiC's pfc_asym)",
                            {.otherwise = "unmanaged"}),
};
constexpr Field pool_fields[] = {
    field<&BufferPools::lossless>(
        "lossless", "share of the buffer that lossless classes share",
        {.required = true, .least = 1, .most = whole, .range = "more than 0%, to 100%"}),
    field<&BufferPools::headroom>("headroom", "share for what still comes after a pause was sent",
                                  {.required = true, .most = whole, .range = "0% to 100%"}),
    field<&BufferPools::lossy>("lossy", "share of the classes that drop",
                               {.required = true, .most = whole, .range = "0% to 100%"}),
};
constexpr Field buffer_fields[] = {
    field<&Buffers::dynamic_threshold>(
        "dynamicThreshold", "log2 of alpha: a lossless priority group may hold alpha x what is free",
        {.least = -8,
         .most = 7,
         .why = "sonic-buffer-profile.yang, dynamic_th",
         .otherwise = "the platform's"}),
    field<&Buffers::oversubscription>(
        "headroomOversubscription",
        "how many times the shared headroom all classes together may ask for; 1: it holds all of it",
        {.least = 1,
         .most = 100,
         .why = "SONiC's over_subscribe_ratio",
         .otherwise = "1: not shared, unless the platform's vendor shares it"}),
    field<&Buffers::xon_offset>(
        "xonOffset",
        "a pause ends once the buffer has that much less than when it was sent (SONiC's xon_offset)",
        {.otherwise = "the vendor's table"}),
    field<&Buffers::pools>("pools", "the shares of the buffer's pools"),
};
constexpr Field fields[] = {
    field<&RoceProfile::trust>("trust", "dscp, pcp or \"dscp pcp\": which field of a packet decides",
                               {.otherwise = "dscp"}),
    field<&RoceProfile::classes>("classes",
                                 "traffic classes; a DSCP that none names goes to the class `default`",
                                 {.required = true, .not_empty = true}),
    field<&RoceProfile::congestion_control>("congestionControl", "dcqcn, none or vendor",
                                            {.otherwise = "unmanaged on NICs; proofs assume dcqcn"}),
    field<&RoceProfile::dcqcn>("dcqcn", "DCQCN's parameters; a NIC keeps those that are not written"),
    field<&RoceProfile::pfc>("pfc", "priority flow control"),
    field<&RoceProfile::small_packets>(
        "smallPackets", "share of packets that fill a cell of the buffer badly, for the headroom",
        {.most = whole,
         .range = "0% to 100%",
         .why = "SONiC's small_packet_percentage; the worst is 100%",
         .otherwise = "the platform's"}),
    field<&RoceProfile::buffers>("buffers", "how switches give out their buffer"),
};

// What devices accept: whole percents in SONiC and 802.1Qaz, finer steps in the kernel's queues and EOS.
void check_steps(const Said<Ratio>& said, Reporter& reporter) {
  constexpr std::uint32_t step = 1000;  // parts per million
  if (said.said && said->parts_per_million % step != 0)
    reporter.error(code::out_of_range, {said.at, 1}, in_quotes(format(*said)) + " can't be set",
                   "steps of 0.1%");
}

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
  check_steps(ecn.pmax, reporter);
  if (ecn.kmin.said && ecn.kmax.said && *ecn.kmin > *ecn.kmax)
    reporter.error(code::fields_conflict, {ecn.kmin.at, 1},
                   "kmin " + format(*ecn.kmin) + " is above kmax " + format(*ecn.kmax), "",
                   {{ecn.kmax.at, "kmax is here"}});
}

std::string word_of(std::uint8_t number) { return " " + std::to_string(number); }
std::string word_of(Carried what) { return "'" + std::string(to_string(what)) + "'"; }

void check_pools(const BufferPools& pools, Span, Reporter& reporter) {
  for (const Said<Ratio>* const one : {&pools.lossless, &pools.headroom, &pools.lossy})
    check_steps(*one, reporter);
  if (!pools.lossless.said || !pools.headroom.said || !pools.lossy.said) return;
  const std::uint64_t sum = std::uint64_t{pools.lossless->parts_per_million} +
                            pools.headroom->parts_per_million + pools.lossy->parts_per_million;
  if (sum > whole)
    reporter.error(code::bandwidth_sum, {pools.lossy.at, 1},
                   "the pools' shares sum to " + format(Ratio{static_cast<std::uint32_t>(sum)}),
                   "at most 100%", {{pools.lossless.at, "the first share is here"}});
}

void check_watchdog(const Watchdog& said, Span, Reporter& reporter) {
  for (const Said<Duration>* const time : {&said.detection_time, &said.restoration_time, &said.poll_interval})
    if (time->said && **time % std::chrono::milliseconds(1) != Duration::zero())
      reporter.error(code::out_of_range, {time->at, 1}, in_quotes(format(**time)) + " can't be set",
                     "steps of 1ms");
  for (const Said<Duration>* const time : {&said.detection_time, &said.restoration_time})
    if (said.poll_interval.said && time->said && **time < *said.poll_interval)
      reporter.error(code::fields_conflict, {said.poll_interval.at, 1},
                     "pollInterval " + format(*said.poll_interval) + " is longer than " + format(**time),
                     "look more often than what is looked for", {{time->at, "set here"}});
}

// Reports the second of two classes that claim the same thing.
template <class T>
class Claims {
 public:
  Claims(std::string what, Reporter& reporter) : what_(std::move(what)), reporter_(reporter) {}
  void claim(const Said<T>& one) {
    if (!one.said) return;
    const auto [at, fresh] = first_.emplace(*one, one.at);
    if (!fresh)
      reporter_.error(code::class_overlap, {one.at, 1}, what_ + word_of(*one) + " is claimed twice", "",
                      {{at->second, "first claimed here"}});
  }

 private:
  std::string what_;
  Reporter& reporter_;
  std::map<T, Position> first_;
};

bool is_strict(const TrafficClass& one) { return *one.scheduling == Scheduling::strict; }

void check_shaped_rate(const Said<RateOrRatio>& said, Reporter& reporter) {
  if (!said.said || said->share) return;
  const std::uint64_t rate = said->rate.bits_per_second;
  if (rate < kLeastShapedRate || rate % kShapedRateStep != 0)
    reporter.error(code::out_of_range, {said.at, 1}, in_quotes(format(*said)) + " can't be set",
                   "1Kbps or more, in steps of 8bps");
}

void check_priorities(const TrafficClass& one, Reporter& reporter) {
  if (!one.priority.said && one.priority.at.line == 0 && one.priorities.empty())
    reporter.error(code::missing_field, {one.at, 1},
                   "a class needs priority, or priorities where it has several");
  if (one.priority.said && !one.priorities.empty())
    reporter.error(code::fields_conflict, {one.priorities.front().at, 1},
                   "priority and priorities are both written", "name all of them in priorities",
                   {{one.priority.at, "priority is set here"}});
  for (std::size_t i = 1; i < one.priorities.size(); ++i)
    if (*one.priorities[i] < *one.priorities[i - 1])
      return reporter.error(code::fields_conflict, {one.priorities[i].at, 1},
                            "priorities are not in ascending order",
                            "write them so: DSCPs are given the lowest, which devices choose as well");
}

void check_class(const TrafficClass& one, Span, Reporter& reporter) {
  if (one.ecn_on_spines.said && one.at.line != 0 && !one.ecn.said)
    reporter.error(code::fields_conflict, {one.ecn_on_spines.at, 1}, "ecnOnSpines is written, and ecn is not",
                   "write ecn for the leaves too");
  check_steps(one.bandwidth, reporter);
  if (one.max_rate.said && one.max_rate->share && one.max_rate->ratio.parts_per_million > whole)
    reporter.error(code::out_of_range, {one.max_rate.at, 1},
                   in_quotes(format(*one.max_rate)) + " is more than the whole link",
                   "at most 100%; leave maxRate out where there is no bound");
  check_shaped_rate(one.max_rate, reporter);
}

// Shares are parts of the link that weighted classes divide among them: the share of a class without one
// would be undefined.
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
                       : "the other classes already use 100%: reduce one of them, or set "
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
                     "bound it with maxRate", {{one.scheduling.at, "strict is set here"}});
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

// A class that receives no traffic: its headroom would be reserved for nothing.
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

// Without a class called `default`, compile uses the lossy weighted class with the lowest number.
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

// A NIC with another algorithm, or an unknown one, would accept them without effect.
void check_dcqcn_is_used(const RoceProfile& profile, Reporter& reporter) {
  if (!profile.dcqcn.said ||
      (profile.congestion_control.said && *profile.congestion_control == CongestionControl::dcqcn))
    return;
  if (profile.congestion_control.said)
    reporter.error(code::fields_conflict, {profile.dcqcn.at, 1},
                   "dcqcn has parameters of an algorithm that is not in use", "congestionControl: dcqcn",
                   {{profile.congestion_control.at, "the algorithm is set here"}});
  else
    reporter.error(code::missing_field, {profile.dcqcn.at, 1}, "dcqcn needs congestionControl: dcqcn",
                   "say that it is in use");
}

void check_profile(const RoceProfile& profile, Span span, Reporter& reporter) {
  Claims<std::uint8_t> dscps("DSCP", reporter);
  Claims<std::uint8_t> priorities("priority", reporter);
  Claims<std::uint8_t> traffic_classes("traffic class", reporter);
  Claims<Carried> carried("carries: ", reporter);
  std::map<std::string_view, Position> names;
  for (const TrafficClass& one : profile.classes) {
    check_priorities(one, reporter);
    for (const auto& dscp : one.dscp) dscps.claim(dscp);
    for (const auto& priority : priorities_of(one)) priorities.claim(priority);
    for (const auto& what : one.carries) carried.claim(what);
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
  check_dcqcn_is_used(profile, reporter);
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
  static constexpr Type type =
      object_type<Watchdog>("watchdog", watchdog_fields, checked<Watchdog, check_watchdog>);
  return type;
}
template <>
const Type& struct_type<BufferPools>() {
  static constexpr Type type =
      object_type<BufferPools>("pools", pool_fields, checked<BufferPools, check_pools>);
  return type;
}
template <>
const Type& struct_type<Buffers>() {
  static constexpr Type type = object_type<Buffers>("buffers", buffer_fields);
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
