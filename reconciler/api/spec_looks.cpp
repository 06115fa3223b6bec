#include "reconciler/api/spec_looks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "reconciler/store/utc_text.hpp"
#include "specs/language/api_version.hpp"

namespace lockstep::api {
namespace {

using Json = nlohmann::json;

void keep_oldest(std::optional<WallTime>& oldest, const std::optional<WallTime>& one) {
  if (one && (!oldest || *one < *oldest)) oldest = one;
}

const ObjectDrift* drift_of(const DeviceStatus& device, const std::string& title) {
  const auto found = std::ranges::lower_bound(device.objects, title, {}, &ObjectDrift::object);
  return found == device.objects.end() || found->object != title ? nullptr : &*found;
}

// What a device's condition says of one object there. Where the device differs, its last observation tells
// which objects do.
ShownStatus status_of(const ShownStatus& device, std::uint32_t differences, const DeviceStatus& observed) {
  using enum ConditionStatus;
  if (device.status != false_ || differences > 0) return device;
  return {observed.complete ? true_ : unknown, observed.observed};
}

class TallyOfObject {
 public:
  TallyOfObject(const SpecObject& object, const std::optional<RevisionId>& watched)
      : title_(object.title()), watched_(watched) {}

  void add(const SpecObject::Place& place, const KeptDevice* device) {
    using enum ConditionStatus;
    if (device == nullptr || !device->known().observed || device->towards() != watched_) {
      for (Tally* const one : {&out_.reachable, &out_.in_sync, &out_.healthy}) one->add({});
      return;
    }
    const DeviceStatus& observed = *device->known().observed;
    const ObjectDrift* const own = drift_of(observed, title_);
    const DriftCounts counts = own == nullptr ? DriftCounts{} : own->counts;
    const std::uint32_t settings = count_of(counts, DriftState::drifted) + (own == nullptr ? 0 : own->manual);
    const ShownStatus in_sync = status_of(device->in_sync(), settings, observed);
    const ShownStatus healthy = status_of(device->healthy(), count_of(counts, DriftState::effect), observed);
    out_.reachable.add(device->reachable());
    out_.in_sync.add(in_sync);
    out_.healthy.add(healthy);
    out_.not_applied += std::min(count_of(counts, DriftState::not_applied), place.entries);
    note_correction(*device, in_sync.status == false_ || healthy.status == false_);
  }
  ObjectTally take() { return std::move(out_); }

 private:
  void note_correction(const KeptDevice& device, bool differs) {
    if (device.is_reconciling() && (differs || device.is_changing())) ++out_.reconciling;
    if (!differs) return;
    if (out_.differing.size() < kDifferingShown) out_.differing.push_back(device.known().named.name);
    if (device.is_stalled() && out_.stalled++ == 0) out_.why_stalled = device.why_stalled();
  }

  const std::string title_;
  const std::optional<RevisionId>& watched_;
  ObjectTally out_;
};

std::string names_text(const std::vector<std::string>& names, std::size_t all) {
  std::string out;
  for (const std::string& one : names) out += (out.empty() ? "" : ", ") + one;
  return names.size() < all ? out + " and others" : out;
}

struct Words {
  const char* yes;
  const char* no;
  const char* yes_text;  // "on all 12 devices"
  const char* no_text;   // "on 3 of 12 devices"
};

Look look_of(const Tally& tally, const Words& words) {
  using enum ConditionStatus;
  const std::size_t all = tally.yes + tally.no + tally.unknown;
  if (tally.no > 0)
    return {false_, words.no, fmt::format("{} {} of {} devices", words.no_text, tally.no, all),
            tally.oldest_no};
  if (tally.unknown > 0)
    return {unknown, "NotObserved", fmt::format("{} of {} devices have no current proof", tally.unknown, all),
            tally.oldest_yes};
  return {true_, words.yes, fmt::format("{} all {} devices", words.yes_text, all), tally.oldest_yes};
}

Look not_used(const SpecObject& object) {
  using enum ConditionStatus;
  if (object.overruled > 0)
    return {unknown, "Overruled", fmt::format("all of its {} entries are overruled", object.overruled)};
  return {unknown, "NotUsed", "it configures nothing on any device"};
}

// All must be so; what is not comes first.
Look ready_of(const std::vector<NamedLook>& looks) {
  using enum ConditionStatus;
  for (const ConditionStatus status : {false_, unknown})
    for (const NamedLook& one : looks)
      if (one.look.status == status) return one.look;
  Look out{true_, "InSync", "it is as the specs want it, and works", {}};
  for (const NamedLook& one : looks) keep_oldest(out.proof, one.look.proof);
  return out;
}

Look in_sync_of(const SpecObject& object, const ObjectTally& tally) {
  using enum ConditionStatus;
  Look out = look_of(tally.in_sync, {"InSync", "Drifted", "as wanted on", "differs on"});
  if (out.status == false_) out.message += ": " + names_text(tally.differing, tally.in_sync.no);
  if (out.status != true_ || tally.not_applied == 0) return out;
  if (tally.not_applied >= object.entries)
    return {false_, "NotApplied", "none of its entries is supported where it applies", out.proof};
  out.message += fmt::format(", but for {} of its {} entries, which are not supported there",
                             tally.not_applied, object.entries);
  return out;
}

std::vector<NamedLook> looks_at_settings(const SpecObject& object, const ObjectTally& tally) {
  if (object.places.empty()) {
    const Look none = not_used(object);
    return {{"Ready", none}, {"Reachable", none}, {"InSync", none}, {"Healthy", none}};
  }
  std::vector<NamedLook> out{
      {"Reachable", look_of(tally.reachable, {"Observed", "Unreachable", "answers of", "no answer from"})},
      {"InSync", in_sync_of(object, tally)},
      {"Healthy", look_of(tally.healthy, {"Healthy", "EffectsOpen", "works on", "effects are open on"})}};
  out.insert(out.begin(), {"Ready", ready_of(out)});
  return out;
}

std::string run_text(const SuiteRun& run) {
  const RunHead& head = run.head;
  std::string out = fmt::format("run {}", head.number);
  if (head.change != 0) out += fmt::format(" ({} change {})", to_string(head.purpose), head.change);
  out += " at " + head.at + ": " + head.verdict;
  return run.suites > 1 ? out + fmt::format(", over {} suites", run.suites) : out;
}

Look validated_of(const std::optional<SuiteRun>& run) {
  using enum ConditionStatus;
  if (!run) return {unknown, "NotMeasured", "no recorded run has measured it"};
  const std::optional<WallTime> proof = utc_time(run->head.at);
  if (run->head.verdict == "pass") return {true_, "Passed", run_text(*run), proof};
  if (run->head.verdict == "fail") return {false_, "Failed", run_text(*run), proof};
  return {unknown, "NotJudged", run_text(*run), proof};
}

Look in_force_of(const SpecObject& object) {
  using enum ConditionStatus;
  if (object.governs == 0) return {unknown, "NotUsed", "it applies to no device"};
  return {true_, "InForce", fmt::format("it applies to {} devices", object.governs)};
}

Json run_json(const SuiteRun& run) {
  Json out{{"run", run.head.number},
           {"purpose", to_string(run.head.purpose)},
           {"verdict", run.head.verdict},
           {"at", run.head.at}};
  if (run.head.change != 0) out["change"] = run.head.change;
  return out;
}

}  // namespace

void Tally::add(const ShownStatus& one) {
  if (one.status == ConditionStatus::unknown) {
    ++unknown;
    return;
  }
  const bool is = one.status == ConditionStatus::true_;
  ++(is ? yes : no);
  keep_oldest(is ? oldest_yes : oldest_no, one.proof);
}

ObjectTally tally_of(const SpecObject& object, const std::vector<const KeptDevice*>& devices,
                     const std::optional<RevisionId>& watched) {
  TallyOfObject out(object, watched);
  for (const SpecObject::Place& place : object.places) out.add(place, devices[place.device]);
  return out.take();
}

std::vector<ConditionRow> object_rows(const lockstep::KindRow& kind, const ProofLifetimes& lifetimes) {
  std::vector<ConditionRow> out{{.type = "Ready"},
                                {.type = "Reconciling", .abnormal_true = true},
                                {.type = "Stalled", .abnormal_true = true}};
  if (kind.name == kSuiteKind) {
    out[0].lifetime = lifetimes.run;
    out.push_back({.type = "Validated", .lifetime = lifetimes.run});
  } else if (kind.configures) {
    out[0].lifetime = lifetimes.observation;
    for (const char* const type : {"Reachable", "InSync", "Healthy"})
      out.push_back({.type = type, .lifetime = lifetimes.observation});
  }
  return out;
}

std::vector<NamedLook> looks_at_object(const SpecObject& object, const ObjectTally& tally,
                                       const std::optional<SuiteRun>& run) {
  using enum ConditionStatus;
  std::vector<NamedLook> out;
  if (object.kind->name == kSuiteKind)
    out = {{"Ready", validated_of(run)}, {"Validated", validated_of(run)}};
  else if (object.kind->configures)
    out = looks_at_settings(object, tally);
  else
    out = {{"Ready", in_force_of(object)}};
  Look reconciling{false_, "AtRest", ""};
  if (tally.reconciling > 0)
    reconciling = {true_, "Correcting",
                   fmt::format("{} of its devices are being changed or corrected", tally.reconciling)};
  Look stalled{false_, "GoesOn", ""};
  if (tally.stalled > 0)
    stalled = {true_, tally.why_stalled,
               fmt::format("{} devices that differ because of it need somebody: {}", tally.stalled,
                           names_text(tally.differing, tally.differing.size()))};
  out.push_back({"Reconciling", std::move(reconciling)});
  out.push_back({"Stalled", std::move(stalled)});
  return out;
}

Json spec_object(const SpecObject& object, const ObjectTally& tally, const std::optional<SuiteRun>& run,
                 const std::optional<RevisionId>& watched, const Json& conditions, const ObjectMeta& meta) {
  using enum ConditionStatus;
  Json out{
      {"apiVersion", api_version},
      {"kind", object.kind->name},
      {"metadata",
       {{"name", object.name}, {"generation", meta.generation}, {"resourceVersion", meta.resource_version}}},
      {"spec", object.spec.empty() ? Json{{"omitted", object.digest}} : Json::parse(object.spec)}};
  if (!object.labels.empty()) out["metadata"]["labels"] = object.labels;
  Json& now = out["status"];
  now["origin"] = {{"file", object.file}, {"line", object.line}};
  now["digest"] = object.digest;
  if (watched) now["revision"] = watched->source;
  if (object.kind->configures) {
    now["devices"] = {{"known", object.places.size()},     {"inSync", tally.in_sync.yes},
                      {"drifted", tally.in_sync.no},       {"effectsOpen", tally.healthy.no},
                      {"unreachable", tally.reachable.no}, {"unknown", tally.in_sync.unknown},
                      {"stalled", tally.stalled}};
    now["entries"] = {
        {"desired", object.entries}, {"notApplied", tally.not_applied}, {"overruled", object.overruled}};
    now["differing"] = tally.differing;
  } else if (object.governs > 0) {
    now["devices"] = {{"known", object.governs}};
  }
  if (run) now["lastRun"] = run_json(*run);
  now["observedGeneration"] = meta.generation;
  now["conditions"] = conditions;
  return out;
}

}  // namespace lockstep::api
