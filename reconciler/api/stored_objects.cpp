#include "reconciler/api/stored_objects.hpp"

#include <charconv>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "reconciler/store/store.hpp"

namespace lockstep::api {
namespace {

constexpr std::size_t kAll = std::numeric_limits<std::uint32_t>::max();  // retention bounds them

std::optional<std::uint64_t> number_of(const std::string& name) {
  std::uint64_t out = 0;
  const auto [end, code] = std::from_chars(name.data(), name.data() + name.size(), out);
  if (code != std::errc() || end != name.data() + name.size() || std::to_string(out) != name)
    return std::nullopt;
  return out;
}

// What is stored of a run does not change, so its number is its version; a change ends and is validated.
ObjectMeta meta_of(std::uint64_t number) { return {.resource_version = std::to_string(number)}; }
ObjectMeta meta_of(const HistoryChange& change) {
  return {.resource_version = std::to_string(change.record.change) +
                              (change.record.ended.empty() ? "" : ".ended") + (change.owed ? ".owed" : "")};
}

using Owed = std::map<std::uint64_t, std::set<std::string>>;  // subjects, by change

Result<Owed> owed_in(Store& store) {
  TRY(const std::vector<OwedChange> all, store.history().owed());
  Owed out;
  for (const OwedChange& one : all) out.emplace(one.change, one.subjects);
  return out;
}

std::optional<std::set<std::string>> subjects_of(const Owed& owed, std::uint64_t change) {
  const auto found = owed.find(change);
  return found == owed.end() ? std::nullopt : std::optional(found->second);
}

Result<ApiObject> change_of(Store& store, const StoredPlace& place, const Owed& owed,
                            const ChangeRecord& record) {
  ShownChange shown;
  shown.change.record = record;
  TRY(shown.change.touched, store.history().touched(record.change));
  TRY(shown.change.runs, store.runs().of_change(record.change));
  shown.change.owed = subjects_of(owed, record.change);
  return to_object(Kind::change,
                   change_object(place.cluster, place.twin, shown, false, meta_of(shown.change)));
}

template <class Record, class Number, class Make>
Result<StoredPage> page_of(const std::vector<Record>& all, const Selector& selector, std::size_t most,
                           std::optional<std::uint64_t> before, Number number, Make make) {
  StoredPage out;
  for (const Record& one : all) {
    if (before && number(one) >= *before) continue;
    if (out.objects.size() == most) {
      out.more = *number_of(out.objects.back().name);
      break;
    }
    Result<ApiObject> object = make(one);
    if (!object) return object.error();
    if (selector.selects(*object)) out.objects.push_back(*std::move(object));
  }
  return out;
}

// How many to read: one more tells that there are more; all where some of them do not count.
std::size_t to_read(const Selector& selector, std::size_t most, std::optional<std::uint64_t> before) {
  return selector.is_empty() && !before ? most + 1 : kAll;
}

}  // namespace

Result<StoredPage> stored_page(const StoredPlace& place, Kind kind, const Selector& selector,
                               std::size_t most, std::optional<std::uint64_t> before) {
  if (place.directory.empty() || most == 0) return StoredPage{};
  TRY(const std::unique_ptr<Store> store, open_store(place.directory));
  const std::size_t count = to_read(selector, most, before);
  if (kind == Kind::benchmark_run) {
    TRY(const std::vector<RunHead> heads, store->runs().newest(count));
    return page_of(
        heads, selector, most, before, [](const RunHead& one) { return one.number; },
        [](const RunHead& one) -> Result<ApiObject> {
          return to_object(Kind::benchmark_run, run_object(one, nullptr, meta_of(one.number)));
        });
  }
  TRY(const std::vector<ChangeRecord> records, store->history().changes(count));
  TRY(const Owed owed, owed_in(*store));
  return page_of(
      records, selector, most, before, [](const ChangeRecord& one) { return one.change; },
      [&](const ChangeRecord& one) { return change_of(*store, place, owed, one); });
}

Result<std::map<std::string, SuiteRun>> suite_runs(const StoredPlace& place, std::size_t most) {
  std::map<std::string, SuiteRun> out;
  if (place.directory.empty() || most == 0) return out;
  TRY(const std::unique_ptr<Store> store, open_store(place.directory));
  TRY(const std::vector<RunHead> heads, store->runs().newest(most));
  for (const RunHead& head : heads) {
    if (head.purpose == RunPurpose::before) continue;
    TRY(const std::vector<std::string> suites, store->runs().suites_of(head.number));
    for (const std::string& suite : suites) out.try_emplace(suite, SuiteRun{head, suites.size()});
  }
  return out;
}

Result<std::optional<ApiObject>> stored_object(const StoredPlace& place, Kind kind, const std::string& name) {
  const std::optional<std::uint64_t> number = number_of(name);
  if (place.directory.empty() || !number) return std::optional<ApiObject>();
  TRY(const std::unique_ptr<Store> store, open_store(place.directory));
  if (kind == Kind::benchmark_run) {
    TRY(const std::optional<MeasuredRun> run, store->runs().find(*number));
    if (!run) return std::optional<ApiObject>();
    return std::optional(to_object(kind, run_object(run->head, &run->figures, meta_of(*number))));
  }
  TRY(const std::optional<ChangeRecord> record, store->history().change(*number));
  if (!record) return std::optional<ApiObject>();
  TRY(ShownChange shown, shown_change(*store, *number));
  TRY(const Owed owed, owed_in(*store));
  shown.change.owed = subjects_of(owed, *number);
  return std::optional(
      to_object(kind, change_object(place.cluster, place.twin, shown, true, meta_of(shown.change))));
}

}  // namespace lockstep::api
