#include "drivers/sonic/map_qos.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "specs/model/schema_rows.hpp"

namespace lockstep::sonic {
namespace {

std::vector<std::string> texts(const std::set<int>& numbers) {
  std::vector<std::string> out;
  for (const int number : numbers) out.push_back(std::to_string(number));
  return out;
}

Value integer_or_none(const std::optional<std::int64_t>& number) {
  return number ? Value::integer(*number) : Value();
}

constexpr int kDscpMost = 63;  // RFC 2474: six bits

Result<std::set<int>> numbers_of(Path path, const Value& value, int most) {
  std::set<int> out;
  for (const std::string_view one : value.as_list()) {
    const auto number = number_of(one, most);
    if (!number)
      return Error{ErrorKind::invalid_spec, path.text() + ": '" + std::string(one) +
                                                "' is not a number from 0 to " + std::to_string(most)};
    out.insert(*number);
  }
  return out;
}

template <auto Member>
Value read_class(const PortQos& qos, int number) {
  return integer_or_none(qos.classes.at(number).*Member);
}
template <auto Member>
Result<Done> write_class(PortQos& qos, int number, const Change& change) {
  const auto found = qos.classes.find(number);
  if (!change.want) {
    if (found != qos.classes.end()) (found->second.*Member).reset();
  } else {
    qos.classes[number].*Member = change.want.as_integer();
  }
  return Done{};
}
template <auto Member, int Most>
Value read_numbers(const PortQos& qos, int number) {
  const std::set<int>& all = qos.classes.at(number).*Member;
  return all.empty() ? Value() : Value::set(texts(all));
}
template <auto Member, int Most>
Result<Done> write_numbers(PortQos& qos, int number, const Change& change) {
  TRY(const std::set<int> wanted, numbers_of(change.path, change.want, Most));
  // Each belongs to one class.
  for (auto& [other, settings] : qos.classes)
    for (const int one : wanted) (settings.*Member).erase(one);
  const auto found = qos.classes.find(number);
  if (found != qos.classes.end() || !wanted.empty()) qos.classes[number].*Member = wanted;
  return Done{};
}
template <auto Member>
Value read_buffer(const PortQos& qos, int priority) {
  const auto found = qos.buffers.sized.find(priority);
  return found == qos.buffers.sized.end() ? Value() : integer_or_none(found->second.*Member);
}
template <auto Member>
Result<Done> write_buffer(PortQos& qos, int priority, const Change& change) {
  if (change.want) {
    qos.buffers.sized[priority].*Member = change.want.as_integer();
    return Done{};
  }
  const auto found = qos.buffers.sized.find(priority);
  if (found == qos.buffers.sized.end()) return Done{};
  (found->second.*Member).reset();
  if (found->second == BufferSettings()) qos.buffers.sized.erase(found);
  return Done{};
}
Value read_reserved(const PortQos& qos, int priority) {
  return qos.buffers.reserved.contains(priority) ? Value::present() : Value();
}
Result<Done> write_reserved(PortQos& qos, int priority, const Change& change) {
  if (change.want) {
    qos.buffers.reserved.insert(priority);
  } else {
    qos.buffers.reserved.erase(priority);
    qos.buffers.sized.erase(priority);
  }
  return Done{};
}

Value read_presence(const PortQos&, int) { return Value::present(); }
Result<Done> write_presence(PortQos& qos, int number, const Change& change) {
  if (change.want)
    qos.classes.try_emplace(number);
  else
    qos.classes.erase(number);
  return Done{};
}
Value read_strict(const PortQos& qos, int number) {
  const auto& strict = qos.classes.at(number).strict;
  return strict ? Value::boolean(*strict) : Value();
}
Result<Done> write_strict(PortQos& qos, int number, const Change& change) {
  const auto found = qos.classes.find(number);
  if (change.want)
    qos.classes[number].strict = change.want.as_boolean();
  else if (found != qos.classes.end())
    found->second.strict.reset();
  return Done{};
}
Value read_pfc(const PortQos& qos, int) {
  return qos.lossless.empty() ? Value() : Value::set(texts(qos.lossless));
}
Result<Done> write_pfc(PortQos& qos, int, const Change& change) {
  TRY(qos.lossless, numbers_of(change.path, change.want, kQueues - 1));
  return Done{};
}

using C = ClassSettings;
using B = BufferSettings;
constexpr std::array kPortLines{
    QosLine{row("interface[*]/pfc"), read_pfc, write_pfc},
};
constexpr std::array kClassLines{
    QosLine{row("interface[*]/class[*]"), read_presence, write_presence},
    QosLine{row("interface[*]/class[*]/dscp"), read_numbers<&C::dscps, kDscpMost>,
            write_numbers<&C::dscps, kDscpMost>},
    QosLine{row("interface[*]/class[*]/ecn-max"), read_class<&C::ecn_max>, write_class<&C::ecn_max>},
    QosLine{row("interface[*]/class[*]/ecn-min"), read_class<&C::ecn_min>, write_class<&C::ecn_min>},
    QosLine{row("interface[*]/class[*]/ecn-probability"), read_class<&C::ecn_probability>,
            write_class<&C::ecn_probability>},
    QosLine{row("interface[*]/class[*]/max-rate"), read_class<&C::max_rate>, write_class<&C::max_rate>},
    QosLine{row("interface[*]/class[*]/priority"), read_numbers<&C::priorities, kQueues - 1>,
            write_numbers<&C::priorities, kQueues - 1>},
    QosLine{row("interface[*]/class[*]/share"), read_class<&C::share>, write_class<&C::share>},
    QosLine{row("interface[*]/class[*]/strict"), read_strict, write_strict},
};
constexpr std::array kBufferLines{
    QosLine{row("interface[*]/buffer[*]"), read_reserved, write_reserved},
    QosLine{row("interface[*]/buffer[*]/dynamic-threshold"), read_buffer<&B::dynamic_threshold>,
            write_buffer<&B::dynamic_threshold>},
    QosLine{row("interface[*]/buffer[*]/size"), read_buffer<&B::size>, write_buffer<&B::size>},
    QosLine{row("interface[*]/buffer[*]/xoff"), read_buffer<&B::xoff>, write_buffer<&B::xoff>},
    QosLine{row("interface[*]/buffer[*]/xon"), read_buffer<&B::xon>, write_buffer<&B::xon>},
    QosLine{row("interface[*]/buffer[*]/xon-offset"), read_buffer<&B::xon_offset>,
            write_buffer<&B::xon_offset>},
};

}  // namespace

std::span<const QosLine> port_lines() { return kPortLines; }
std::span<const QosLine> class_lines() { return kClassLines; }
std::span<const QosLine> buffer_lines() { return kBufferLines; }
std::span<const QosLine> buffer_number_lines() { return std::span(kBufferLines).subspan(1); }

const QosLine* qos_line(RowId wanted) {
  for (const auto lines : {port_lines(), class_lines(), buffer_lines()}) {
    const auto found = std::ranges::find(lines, wanted, &QosLine::row);
    if (found != lines.end()) return &*found;
  }
  return nullptr;
}

Value trust_of(const PortQos& qos) {
  return qos.trust == Trust::none ? Value() : Value::text(qos.trust == Trust::dscp ? "dscp" : "pcp");
}

std::optional<int> number_of(std::string_view text, int most) {
  int out = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (failed != std::errc() || end != text.data() + text.size() || out < 0 || out > most) return std::nullopt;
  return out;
}

}  // namespace lockstep::sonic
