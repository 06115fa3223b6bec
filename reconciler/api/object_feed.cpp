#include "reconciler/api/object_feed.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <utility>

#include "reconciler/api/findings.hpp"

namespace lockstep::api {
namespace {

using Json = nlohmann::json;

// Nobody notices a tenth of a second, and reading one pointer as often costs nothing.
constexpr std::chrono::milliseconds kTurn{100};
// Between two looks at the cluster's conditions, and at what time alone changes. A choice: two looks make a
// status (conditions.hpp), which is 2 s.
constexpr std::chrono::seconds kLookPause{1};
// A bench records runs without an event of the service.
constexpr std::chrono::seconds kStoredPause{30};

// To be compared only; what devices wrote may be no UTF-8.
std::string as_text(const Json& document) {
  return document.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Without what changes at each observation or fetch, and says nothing new.
std::string told_of(Json document) {
  Json& status = document["status"];
  if (status.is_object()) {
    status.erase("observedAt");
    if (status.contains("source")) status["source"].erase("fetchedAt");
    if (status.contains("planned")) status["planned"].erase("at");
    if (status.contains("conditions"))
      for (Json& one : status["conditions"]) one.erase("observedAt");
  }
  return as_text(document);
}

bool may_be_stored(ServiceEvent::Kind kind) {
  using Is = ServiceEvent::Kind;
  return kind == Is::change_began || kind == Is::change_kept || kind == Is::change_refused ||
         kind == Is::change_superseded || kind == Is::change_failed || kind == Is::healed ||
         kind == Is::measured || kind == Is::slo_broken;
}

}  // namespace

ApiObjectPtr Board::find(Kind kind, const std::string& name) const {
  const std::vector<ApiObjectPtr>& all = of(kind);
  const auto found =
      std::ranges::find(all, name, [](const auto& one) -> const std::string& { return one->name; });
  return found == all.end() ? nullptr : *found;
}

ObjectFeed::ObjectFeed(const ServiceDesk& desk, EventLog& log, FeedSettings settings)
    : desk_(desk),
      log_(log),
      settings_(std::move(settings)),
      kept_(kinds().size()),
      board_(std::make_shared<const Board>()) {}

ObjectFeed::~ObjectFeed() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

Result<Done> ObjectFeed::start() {
  try {
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  } catch (const std::system_error& none) {
    return Error{ErrorKind::transient, std::string("no thread for the objects of the API: ") + none.what()};
  }
  return Done{};
}

void ObjectFeed::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    turn(std::chrono::system_clock::now());
    std::unique_lock lock(mutex_);
    wake_.wait_for(lock, stop, kTurn, [this] { return !waiting_.empty(); });
  }
}

void ObjectFeed::happened(const ServiceEvent& event) {
  {
    const std::scoped_lock lock(mutex_);
    waiting_.push_back(event);
    if (waiting_.size() > kEventsWaiting) {
      waiting_.pop_front();
      ++lost_;
    }
  }
  wake_.notify_one();
}

std::shared_ptr<const Board> ObjectFeed::board() const {
  const std::scoped_lock lock(mutex_);
  return board_;
}

StoredPlace ObjectFeed::stored_place() const {
  const auto status = desk_.status();
  return {.directory = status->directory, .cluster = status->state_name, .twin = status->twin};
}

void ObjectFeed::turn(WallTime now) {
  const auto status = desk_.status();
  take_events(now);
  // A clock that was set back makes it look again at once.
  const bool looks = now - looked_ >= kLookPause || now < looked_;
  if (looks || status->sequence != status_sequence_) {
    take_devices(*status, looks, now);
    take_revisions(*status);
    take_findings(*status, now);
  }
  if (looks) {
    looked_ = now;
    take_objects(*status, now);
    take_cluster(*status, now);
  } else if (status->sequence != status_sequence_ && cluster_conditions_) {
    const Json conditions = cluster_conditions_->to_json(now);
    offer(Kind::cluster, cluster_name_,
          [&](const ObjectMeta& meta) { return cluster_object(*status, conditions, meta); });
  }
  status_sequence_ = status->sequence;
  const bool is_elsewhere = status->directory != stored_directory_;  // known only after a while
  if (stored_again_ || is_elsewhere || now - stored_at_ >= kStoredPause || now < stored_at_) take_stored(now);
  publish();
}

std::int64_t ObjectFeed::generation_of(Kind kind, const std::string& name) const {
  const auto& kept = kept_[index_of(kind)];
  const auto found = kept.find(name);
  return found == kept.end() ? 1 : static_cast<std::int64_t>(found->second.meta.generation);
}

// Keeps the object, and logs it if it tells anything new.
void ObjectFeed::offer(Kind kind, const std::string& name, const Build& build) {
  auto& kept = kept_[index_of(kind)];
  const auto found = kept.find(name);
  ObjectMeta meta = found == kept.end() ? ObjectMeta{} : found->second.meta;
  Json document = build(meta);
  std::string told = told_of(document);
  if (found != kept.end() && found->second.told == told) {
    ApiObject object = to_object(kind, std::move(document));
    if (object.text == found->second.object->text) return;
    found->second.object = std::make_shared<const ApiObject>(std::move(object));
    changed_ = true;
    return;
  }
  const std::string spec = document.contains("spec") ? as_text(document["spec"]) : "";
  if (found != kept.end() && found->second.spec != spec) ++meta.generation;
  meta.resource_version = log_.position(++sequence_);
  document = build(meta);
  told = told_of(document);
  auto object = std::make_shared<const ApiObject>(to_object(kind, std::move(document)));
  entries_.push_back({.before = found == kept.end() ? nullptr : found->second.object, .now = object});
  kept[name] = {std::move(object), std::move(told), spec, std::move(meta)};
}

void ObjectFeed::remove_others(Kind kind, const std::vector<std::string>& names) {
  const std::set<std::string> stay(names.begin(), names.end());
  std::erase_if(kept_[index_of(kind)], [&](const auto& one) {
    if (stay.contains(one.first)) return false;
    ++sequence_;
    entries_.push_back({.before = one.second.object});
    return true;
  });
}

void ObjectFeed::take_cluster(const ServiceStatus& status, WallTime now) {
  const std::string name = cluster_name_of(status);
  const std::chrono::seconds lifetime = settings_.proof_lifetime;
  if (!cluster_conditions_ || name != cluster_name_) cluster_conditions_.emplace(cluster_rows(lifetime), now);
  cluster_name_ = name;
  for (const NamedLook& one : looks_at_cluster(status, now))
    cluster_conditions_->look(one.type, one.look, generation_of(Kind::cluster, name), now);
  const Json conditions = cluster_conditions_->to_json(now);
  offer(Kind::cluster, name,
        [&](const ObjectMeta& meta) { return cluster_object(status, conditions, meta); });
  remove_others(Kind::cluster, {name});
}

void ObjectFeed::take_revisions(const ServiceStatus& status) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < status.revisions.size(); ++i) {
    names.push_back(revision_name(status, i));
    offer(Kind::revision, names.back(),
          [&](const ObjectMeta& meta) { return revision_object(status, i, meta); });
  }
  remove_others(Kind::revision, names);
}

// While nothing is watched (a change begins, the service starts), what was known stays, and grows old.
void ObjectFeed::take_devices(const ServiceStatus& status, bool looks, WallTime now) {
  if (looks) corrections_.take(status);
  const auto take = [&](KnownDevice device) {
    const std::string name = device.named.name;
    if (const auto found = status.cordoned.find(name); found != status.cordoned.end())
      device.cordoned = found->second;
    KeptDevice& kept = devices_.try_emplace(name, settings_.proof_lifetime, now).first->second;
    if (!kept.take(std::move(device), {status.watched, status.counts.changes},
                   looks ? &corrections_ : nullptr, generation_of(Kind::device, name), now))
      return;
    const Json conditions = kept.conditions(now);
    offer(Kind::device, name,
          [&](const ObjectMeta& meta) { return device_object(kept.known(), conditions, meta); });
  };
  if (!status.devices) {
    for (const auto& [name, one] : devices_) take({.named = one.known().named});
    return;
  }
  const Snapshot& snapshot = *status.devices;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < snapshot.devices.size(); ++i) {
    KnownDevice device{.observed = snapshot.devices[i]};
    if (snapshot.named)
      device.named = (*snapshot.named)[i];
    else if (device.observed)
      device.named.name = device.observed->device;
    else
      continue;
    names.push_back(device.named.name);
    take(std::move(device));
  }
  remove_others(Kind::device, names);
  const std::set<std::string> stay(names.begin(), names.end());
  std::erase_if(devices_, [&](const auto& one) { return !stay.contains(one.first); });
}

void ObjectFeed::take_findings(const ServiceStatus& status, WallTime now) {
  if (!status.problems || status.problems == findings_of_) return;
  findings_of_ = status.problems;
  const GpuPrices prices = gpu_prices(status.objects.get());
  std::vector<std::string> names;
  for (const NamedFinding& one : findings_in(*findings_of_)) {
    names.push_back(one.name);
    const WallTime since = finding_since_.try_emplace(one.name, now).first->second;
    offer(Kind::finding, one.name,
          [&](const ObjectMeta& meta) { return finding_object(*findings_of_, one, since, prices, meta); });
  }
  remove_others(Kind::finding, names);
  const std::set<std::string> stay(names.begin(), names.end());
  std::erase_if(finding_since_, [&](const auto& one) { return !stay.contains(one.first); });
}

void ObjectFeed::take_events(WallTime now) {
  std::deque<ServiceEvent> events;
  std::size_t lost = 0;
  {
    const std::scoped_lock lock(mutex_);
    events.swap(waiting_);
    lost = std::exchange(lost_, 0);
  }
  const auto add = [&](Json document) {
    auto object = std::make_shared<const ApiObject>(to_object(Kind::event, std::move(document)));
    events_.push_back(object);
    entries_.push_back({.now = std::move(object)});
    if (events_.size() <= settings_.events_kept) return;
    events_.pop_front();  // nobody is told: events are not deleted, they are forgotten
  };
  const auto next = [&] {
    const std::string position = log_.position(++sequence_);
    return std::pair(position, ObjectMeta{.resource_version = position});
  };
  if (lost > 0) {
    const auto [name, meta] = next();
    ServiceEvent event{.at = now, .object = "Cluster/" + cluster_name_, .message = {}};
    event.message = std::to_string(lost) + " events came faster than they could be taken, and were dropped";
    Json document = event_object(event, name, meta);
    document["reason"] = "EventsLost";
    document["type"] = "Warning";
    add(std::move(document));
  }
  for (const ServiceEvent& one : events) {
    const auto [name, meta] = next();
    add(event_object(one, name, meta));
    stored_again_ = stored_again_ || may_be_stored(one.kind);
  }
}

void ObjectFeed::take_stored(WallTime now) {
  stored_again_ = false;
  stored_at_ = now;
  const StoredPlace place = stored_place();
  stored_directory_ = place.directory;
  std::string trouble;
  for (const Kind kind : {Kind::change, Kind::benchmark_run}) {
    const Result<StoredPage> page = stored_page(place, kind, {}, settings_.stored_kept, {});
    if (!page) {
      trouble = page.error().text();
      continue;
    }
    std::vector<std::string> names;
    for (const ApiObject& one : page->objects) {
      names.push_back(one.name);
      const Json document = Json::parse(one.text);
      offer(kind, one.name, [&](const ObjectMeta& meta) {
        Json out = document;
        if (!meta.resource_version.empty()) out["metadata"]["resourceVersion"] = meta.resource_version;
        return out;
      });
    }
    // Older ones are forgotten here, and stay in the store.
    const std::set<std::string> stay(names.begin(), names.end());
    std::erase_if(kept_[index_of(kind)], [&](const auto& one) { return !stay.contains(one.first); });
  }
  if (Result<std::map<std::string, SuiteRun>> runs = suite_runs(place, settings_.stored_kept); runs)
    suite_runs_ = *std::move(runs);
  else
    trouble = runs.error().text();
  if (!trouble.empty() && trouble != stored_trouble_)
    settings_.log("changes and benchmark runs can't be read for the API: " + trouble);
  stored_trouble_ = trouble;
}

void ObjectFeed::publish() {
  if (entries_.empty() && !std::exchange(changed_, false)) return;
  changed_ = false;
  auto next = std::make_shared<Board>();
  for (std::size_t kind = 0; kind < kept_.size(); ++kind)
    for (const auto& [name, one] : kept_[kind]) next->objects[kind].push_back(one.object);
  next->objects[index_of(Kind::event)].assign(events_.begin(), events_.end());
  next->sequence = sequence_;
  // The log first: who lists the former board and watches from its position gets all of this turn.
  log_.append(std::exchange(entries_, {}));
  const std::scoped_lock lock(mutex_);
  board_ = std::move(next);
}

}  // namespace lockstep::api
