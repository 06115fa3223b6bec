// The service's specs: fetched, loaded, and opened as sessions; and the leadership of the cluster that they
// are of.
#include <algorithm>
#include <optional>
#include <utility>

#include "reconciler/service/service_loop.hpp"

namespace lockstep {
namespace {

constexpr const char* kSpecsKey = "specs";  // fetches and loads are serial

// Choices: of the last good revision and before, how many are gone back to; and how many are kept for that.
constexpr std::size_t kBeforeGood = 3;
constexpr std::size_t kKeptSpecs = 5;

// Trouble of the way to the source, not of the commit there: the next commit ends that.
bool may_pass(SourceTrouble trouble) {
  switch (trouble) {
    case SourceTrouble::unreachable:
    case SourceTrouble::denied:
    case SourceTrouble::not_found:
    case SourceTrouble::broken:
    case SourceTrouble::local: return true;
    case SourceTrouble::too_large:
    case SourceTrouble::not_allowed:
    case SourceTrouble::not_verified: break;
  }
  return false;
}

}  // namespace

// One call of the feed on a worker; `then`: with its answer, or none and the reason.
template <class T>
void ServiceLoop::with_feed(std::function<T(SpecsFeed&, const Call&)> run,
                            std::function<void(std::optional<T>, const std::string& why)> then) {
  auto answer = std::make_shared<std::optional<T>>();
  job_ = seams_.executor.start(
      {.key = kSpecsKey,
       .lane = Lane::bench,
       .timeout = settings_.fetch_timeout,
       .run = [answer, run = std::move(run),
               &specs = seams_.specs](const Call& call) { answer->emplace(run(specs, call)); },
       .done = callbacks_.bind([this, answer, then = std::move(then)](const Outcome& outcome) {
         job_ = 0;
         if (outcome == Outcome::returned)
           then(std::move(*answer), "");
         else
           then(std::nullopt, outcome.reason_or("no answer in time"));
         turn_soon();
       })});
}

// What was kept before a restart comes first, so that specs that are invalid by now, or can't be fetched,
// leave the last good ones in force.
// Where they can't be read now (no room to unpack them), the next fetch tries again, and until then nothing
// is kept in their place. What is damaged stays so.
void ServiceLoop::begin_with_kept() {
  using Kept = Result<std::vector<LoadedSpecs>>;
  with_feed<Kept>(
      [](SpecsFeed& specs, const Call&) -> Kept {
        TRY(const std::vector<Revision> kept, specs.kept());
        std::vector<LoadedSpecs> out;
        for (const Revision& one : kept) out.push_back(specs.load(one));
        return out;
      },
      [this](std::optional<Kept> kept, const std::string& why) {
        knows_kept_ = kept && (*kept || kept->error().kind == ErrorKind::invalid_spec);
        if (kept && *kept) {
          kept_trouble_.clear();
          for (LoadedSpecs& one : **kept)
            if (auto* const valid = std::get_if<ValidSpecs>(&one)) know(std::move(*valid));
          note_authors();
        } else {
          no_kept_specs(kept ? kept->error().text() : why);
        }
        fetch_newest();
      });
}

void ServiceLoop::no_kept_specs(const std::string& why) {
  std::string told = "the specs that were in force can't be read: " + why;
  if (kept_trouble_ != told) happened(ServiceEvent::Kind::record_trouble, "Source/" + source_.title, told);
  kept_trouble_ = std::move(told);
}

void ServiceLoop::fetch_now() {
  fetch_wait_ = {};
  if (fetching_)
    fetch_again_ = true;
  else if (!stopping_)
    fetch();
}

void ServiceLoop::reconcile_now() {
  looks_again_ = true;
  fetch_now();
}

void ServiceLoop::fetch() {
  cancel(fetch_timer_);
  if (stopping_) return;
  if (job_ != 0) return at(fetch_timer_, std::chrono::milliseconds(50), &ServiceLoop::fetch);
  fetching_ = true;
  if (knows_kept_)
    fetch_newest();
  else
    begin_with_kept();
}

void ServiceLoop::fetch_newest() {
  if (stopping_) return;
  with_feed<FetchedSpecs>(
      [again = fetch_lost_](SpecsFeed& specs, const Call& call) { return specs.fetch(call, again); },
      [this](std::optional<FetchedSpecs> specs, const std::string& why) {
        fetch_lost_ = !specs;
        if (!specs) specs = SourceError{SourceTrouble::unreachable, {ErrorKind::transient, why}};
        fetched(*std::move(specs));
      });
}

void ServiceLoop::fetched(FetchedSpecs specs) {
  fetching_ = false;
  if (stopping_) return;
  std::chrono::milliseconds wait = with_jitter(settings_.fetch_every);
  if (const auto* const trouble = std::get_if<SourceError>(&specs)) {
    // A commit has trouble of its own each time; that of the way there may be worded otherwise each time.
    const bool is_new = source_.trouble != trouble->trouble ||
                        (!may_pass(trouble->trouble) && source_.why != trouble->error.text());
    if (is_new)
      happened(ServiceEvent::Kind::source_trouble, "Source/" + source_.title, trouble->error.text());
    source_.trouble = trouble->trouble;
    source_.why = trouble->error.text();
    if (may_pass(trouble->trouble)) wait = longer(fetch_wait_);
  } else {
    if (source_.trouble) happened(ServiceEvent::Kind::source_recovered, "Source/" + source_.title, "");
    source_.trouble.reset();
    source_.why.clear();
    source_.fetched = now();
    fetch_wait_ = {};
  }
  if (auto* const valid = std::get_if<ValidSpecs>(&specs)) took(std::move(*valid));
  if (const auto* const bad = std::get_if<InvalidSpecs>(&specs)) invalid(bad->revision.id, bad->text());
  if (std::exchange(looks_again_, false)) {
    if (record_.begun) record_.revisions.drifted(*record_.begun, "asked to look again", now());
    look_now();
    if (watch_ && !watch_stops_) watch_->look();
  }
  at(fetch_timer_, std::exchange(fetch_again_, false) ? std::chrono::milliseconds(0) : wait,
     &ServiceLoop::fetch);
}

// Its files, for as long as something may be opened with them. Those that are known stay: a session may use
// them.
void ServiceLoop::know(ValidSpecs specs) {
  if (!cluster_)
    cluster_ = Cluster{identity_of(specs.cluster), specs.cluster.name, specs.cluster.state_name(),
                       specs.cluster.twin};
  if (directory_.empty())
    directory_ = seams_.directory.empty() ? state_directory(specs.cluster) : seams_.directory;
  specs_.try_emplace(specs.id,
                     Specs{std::move(specs.revision), std::move(specs.cluster), std::move(specs.objects)});
  if (!store_) lead_again();
}

void ServiceLoop::took(ValidSpecs specs) {
  if (cluster_ && identity_of(specs.cluster) != cluster_->identity)
    return invalid(specs.revision.id, "these are the specs of another cluster (" +
                                          specs.cluster.state_name() + "); this service leads " +
                                          cluster_->state_name);
  const RevisionId id = specs.id;
  newest_ = id;
  know(std::move(specs));
  if (store_) return note_newest();
  record_.revisions.valid(id, settings_.version, now());  // until the record is read
  note_authors();
}

// The record has been read, or nothing is stored yet.
void ServiceLoop::note_newest() {
  if (!newest_) return;
  const bool is_new = !record_.revisions.shown(*newest_);
  const bool moves = record_.revisions.newest() != newest_;
  record_.revisions.valid(*newest_, settings_.version, now());
  unsaved_ = true;
  // Also of a branch that went back: the wait is that of the one before.
  if (moves) look_now();
  if (is_new) {
    happened(ServiceEvent::Kind::revision_valid, "Revision/" + newest_->source,
             specs_[*newest_].revision.subject);
  }
  note_authors();
  forget_specs();
}

// Shown after their files are gone as well.
void ServiceLoop::note_authors() {
  for (const auto& [id, specs] : specs_)
    record_.made_by[id.source] = {specs.revision.author, specs.revision.subject, specs.revision.made};
  std::set<std::string> shown;
  for (const Revisions::Shown& one : record_.revisions.shown()) shown.insert(one.revision.source);
  std::erase_if(record_.made_by, [&](const auto& one) { return !shown.contains(one.first); });
}

void ServiceLoop::invalid(const std::string& source, const std::string& why) {
  const std::optional<Revisions::Invalid> before = record_.revisions.bad();
  record_.revisions.invalid(source, why, now());
  unsaved_ = true;
  if (!before || before->source != source || before->why != record_.revisions.bad()->why)
    happened(ServiceEvent::Kind::revision_invalid, "Revision/" + source, why);
}

// Those that may be gone for or watched without being fetched again, the most important first: what devices
// may be at, the goal, and those before it, which are next where a gate refuses it.
std::vector<RevisionId> ServiceLoop::specs_in_use() const {
  std::vector<RevisionId> out = in_force();
  if (goal_) out.push_back(goal_->id);
  if (watched_id_) out.push_back(*watched_id_);
  if (newest_) out.push_back(*newest_);
  const std::optional<RevisionId> good = record_.revisions.last_good();
  bool from_good_on = false;
  std::size_t others = 0;
  for (const Revisions::Shown& one : record_.revisions.shown()) {
    if (one.state == RevisionState::refused || one.state == RevisionState::rejected) continue;
    from_good_on = from_good_on || one.revision == good;
    const bool has_files = std::ranges::any_of(
        specs_, [&](const auto& known) { return known.first.source == one.revision.source; });
    if (!has_files) continue;  // nor takes the place of one that has
    if (from_good_on && ++others > kBeforeGood) break;
    out.push_back(one.revision);
  }
  // Also as this version compiles it, if another one did that last: the files are the same.
  std::vector<RevisionId> once;
  for (const RevisionId& wanted : out)
    for (const auto& [one, specs] : specs_)
      if (one.source == wanted.source && std::ranges::find(once, one) == once.end()) once.push_back(one);
  return once;
}

void ServiceLoop::forget_specs() {
  const std::vector<RevisionId> used = specs_in_use();
  std::erase_if(specs_, [&](const auto& one) { return std::ranges::find(used, one.first) == used.end(); });
}

// For a restart; `then`: also if they can't be.
void ServiceLoop::keep_specs(std::function<void()> then) {
  std::vector<RevisionId> used = specs_in_use();
  if (used.size() > kKeptSpecs) used.resize(kKeptSpecs);
  if (used == kept_specs_ || !knows_kept_) return then();
  std::vector<Revision> all;
  for (const RevisionId& one : used) all.push_back(specs_.at(one).revision);
  with_feed<Result<Done>>(
      [all = std::move(all)](SpecsFeed& specs, const Call&) { return specs.keep(all); },
      [this, used = std::move(used), then = std::move(then)](std::optional<Result<Done>> kept,
                                                             const std::string& why) mutable {
        if (kept && *kept)
          kept_specs_ = std::move(used);
        else
          happened(ServiceEvent::Kind::record_trouble, cluster_object(),
                   "the specs are not kept for a restart: " + (kept ? kept->error().text() : why));
        then();
      });
}

// Leadership ----------------------------------------------------------------------------------------------

void ServiceLoop::lead_again() {
  cancel(lead_timer_);
  if (const Result<Done> led = take_leadership(); !led) {
    if (why_not_leads_ != led.error().text())
      happened(ServiceEvent::Kind::leadership_lost, cluster_object(), led.error().text());
    why_not_leads_ = led.error().text();
    record_trouble_ = led.error().kind == ErrorKind::conflict ? "" : why_not_leads_;  // no other leads
    at(lead_timer_, longer(lead_wait_, settings_.lead_retry_max), &ServiceLoop::lead_again);
  }
  resign_if_suspended();
  turn_soon();
}

// The store, and from its record where the last run of a service ended. A change that was cut off in mid-run
// is under way no more: the next one takes over what it wrote.
Result<Done> ServiceLoop::take_leadership() {
  if (!store_) {
    TRY(std::shared_ptr<Store> store,
        open_store(directory_, {.cluster = cluster_->state_name,
                                .now = [this] { return now(); },
                                .said_by =
                                    [this](const std::string& device, Path path) {
                                      const auto& served = apply_ ? goal_->served : watched_;
                                      return served ? served->session->said_by(device, path) : SaidBy{};
                                    }}));
    TRY_DONE(store->leadership().take(settings_.command));
    const std::optional<Revisions::Invalid> bad = record_.revisions.bad();  // newer than `newest_`
    TRY_DONE(read_record(*store));
    store_ = std::move(store);
    note_newest();
    if (bad) record_.revisions.invalid(bad->source, bad->why, bad->since);
  } else {
    TRY_DONE(store_->leadership().take(settings_.command));
  }
  if (const auto ended = recover_in_flight(store_->history()); !ended) {
    store_->leadership().resign();
    return ended.error();
  }
  leads_ = true;
  why_not_leads_.clear();
  record_trouble_.clear();
  lead_wait_ = {};
  happened(ServiceEvent::Kind::leads, cluster_object(), "");
  return Done{};
}

// A damaged record decides nothing: a person does, and it is left as it is until then.
Result<Done> ServiceLoop::read_record(Store& store) {
  constexpr const char* kRecord = "the service's record of its decisions";
  TRY(const std::optional<nlohmann::json> kept, store.blobs().kept(ServiceRecord::kKey));
  if (!kept) return Done{};
  Result<ServiceRecord> record = ServiceRecord::from_json(*kept);
  if (!record) return wrap(kRecord, std::move(record.error()));
  if (!record->breaker.is_null())
    if (Result<Done> restored = breaker_.restore(record->breaker); !restored)
      return wrap(kRecord, std::move(restored.error()));
  // What people said to it while the store was not known can't be: nobody could.
  record_ = *std::move(record);
  record_.revisions.interrupted("the service ended before it did", now());
  unsaved_ = true;
  return Done{};
}

Result<std::shared_ptr<Store>> ServiceLoop::led_store() const {
  if (leads_ && !record_.suspended) return store_;
  return Error{ErrorKind::conflict, record_.suspended ? "the service is suspended" : why_not_leads_};
}

// Sessions ------------------------------------------------------------------------------------------------

Result<std::shared_ptr<ServedSession>> ServiceLoop::open_session(OpenedCluster cluster) {
  auto served = std::make_shared<ServedSession>(seams_.executor);
  SessionSeams seams{.drivers = seams_.drivers, .executor = served->executor};
  seams.directory = directory_;
  seams.measurer = seams_.measurer;
  seams.traffic = seams_.traffic;
  seams.machines = seams_.machines;
  seams.version = settings_.version;
  seams.first_hops = seams_.first_hops;
  seams.by_itself = true;
  seams.leads = [this] { return led_store(); };
  seams.epoch = epoch_;
  TRY(served->session, ClusterSession::open(std::move(cluster), seams));
  return served;
}

void ServiceLoop::open(const RevisionId& id, std::function<void(Opened)> then) {
  const auto known = specs_.find(id);
  if (known == specs_.end())
    return then(Error{ErrorKind::conflict, "the files of revision " + id.source + " are gone"});
  if (known->second.cluster) {
    OpenedCluster cluster = *std::exchange(known->second.cluster, std::nullopt);
    return then(open_session(std::move(cluster)));
  }
  with_feed<LoadedSpecs>(
      [revision = known->second.revision](SpecsFeed& specs, const Call&) { return specs.load(revision); },
      [this, id, then = std::move(then)](std::optional<LoadedSpecs> loaded, const std::string& why) {
        if (!loaded) return then(Error{ErrorKind::transient, why});
        if (const auto* const bad = std::get_if<InvalidSpecs>(&*loaded))
          return then(Error{ErrorKind::invalid_spec, bad->text()});
        auto& valid = std::get<ValidSpecs>(*loaded);
        if (valid.id == id) return then(open_session(std::move(valid.cluster)));
        // Since it was fetched, something in it has ended: it compiles to other intents.
        if (newest_ && newest_->source == id.source) took(std::move(valid));
        then(Error{ErrorKind::conflict, "it compiles to other intents by now"});
      });
}

}  // namespace lockstep
