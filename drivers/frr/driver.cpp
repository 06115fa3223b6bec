#include "drivers/frr/driver.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "drivers/frr/map.hpp"
#include "drivers/frr/preview_state.hpp"
#include "drivers/frr/remedy.hpp"
#include "drivers/frr/save.hpp"
#include "drivers/frr/saved.hpp"
#include "drivers/frr/script.hpp"
#include "drivers/frr/state.hpp"
#include "specs/model/fnv.hpp"

namespace lockstep {
namespace frr {
namespace {

std::string digest(std::string_view text) { return Fnv().add(text).text(); }

constexpr std::string_view kNotRead = "-";
constexpr std::string_view kNoFile = "no file is known that FRR starts from";

// "bgp,bfd.effects": a guard compares the daemons' configurations only, since a flapping session does not
// change them.
std::string revision_of(const State& state) {
  std::string effects;
  if (state.bgp)
    for (const auto& [name, session] : state.bgp->sessions) effects += name + "=" + session + "\n";
  if (state.bgp)
    for (const auto& [name, timers] : state.bgp->in_use)
      effects += name + "=" + std::to_string(timers.keepalive_s) + "," + std::to_string(timers.hold_s) + "\n";
  if (state.bfd)
    for (const auto& [name, session] : state.bfd->sessions) effects += name + "~" + session + "\n";
  for (const auto& [name, life] : state.daemons) effects += name + ":" + life + "\n";
  if (state.saved) effects += *state.saved ? "saved" : "not saved: " + state.unsaved;
  const std::string bgp = state.bgp ? digest(print(state.bgp->config)) : std::string(kNotRead);
  const std::string bfd = state.bfd ? digest(print(state.bfd->config)) : std::string(kNotRead);
  return bgp + "," + bfd + "." + digest(effects);
}

// Compares the daemons that appear in both revisions.
bool same_config(std::string_view a, std::string_view b) {
  const auto until = [](std::string_view text, char end) { return text.substr(0, text.find(end)); };
  const auto past = [](std::string_view text, char end) { return text.substr(text.find(end) + 1); };
  const auto agree = [](std::string_view one, std::string_view other) {
    return one == other || one == kNotRead || other == kNotRead;
  };
  return agree(until(a, ','), until(b, ',')) && agree(until(past(a, ','), '.'), until(past(b, ','), '.'));
}

bool sets_timers(const Edit& edit) {
  return edit.field == Field::neighbor_hold || edit.field == Field::neighbor_keepalive;
}

Wanted wanted_for(const Scope& scope) {
  Wanted wanted = kNothing;
  for (const RowId id : rows_read()) {
    if (!scope.wants(id)) continue;
    const Wanted needs = needs_of(id);
    wanted.bgp |= needs.bgp;
    wanted.bfd |= needs.bfd;
    wanted.effects |= needs.effects;
    wanted.daemons |= needs.daemons;
    wanted.saved |= needs.saved;
  }
  return wanted;
}

// For failures after lines were written: "try again" and "not attempted" would be wrong.
Error after_writing(std::string what, Error why) {
  Error error = wrap(std::move(what), std::move(why));
  if (error.kind == ErrorKind::transient || error.kind == ErrorKind::cancelled)
    error.kind = ErrorKind::unknown_outcome;
  return error;
}

class FrrDriver : public Driver, public Preview, public Recall {
 public:
  explicit FrrDriver(FrrTarget target)
      : target_(std::move(target)), remedy_(target_, [this] { return seen_sessions(); }) {}

  Result<Traits> traits(const Call& call) override {
    if (auto ended = call.why_ended(std::chrono::steady_clock::now()))
      return wrap(target_.device, *std::move(ended));
    Traits traits;
    traits.driver = "frr";
    traits.reads = rows_read();
    traits.writes = rows_written();
    return traits;
  }

  Result<Observation> observe(const Scope& scope, std::string_view if_not, const Call& call) override;
  Result<Receipt> apply(const ChangeSet& changes, const Guard& guard, const Call& call) override;

  Result<Done> settle(std::string_view, Settlement settlement, const Call&) override {
    if (settlement == Settlement::undo)
      return Error{ErrorKind::unsupported, target_.device + ": frr can't roll back by itself"};
    return Done{};
  }

  std::vector<std::string> native(const ChangeSet& changes) const override;
  void recall(const Observation& observation, const Scope& scope) override;

  Remedy* remedy() { return &remedy_; }

 private:
  State seen() const {
    const std::scoped_lock lock(mutex_);
    return seen_;
  }
  SeenSessions seen_sessions() const {
    const std::scoped_lock lock(mutex_);
    return seen_sessions_;
  }
  Result<Done> check(const Guard& guard, const State& state);
  Result<Done> send(const std::vector<Step>& steps, Receipt& receipt, const Call& call);
  void note_saved(State& state, Observation& out) const;
  void save(Receipt& receipt, bool wrote, const Call& call) const;
  void reset(const Reset& reset, Receipt& receipt, const Call& call) const;
  Result<std::optional<std::string>> say_all(const std::vector<Sent>& lines, std::size_t& failed,
                                             const Call& call);

  const FrrTarget target_;
  FrrRemedy remedy_;
  mutable std::mutex mutex_;
  State seen_;                  // of the last full observation: for previews
  SeenSessions seen_sessions_;  // of the last one that has them: for remedies
  std::uint64_t epoch_ = 0;
};

Result<Observation> FrrDriver::observe(const Scope& scope, std::string_view if_not, const Call& call) {
  const Wanted wanted = wanted_for(scope);
  Observation out;
  out.device = target_.device;
  State state = read(target_.run_dir, wanted, call);
  if (wanted.saved) note_saved(state, out);
  out.when = std::chrono::steady_clock::now();
  for (const auto* error : {&state.bgp_error, &state.bfd_error, &state.daemons_error})
    if (*error && (*error)->kind == ErrorKind::cancelled) return **error;
  const bool nothing = (!wanted.bgp || state.bgp_error) && (!wanted.bfd || state.bfd_error);
  if (nothing && state.daemons.empty() && (wanted.bgp || wanted.bfd))
    return state.bgp_error ? *state.bgp_error : *state.bfd_error;
  out.unread = unread_of(state, scope);
  if (out.unread.empty()) out.revision = revision_of(state);
  const bool unchanged = !out.revision.empty() && out.revision == if_not;
  if (!unchanged) {
    TreeBuilder tree;
    entries_of(state, scope, tree);
    out.have = tree.build();
    recall(out, scope);
  }
  if (state.bgp && !state.bgp->version.empty()) out.facts["frr"] = state.bgp->version;
  if (state.bgp && state.bgp->speaker && state.bgp->speaker->requires_policy)
    out.notes.push_back(
        "bgp ebgp-requires-policy is on: eBGP sessions without a policy exchange nothing (RFC 8212)");
  if (wanted.bgp && wanted.bfd && wanted.effects && out.unread.empty()) {
    const std::scoped_lock lock(mutex_);
    seen_ = std::move(state);
  }
  return out;
}

void FrrDriver::recall(const Observation& observation, const Scope& scope) {
  if (!observation.unread.empty() || !SeenSessions::are_in(scope)) return;
  SeenSessions seen = SeenSessions::of(observation.have);
  const std::scoped_lock lock(mutex_);
  seen_sessions_ = std::move(seen);
}

void FrrDriver::note_saved(State& state, Observation& out) const {
  if (target_.config_file.empty()) {
    for (const RowId id : rows_read())
      if (is_saving(id)) out.incapable.push_back({id, {}, std::string(kNoFile)});
    return;
  }
  hold_against_saved(target_.run_dir, target_.config_file, state);
  if (!state.unsaved.empty())
    out.notes.push_back("saved FRR configuration (" + saved_place(target_.config_file) +
                        ") differs from the running one: " + state.unsaved);
}

Result<Done> FrrDriver::check(const Guard& guard, const State& state) {
  if (guard.undo_after)
    return Error{ErrorKind::unsupported, target_.device + ": frr has no timer that could undo a change"};
  const std::scoped_lock lock(mutex_);
  if (guard.epoch < epoch_)
    return Error{ErrorKind::denied, target_.device + ": epoch " + std::to_string(guard.epoch) +
                                        " is older than " + std::to_string(epoch_)};
  if (!guard.revision.empty() && !same_config(guard.revision, revision_of(state)))
    return Error{ErrorKind::conflict,
                 target_.device + ": FRR's configuration has changed since it was observed"};
  epoch_ = guard.epoch;
  return Done{};
}

Result<Receipt> FrrDriver::apply(const ChangeSet& changes, const Guard& guard, const Call& call) {
  Receipt receipt;
  receipt.ticket = guard.ticket;
  std::vector<Edit> edits;
  bool saves = false;
  Wanted wanted = kNothing;
  wanted.bgp = wanted.bfd = !guard.revision.empty();
  for (std::size_t i = 0; i < changes.size(); ++i) {
    receipt.outcomes.push_back({changes[i].path, std::nullopt});
    auto edit = edit_of(changes[i], i);
    if (!edit) {
      receipt.outcomes.back().error = std::move(edit.error());
      continue;
    }
    if (edit->field == Field::saved) {
      saves = !target_.config_file.empty();
      if (!saves)
        receipt.outcomes.back().error =
            Error{ErrorKind::unsupported, target_.device + ": " + std::string(kNoFile)};
      continue;
    }
    edits.push_back(*std::move(edit));
    const Wanted needs = needs_of(changes[i].path.row());
    wanted.bgp |= needs.bgp;
    wanted.bfd |= needs.bfd;
    wanted.effects |= sets_timers(edits.back());
  }
  const State state = read(target_.run_dir, wanted, call);
  if (state.bgp_error) return *state.bgp_error;
  if (state.bfd_error) return *state.bfd_error;
  TRY_DONE(check(guard, state));
  auto steps = script_of(edits, state);
  if (!steps) {
    for (auto& outcome : receipt.outcomes)
      if (!outcome.error) outcome.error = steps.error();
    return receipt;
  }
  TRY_DONE(send(*steps, receipt, call));
  if (saves || !steps->empty()) save(receipt, !steps->empty(), call);
  for (const Reset& one : resets_of(edits, state)) reset(one, receipt, call);
  return receipt;
}

void FrrDriver::save(Receipt& receipt, bool wrote, const Call& call) const {
  if (target_.config_file.empty()) return;
  auto saved = save_running(target_.run_dir, target_.config_file, call);
  if (saved) return;
  const std::string what = "not saved: an FRR restart would lose it";
  const Error error = wrote ? after_writing("done, but " + what, std::move(saved.error()))
                            : wrap(what, std::move(saved.error()));
  for (auto& outcome : receipt.outcomes)
    if (!outcome.error) outcome.error = error;
}

void FrrDriver::reset(const Reset& reset, Receipt& receipt, const Call& call) const {
  for (const std::size_t change : reset.changes)
    if (receipt.outcomes[change].error) return;
  std::optional<Error> error;
  auto bgpd = Vty::connect(target_.run_dir, "bgpd", call);
  auto reply = bgpd ? bgpd->say(reset.line, Intention::writes, call) : std::move(bgpd.error());
  if (!reply)
    error = std::move(reply.error());
  else if (reply->code != 0)
    error = Error{ErrorKind::refused, "bgpd: '" + reset.line + "': " + reply->words()};
  if (!error)
    return receipt.notes.push_back("bgpd: " + reset.line + ": timers hold from a session's opening");
  for (const std::size_t change : reset.changes)
    receipt.outcomes[change].error = after_writing("set, but the session keeps its former timers", *error);
}

// FRR's message for the first line that it refused, with that line's index in `failed`; none: all were
// accepted.
Result<std::optional<std::string>> FrrDriver::say_all(const std::vector<Sent>& lines, std::size_t& failed,
                                                      const Call& call) {
  std::optional<Vty> vty;
  for (failed = 0; failed < lines.size(); ++failed) {
    const Sent& sent = lines[failed];
    if (!vty || vty->daemon() != sent.daemon) {
      TRY(vty, Vty::connect(target_.run_dir, sent.daemon, call));
    }
    TRY(const Reply reply, vty->say(sent.line, Intention::writes, call));
    if (reply.code != 0) return std::optional(sent.daemon + ": '" + sent.line + "': " + reply.words());
  }
  return std::optional<std::string>();
}

Result<Done> FrrDriver::send(const std::vector<Step>& steps, Receipt& receipt, const Call& call) {
  const std::vector<Sent> lines = transcript(steps);
  std::size_t failed = 0;
  auto refusal = say_all(lines, failed, call);
  if (!refusal) {
    // A line before it may have taken effect, so "try again" and "not attempted" would be wrong.
    if (failed > 0) refusal.error().kind = ErrorKind::unknown_outcome;
    return std::move(refusal.error());
  }
  if (!*refusal) return Done{};
  const std::size_t step = lines[failed].step;
  const Error refused{ErrorKind::refused, target_.device + ": " + **refusal};
  for (std::size_t i = steps.size(); i-- > step + 1;)
    for (const std::size_t change : steps[i].changes)
      receipt.outcomes[change].error =
          Error{ErrorKind::refused, "not tried, because an earlier line was refused",
                std::make_shared<const Error>(refused)};
  for (const std::size_t change : steps[step].changes) receipt.outcomes[change].error = refused;
  return Done{};
}

// A change whose desired value equals its previous one exists already: it shows no line, but is part of the
// state that the others build on.
std::vector<std::string> FrrDriver::native(const ChangeSet& changes) const {
  std::vector<Edit> there;
  std::vector<Edit> edits;
  std::vector<std::string> out;
  bool saves = false;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const bool is_there = changes[i].was == changes[i].want;
    auto edit = edit_of(changes[i], i);
    if (edit && edit->field == Field::saved)
      saves = saves || !is_there;
    else if (edit)
      (is_there ? there : edits).push_back(*std::move(edit));
    else if (!is_there)
      out.push_back("! " + edit.error().text());
  }
  // A speaker is created together with its ASN.
  const auto is = [](Field field) { return [field](const Edit& edit) { return edit.field == field; }; };
  const auto number = std::find_if(there.begin(), there.end(), is(Field::asn));
  if (number != there.end() && std::any_of(edits.begin(), edits.end(), is(Field::speaker)))
    edits.push_back(*number);
  const State state = preview_state(seen(), there, edits);
  const auto steps = script_of(edits, state);
  if (!steps) {
    out.push_back("! " + steps.error().text());
    return out;
  }
  for (const Sent& sent : transcript(*steps)) out.push_back(sent.daemon + "> " + sent.line);
  if (saves) out.push_back("vtysh> write memory");
  for (const Reset& one : resets_of(edits, state)) out.push_back("bgpd> " + one.line);
  return out;
}

}  // namespace
}  // namespace frr

Attached make_frr_driver(FrrTarget target) {
  auto driver = std::make_unique<frr::FrrDriver>(std::move(target));
  Attached attached;
  attached.preview = driver.get();
  attached.remedy = driver->remedy();
  attached.recall = driver.get();
  attached.driver = std::move(driver);
  return attached;
}

}  // namespace lockstep
