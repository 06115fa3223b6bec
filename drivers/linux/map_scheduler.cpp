// The rows of a port's egress scheduler, which is one object made of many entries: changed rows are overlaid
// on the actual scheduler, which is then rebuilt as a whole by its carrier (queueing/scheduler.hpp).
#include <algorithm>

#include "drivers/linux/map.hpp"
#include "drivers/linux/map_words.hpp"
#include "drivers/mapped/map_table.hpp"

namespace lockstep::linux_map {
namespace {

constexpr std::int64_t kRateMax = std::int64_t{1} << 50;  // a petabit a second: above any port's rate
constexpr std::int64_t kBytesMax = 0xFFFFFFFF;
constexpr std::int64_t kShareMax = 1000;  // per mille

Result<std::optional<std::uint64_t>> integer_or_none(const Change& change, std::int64_t max) {
  if (!change.want) return std::optional<std::uint64_t>();
  TRY(const std::uint64_t number, wanted_integer(change, max));
  return std::optional(number);
}

void read_rate(RowId id, const std::string& port, const PortScheduler& scheduler, TreeBuilder& tree) {
  if (scheduler.rate) tree.add(Path(id, {port}), Value::integer(*scheduler.rate));
}

Result<Done> write_rate(const Change& change, PortScheduler& scheduler) {
  TRY(scheduler.rate, integer_or_none(change, kRateMax));
  return Done{};
}

std::string rate_words(const Change& change, Carrier) {
  const std::string port(change.path.key(0));
  if (!change.want) return "tc qdisc del dev " + port + " root";
  return "tc qdisc replace dev " + port + " root handle 4c53: tbf rate " + change.want.to_string() +
         "bit burst 64kb limit 512kb";
}

// A row of traffic classes: reports the value of each existing class.
template <Value (*value)(const SchedulerClass&)>
void of_classes(RowId id, const std::string& port, const PortScheduler& scheduler, TreeBuilder& tree) {
  for (const auto& [number, one] : scheduler.classes)
    if (const Value have = value(one)) tree.add(Path(id, {port, std::to_string(number)}), have);
}

template <Result<Done> (*write)(const Change&, unsigned, PortScheduler&)>
Result<Done> to_class(const Change& change, PortScheduler& scheduler) {
  TRY(const std::uint64_t number, parse_number(change.path.key(1), 7));
  const auto at = static_cast<unsigned>(number);
  if (!change.want && !scheduler.classes.contains(at)) return Done{};  // removed with its class
  return write(change, at, scheduler);
}

Value there(const SchedulerClass&) { return Value::present(); }

Result<Done> write_class(const Change& change, unsigned number, PortScheduler& scheduler) {
  if (!change.want)
    scheduler.classes.erase(number);
  else
    scheduler.classes.try_emplace(number);
  return Done{};
}

constexpr auto kEcnMax = [](auto& one) -> auto& { return one.ecn.max; };
constexpr auto kEcnMin = [](auto& one) -> auto& { return one.ecn.min; };
constexpr auto kEcnProbability = [](auto& one) -> auto& { return one.ecn.probability; };
constexpr auto kMaxRate = [](auto& one) -> auto& { return one.max_rate; };
constexpr auto kShare = [](auto& one) -> auto& { return one.share; };

template <auto number>
Value number_of(const SchedulerClass& one) {
  const std::optional<std::uint64_t>& have = number(one);
  return have ? Value::integer(*have) : Value{};
}

template <auto number, std::int64_t max>
Result<Done> write_number(const Change& change, unsigned at, PortScheduler& scheduler) {
  TRY(number(scheduler.classes[at]), integer_or_none(change, max));
  return Done{};
}

Value strict(const SchedulerClass& one) { return Value::boolean(one.strict); }

Result<Done> write_strict(const Change& change, unsigned at, PortScheduler& scheduler) {
  scheduler.classes[at].strict = change.want && change.want.as_boolean();
  return Done{};
}

using Members = std::set<std::uint8_t> SchedulerClass::*;

template <Members members>
Value members_of(const SchedulerClass& one) {
  std::vector<std::string> texts;
  for (const std::uint8_t each : one.*members) texts.push_back(std::to_string(each));
  return texts.empty() ? Value{} : Value::set(std::move(texts));
}

// A DSCP or priority is in one class: given to this one, it is removed from the others.
template <Members members, std::uint64_t max>
Result<Done> write_members(const Change& change, unsigned number, PortScheduler& scheduler) {
  std::set<std::uint8_t>& own = scheduler.classes[number].*members;
  own.clear();
  if (!change.want) return Done{};
  for (const std::string_view text : change.want.as_list()) {
    TRY(const std::uint64_t each, parse_number(text, max));
    for (auto& [other, its] : scheduler.classes) (its.*members).erase(static_cast<std::uint8_t>(each));
    own.insert(static_cast<std::uint8_t>(each));
  }
  return Done{};
}

// Numbers in tc's commands are those that the driver sets; see queueing/htb.cpp for how shares become rates.
std::string htb_id(const Change& change) { return "4c53:1" + std::string(change.path.key(1)); }

std::string htb_class(const Change& change, std::string_view verb) {
  return "tc class " + std::string(verb) + " dev " + std::string(change.path.key(0)) + " classid " +
         htb_id(change);
}

// The digit in `digits` for the change's class; tc(8) takes hexadecimal handles and priorities.
std::string digit_of(const Change& change, std::string_view digits) {
  const std::string_view number = change.path.key(1);
  return std::string(digits.substr(std::min<std::size_t>(digits.size(), std::size_t(number[0]) - '0'), 1));
}

std::string ets_queue(const Change& change) { return "4c5" + digit_of(change, "456789ab") + ":"; }

// One part of the single request that covers all classes (queueing/ets.cpp).
std::string ets_words(const Change& change, const std::string& part) {
  return "tc qdisc replace dev " + std::string(change.path.key(0)) + " handle 4c5c: ets " + part +
         "  # the band of class " + std::string(change.path.key(1)) + ", whose queue is " + ets_queue(change);
}

std::string mqprio_words(const Change& change, const std::string& part) {
  return "tc qdisc replace dev " + std::string(change.path.key(0)) + " root handle 4c53: mqprio hw 0 " +
         part + std::string(change.path.key(1));
}

std::string class_words(const Change& change, Carrier carrier) {
  const bool is_wanted = bool(change.want);
  switch (carrier) {
    case Carrier::htb:
      return htb_class(change, is_wanted ? "replace" : "del") + (is_wanted ? " parent 4c53:1 htb" : "");
    case Carrier::ets: return ets_words(change, is_wanted ? "bands +1" : "bands -1");
    case Carrier::mqprio:
      return mqprio_words(change, is_wanted ? "num_tc +1  # class " : "num_tc -1  # class ");
  }
  return {};
}

std::string dscp_words(const Change& change, Carrier carrier) {
  const std::string port(change.path.key(0));
  if (carrier == Carrier::htb)
    return "tc filter replace dev " + port + " parent 4c53: u32 flowid " + htb_id(change) +
           join(change.want.as_list(), " match dscp ") + "  # one filter each, for IPv4 and IPv6";
  return "tc filter replace dev " + port + " egress flower" + join(change.want.as_list(), " dscp ") +
         " action skbedit priority " + digit_of(change, "89abcdef") +
         " continue  # ip_tos DSCP * 4 / 0xfc, one filter each, for IPv4 and IPv6";
}

std::string priority_words(const Change& change, Carrier carrier) {
  const std::string priorities = join(change.want.as_list(), " ");
  return carrier == Carrier::mqprio ? mqprio_words(change, "map" + priorities + "  # to class ")
                                    : ets_words(change, "priomap" + priorities);
}

// For 5 and 1000: "0.005".
std::string decimal_words(std::int64_t number, std::int64_t whole) {
  return std::to_string(number / whole) + "." + std::to_string(whole + number % whole).substr(1);
}

std::string share_words(const Change& change, Carrier carrier) {
  if (carrier == Carrier::htb)
    return htb_class(change, "change") + " htb rate " +
           (change.want ? decimal_words(change.want.as_integer(), 10) : std::string("0")) + "%";
  return ets_words(
      change, "quanta " + (change.want ? std::to_string(change.want.as_integer() * 60) : std::string("256")));
}

std::string max_rate_words(const Change& change, Carrier carrier) {
  const std::string want = change.want.to_string();
  if (carrier == Carrier::htb) return htb_class(change, "change") + " htb ceil " + want + "bit";
  return "tc qdisc replace dev " + std::string(change.path.key(0)) + " handle " + ets_queue(change) +
         (change.want ? " tbf rate " + want + "bit burst 64kb limit 512kb" : " bfifo limit 512kb");
}

std::string strict_words(const Change& change, Carrier carrier) {
  const bool is_strict = change.want && change.want.as_boolean();
  if (carrier == Carrier::htb) return htb_class(change, "change") + " htb prio " + (is_strict ? "0" : "1");
  return ets_words(change, is_strict ? "strict +1" : "strict -1");
}

// One of the parameters of a class's RED; the three are set in one request.
std::string red_words(const Change& change, Carrier carrier, const std::string& parameter) {
  const std::string place =
      " dev " + std::string(change.path.key(0)) +
      (carrier == Carrier::htb ? " parent " + htb_id(change) : " handle " + ets_queue(change));
  if (!change.want) return "tc qdisc del" + place;
  return "tc qdisc replace" + place + " red ecn nodrop " + parameter +
         "  # of the queue as it is, no average";
}

std::string ecn_max_words(const Change& change, Carrier carrier) {
  return red_words(change, carrier, "max " + change.want.to_string());
}

std::string ecn_min_words(const Change& change, Carrier carrier) {
  return red_words(change, carrier, "min " + change.want.to_string());
}

std::string ecn_probability_words(const Change& change, Carrier carrier) {
  return red_words(change, carrier, "probability " + decimal_words(change.want.as_integer(), 1000));
}

struct MapRow {
  RowId row;
  void (*read)(RowId, const std::string& port, const PortScheduler&, TreeBuilder&);
  Result<Done> (*write)(const Change&, PortScheduler&);
  std::string (*native)(const Change&, Carrier);
  Given given = Given::always;
};
using One = SchedulerClass;
constexpr MapRow kRows[] = {
    {row("interface[*]/rate"), read_rate, write_rate, rate_words, Given::by_software},
    {row("interface[*]/class[*]"), of_classes<there>, to_class<write_class>, class_words},
    {row("interface[*]/class[*]/dscp"), of_classes<members_of<&One::dscp>>,
     to_class<write_members<&One::dscp, 63>>, dscp_words},
    {row("interface[*]/class[*]/ecn-max"), of_classes<number_of<kEcnMax>>,
     to_class<write_number<kEcnMax, kBytesMax>>, ecn_max_words, Given::by_red},
    {row("interface[*]/class[*]/ecn-min"), of_classes<number_of<kEcnMin>>,
     to_class<write_number<kEcnMin, kBytesMax>>, ecn_min_words, Given::by_red},
    {row("interface[*]/class[*]/ecn-probability"), of_classes<number_of<kEcnProbability>>,
     to_class<write_number<kEcnProbability, kShareMax>>, ecn_probability_words, Given::by_red},
    {row("interface[*]/class[*]/max-rate"), of_classes<number_of<kMaxRate>>,
     to_class<write_number<kMaxRate, kRateMax>>, max_rate_words, Given::not_by_mqprio},
    {row("interface[*]/class[*]/priority"), of_classes<members_of<&One::priority>>,
     to_class<write_members<&One::priority, 7>>, priority_words, Given::not_by_htb},
    {row("interface[*]/class[*]/share"), of_classes<number_of<kShare>>,
     to_class<write_number<kShare, kShareMax>>, share_words, Given::not_by_mqprio},
    {row("interface[*]/class[*]/strict"), of_classes<strict>, to_class<write_strict>, strict_words,
     Given::not_by_mqprio},
};
static_assert(has_each_row_once(kRows));

}  // namespace

std::vector<RowId> scheduler_rows() { return written_rows_of(kRows); }
bool is_scheduler_row(RowId id) { return find_row(kRows, id) != nullptr; }
bool wants_scheduler(const Scope& scope) { return wants_any(scope, kRows); }

bool is_class_row(RowId id) {
  const MapRow* const one = find_row(kRows, id);
  return one != nullptr && one->write != write_rate;
}

Given scheduler_row_given(RowId id) {
  const MapRow* const one = find_row(kRows, id);
  return one == nullptr ? Given::always : one->given;
}

void scheduler_entries(const HostState& state, const Scope& scope, TreeBuilder& tree,
                       std::vector<Unread>& unread) {
  for (const Link& link : state.network.links) {
    const auto queueing = state.queueing.find(link.index);
    if (queueing == state.queueing.end()) continue;
    const PortScheduler scheduler = scheduler_of(queueing->second);
    for (const MapRow& one : kRows)
      if (scope.wants(one.row)) one.read(one.row, link.name, scheduler, tree);
  }
  if (!state.queueing_unread) return;
  for (const MapRow& one : kRows)
    if (scope.wants(one.row)) unread.push_back(Unread{one.row, {}, *state.queueing_unread});
}

void classes_unread(const std::string& port, const Error& why, const Scope& scope,
                    std::vector<Unread>& unread) {
  for (const MapRow& one : kRows)
    if (is_class_row(one.row) && scope.wants(one.row)) unread.push_back(Unread{one.row, {port}, why});
}

Result<Done> overlay(const Change& change, PortScheduler& scheduler) {
  return find_row(kRows, change.path.row())->write(change, scheduler);
}

std::string scheduler_words(const Change& change, Carrier carrier) {
  return find_row(kRows, change.path.row())->native(change, carrier);
}

}  // namespace lockstep::linux_map
