// The objects of the specs in the feed of object_feed.hpp.

#include <nlohmann/json.hpp>
#include <utility>

#include "reconciler/api/object_feed.hpp"

namespace lockstep::api {

// Those of the specs that are watched; before any are, there are none.
void ObjectFeed::take_objects(const ServiceStatus& status, WallTime now) {
  if (!status.objects) return;
  const SpecObjects& specs = *status.objects;
  // What was shown was of other specs.
  if (status.watched != objects_of_)
    for (auto& [title, one] : objects_) one.conditions.begin_anew();
  objects_of_ = status.watched;
  std::vector<const KeptDevice*> devices;
  devices.reserve(specs.devices.size());
  for (const std::string& name : specs.devices) {
    const auto found = devices_.find(name);
    devices.push_back(found == devices_.end() ? nullptr : &found->second);
  }
  std::set<std::string> titles;
  std::vector<std::vector<std::string>> names(kinds().size());
  for (const SpecObject& object : specs.all) {
    const KindRow* const kind = find_kind(object.kind->plural);
    if (kind == nullptr || kind->spec != object.kind) continue;  // the Cluster is the service itself
    names[index_of(kind->kind)].push_back(object.name);
    titles.insert(object.title());
    take_object(status, object, tally_of(object, devices, status.watched), now);
  }
  for (std::size_t kind = index_of(Kind::spec); kind < names.size(); ++kind)
    remove_others(static_cast<Kind>(kind), names[kind]);
  std::erase_if(objects_, [&](const auto& one) { return !titles.contains(one.first); });
}

void ObjectFeed::take_object(const ServiceStatus& status, const SpecObject& object, ObjectTally tally,
                             WallTime now) {
  const auto [found, is_new] = objects_.try_emplace(
      object.title(),
      KeptObject{.conditions = {object_rows(*object.kind, {settings_.proof_lifetime, settings_.run_lifetime}),
                                now}});
  KeptObject& kept = found->second;
  if (is_new) kept.conditions.begin_anew();
  const auto run = suite_runs_.find(object.name);
  std::optional<SuiteRun> last_run;
  if (run != suite_runs_.end() && object.kind->name == kSuiteKind) last_run = run->second;
  const std::optional<WallTime> due = kept.conditions.next_change();
  if (!kept.is_unsettled && kept.of == status.objects && kept.tally == tally && kept.run == last_run &&
      (!due || now < *due))
    return;
  const Kind kind = kind_of(*object.kind);
  kept.of = status.objects;
  kept.tally = std::move(tally);
  kept.run = std::move(last_run);
  kept.is_unsettled = false;
  for (const NamedLook& one : looks_at_object(object, kept.tally, kept.run)) {
    kept.conditions.look(one.type, one.look, generation_of(kind, object.name), now);
    kept.is_unsettled = kept.is_unsettled || !kept.conditions.is_settled(one.type);
  }
  const nlohmann::json conditions = kept.conditions.to_json(now);
  offer(kind, object.name, [&](const ObjectMeta& meta) {
    return spec_object(object, kept.tally, kept.run, status.watched, conditions, meta);
  });
}

}  // namespace lockstep::api
