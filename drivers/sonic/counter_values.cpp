#include "drivers/sonic/counter_values.hpp"

#include <charconv>
#include <cmath>
#include <utility>

#include "specs/model/printable.hpp"

namespace lockstep::sonic {
namespace {

constexpr std::size_t kValueBytes = 40;           // of a value in a report
constexpr double kWholeMax = 9007199254740992.0;  // 2^53: above it doubles skip integers

// pfcactionhandler.h: PFC_WD_QUEUE_STATUS_*.
constexpr std::string_view kOperational = "operational";
constexpr std::string_view kStormed = "stormed";

template <class T>
std::optional<T> parsed(std::string_view text) {
  T number{};
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// "queue" of "queue[3]" and of "queue[#]/bytes".
std::string_view first_word(std::string_view name) { return name.substr(0, name.find_first_of("[/")); }

// The object's part of a pattern: "3" of "queue[3]".
std::string_view key_of_scope(std::string_view scope) {
  const std::size_t open = scope.find('[');
  return open == scope.npos ? "" : scope.substr(open + 1, scope.size() - open - 2);
}

bool is_zero(const CounterNumber& number) {
  const auto* const whole = std::get_if<std::uint64_t>(&number);
  return whole != nullptr && *whole == 0;
}

}  // namespace

std::optional<CounterNumber> counter_number(std::string_view text, const CounterRow& row) {
  if (row.unit == CounterUnit::yes_or_no) {
    if (text == kStormed) return CounterNumber(1.0);
    if (text == kOperational) return CounterNumber(0.0);
    return std::nullopt;
  }
  if (row.kind != CounterKind::gauge)
    if (const auto whole = parsed<std::uint64_t>(text)) return CounterNumber(*whole);
  const auto real = parsed<double>(text);
  if (!real || !std::isfinite(*real)) return std::nullopt;
  if (row.kind == CounterKind::gauge) return CounterNumber(*real);
  if (*real < 0 || *real >= kWholeMax) return std::nullopt;
  return CounterNumber(static_cast<std::uint64_t>(*real));
}

void take_counters(const CounterId& id, const std::string& oid, const CountedRow& row, CounterReading& out) {
  for (const auto& [field, text] : row.fields) {
    const FoundCounter* const found = find_sonic_counter(row.table, field);
    if (found == nullptr || first_word(found->counter->counter) != first_word(id.name)) continue;
    const SonicCounter& counter = *found->counter;
    const CounterRow* const meaning = find_counter(counter.counter);
    if (meaning == nullptr) continue;  // a test finds such rows
    const std::string_view key =
        found->number.empty() ? key_of_scope(id.name) : std::string_view(found->number);
    CounterId counted{id.port, counter_name(counter.counter, key)};
    const std::optional<CounterNumber> number = counter_number(text, *meaning);
    if (!number) {
      out.unreadable.push_back({std::move(counted), std::string(to_string(row.table)) + ":" + oid + " has '" +
                                                        printable(text, kValueBytes) + "' in " + field +
                                                        ", which is no number"});
      continue;
    }
    if (meaning->kind == CounterKind::watermark && is_zero(*number) && !row.polled.contains(field)) continue;
    out.counters.emplace(std::move(counted),
                         ReadCounter{meaning, *number, field, oid, static_cast<std::size_t>(counter.group)});
  }
}

}  // namespace lockstep::sonic
