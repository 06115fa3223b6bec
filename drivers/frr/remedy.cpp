#include "drivers/frr/remedy.hpp"

#include <algorithm>
#include <map>

#include "drivers/frr/json_at.hpp"
#include "drivers/frr/map.hpp"
#include "drivers/frr/save.hpp"
#include "drivers/posix/wait.hpp"
#include "specs/model/bounded_json.hpp"

namespace lockstep::frr {
namespace {

using Json = nlohmann::json;
using std::chrono::milliseconds;

// zebra drops an unused group after its keep time, 1 s at least, and follows bgpd within 60 ms (measured,
// README.md); four times that is allowed for a loaded machine.
constexpr milliseconds kFollows{4000};
constexpr milliseconds kPollEvery{5};
// Time allowed for restoring maximum-paths, independently of the call's deadline.
constexpr milliseconds kPutBack{2000};

// ZEBRA_DEFAULT_NHG_KEEP_TIMER, zebra/zebra_router.h; `no zebra nexthop-group keep` requires the number too.
constexpr const char* kKeepDefault = "zebra nexthop-group keep 180";
constexpr const char* kKeepShortest = "zebra nexthop-group keep 1";

// Arbitrary: a fault that recurs more often than this has a cause that requires manual action.
constexpr int kTries = 3;
constexpr std::chrono::seconds kWithin{300};

constexpr Wanted kSpeakerOnly{.bgp = true, .bfd = false, .effects = false, .daemons = false, .saved = false};

std::vector<std::string> sorted(std::vector<std::string> all) {
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

std::vector<std::string> missing_of(const Change& effect) {
  std::vector<std::string> missing;
  if (effect.want.kind() != Value::Kind::list) return missing;
  const auto have =
      effect.was.kind() == Value::Kind::list ? effect.was.as_list() : std::vector<std::string_view>{};
  for (const std::string_view one : effect.want.as_list())
    if (std::find(have.begin(), have.end(), one) == have.end()) missing.emplace_back(one);
  return missing;
}

// The kernel has at least one path, so FRR has the route, but fewer than desired.
bool few_paths(const Change& effect) {
  return effect.was.kind() == Value::Kind::integer && effect.want.kind() == Value::Kind::integer &&
         effect.was.as_integer() > 0 && effect.was.as_integer() < effect.want.as_integer();
}

Result<Done> configure(Vty& bgpd, const std::vector<std::string>& lines, const Call& call) {
  for (const std::string& line : lines) {
    TRY(const Reply reply, bgpd.say(line, Intention::writes, call));
    if (reply.code != 0) return Error{ErrorKind::refused, "bgpd: '" + line + "': " + reply.words()};
  }
  return Done{};
}

// For an error before the first write: whatever it is, the device is unchanged.
Error untouched(Error error) {
  error.kind = ErrorKind::refused;
  return error;
}

// For an error after it: a partial write must not be reported as refused.
Result<Done> touched(Result<Done> done) {
  if (!done && done.error().kind != ErrorKind::transient && done.error().kind != ErrorKind::cancelled)
    done.error().kind = ErrorKind::unknown_outcome;
  return done;
}

// The two settings that a reinstall changes, and the lines that restore them.
struct Knobs {
  std::string run_dir;
  std::string router;      // "router bgp 65001"
  std::string paths_back;  // "maximum-paths 64"
  std::string keep_back;   // "zebra nexthop-group keep 180"

  Result<Done> paths(const std::string& line, const Call& call) const {
    TRY(Vty bgpd, Vty::connect(run_dir, "bgpd", call));
    return configure(bgpd, {"configure terminal", router, "address-family ipv4 unicast", line, "end"}, call);
  }
  Result<Done> keep(const std::string& line, const Call& call) const {
    TRY(Vty zebra, Vty::connect(run_dir, "zebra", call));
    return configure(zebra, {"configure terminal", line, "end"}, call);
  }
  // Attempts both, whatever the outcome of the first.
  Result<Done> put_back(const Call& call) const {
    auto first = paths(paths_back, call);
    auto second = keep(keep_back, call);
    return first ? second : first;
  }
};

Result<Knobs> knobs_of(const std::string& run_dir, const Call& call) {
  const State now = read(run_dir, kSpeakerOnly, call);
  if (now.bgp_error) return *now.bgp_error;
  if (!now.bgp->speaker) return Error{ErrorKind::refused, "there is no `router bgp`"};
  const Speaker& speaker = *now.bgp->speaker;
  Knobs knobs{run_dir, speaker.header, "maximum-paths " + std::to_string(speaker.max_paths), kKeepDefault};
  if (speaker.max_paths == now.bgp->max_paths_default) knobs.paths_back = "no maximum-paths";
  TRY(Vty zebra, Vty::connect(run_dir, "zebra", call));
  TRY(const RunningConfig config, read_config(zebra, call));
  if (const ConfigLine* const keep = config.find("zebra nexthop-group keep")) knobs.keep_back = keep->text;
  return knobs;
}

// Polls until `reached` returns true.
template <class Question>
Result<Done> await(const std::string& what, const Call& call, Question reached) {
  const Time until = std::min(call.deadline, std::chrono::steady_clock::now() + kFollows);
  for (;;) {
    TRY(const bool done, reached());
    if (done) return Done{};
    if (std::chrono::steady_clock::now() >= until) return Error{ErrorKind::transient, what};
    TRY_DONE(pause(kPollEvery, call));
  }
}

// As long as the group exists, zebra considers it installed and sends nothing to the kernel.
Result<Done> await_no_group(const std::string& run_dir, std::int64_t group, const Call& call) {
  TRY(Vty zebra, Vty::connect(run_dir, "zebra", call));
  const std::string id = std::to_string(group);
  return await("zebra still holds next-hop group " + id, call, [&]() -> Result<bool> {
    TRY(const Reply reply, zebra.say("show nexthop-group rib " + id, Intention::asks, call));
    return reply.code != 0 || reply.text.find("does not exist") != std::string::npos;
  });
}

Result<Done> await_paths(const std::string& run_dir, const std::string& prefix, std::size_t count,
                         const Call& call) {
  return await("zebra did not take " + prefix + " back", call, [&]() -> Result<bool> {
    TRY(const RouteView view, read_route(run_dir, prefix, call));
    return view.installed && view.interfaces.size() >= count;
  });
}

// Why FRR can't reinstall a prefix; empty: it can.
std::string why_not_reinstalled(const RouteView& view) {
  if (view.protocol != "bgp") return "FRR itself has no BGP route";
  if (!view.installed) return "FRR has the BGP route, and has not installed it yet";
  if (view.interfaces.size() < 2)
    return "FRR itself has one next hop only, by " +
           (view.interfaces.empty() ? "nothing" : view.interfaces.front());
  return "";
}

}  // namespace

Result<RouteView> route_view_of(std::string_view json, const std::string& prefix) {
  const Result<Json> parsed = parse_bounded_json(json);
  if (!parsed) return Error{ErrorKind::transient, "show ip route json: " + parsed.error().what};
  const Json& routes = *parsed;
  RouteView view;
  if (!routes.is_object() || !routes.contains(prefix) || !routes[prefix].is_array()) return view;
  for (const Json& route : routes[prefix]) {
    if (!route.is_object() || !is_true(route, "selected")) continue;
    view.protocol = text_at(route, "protocol");
    view.installed = is_true(route, "installed");
    view.group = integer_at(route, "installedNexthopGroupId").value_or(0);
    const auto hops = route.find("nexthops");
    if (hops == route.end() || !hops->is_array()) break;
    for (const Json& hop : *hops) {
      const std::string interface =
          hop.is_object() && is_true(hop, "fib") ? text_at(hop, "interfaceName") : "";
      if (!interface.empty()) view.interfaces.push_back(interface);
    }
    break;
  }
  view.interfaces = sorted(std::move(view.interfaces));
  return view;
}

Result<RouteView> read_route(const std::string& run_dir, const std::string& prefix, const Call& call) {
  TRY(Vty zebra, Vty::connect(run_dir, "zebra", call));
  const char* const family = prefix.find(':') == std::string::npos ? "ip" : "ipv6";
  TRY(const std::string json, zebra.ask("show " + std::string(family) + " route " + prefix + " json", call));
  return route_view_of(json, prefix);
}

FrrRemedy::Cure FrrRemedy::cure_for(const Change& effect) const {
  const RowId id = effect.path.row();
  if (!daemon_of(effect.path).empty()) return target_.restart ? Cure::restart : Cure::none;
  const SeenSessions seen = seen_();
  if (!seen.speaks) return Cure::none;
  const auto session = [&seen](const std::string& interface) {
    const auto found = seen.sessions.find(interface);
    return found == seen.sessions.end() ? std::string() : found->second;
  };
  if (is_session(id) || is_bfd_session(id)) {
    const std::string interface(effect.path.key(0));
    const auto one = seen.is_shut.find(interface);
    if (one == seen.is_shut.end() || one->second) return Cure::none;
    const std::string state = session(interface);
    return is_session(id) && (state == kSessionNoPolicy || state == kSessionInactive) ? Cure::accept
                                                                                      : Cure::clear;
  }
  // FRR chose among several paths, so the missing one is unknown; it reinstalls all that it chose.
  if (is_forwarding_count(id)) return few_paths(effect) ? Cure::reinstall : Cure::none;
  if (is_timer_in_use(id))
    return session(std::string(effect.path.key(0))) == kEstablished ? Cure::clear : Cure::none;
  if (!is_forwarding(id)) return Cure::none;
  const std::vector<std::string> missing = missing_of(effect);
  if (missing.empty()) return Cure::none;
  for (const std::string& interface : missing)
    if (session(interface) != kEstablished) return Cure::none;  // the session is the fault, not the kernel
  return effect.want.as_list().size() > 1 ? Cure::reinstall : Cure::clear;
}

Remedy::Offer FrrRemedy::offer_of(Cure cure) {
  switch (cure) {
    case Cure::reinstall:
      return Offer{
          "reinstall-multipath",
          "sets maximum-paths to 1 until zebra has forgotten the group (about 1 s on one path), and back, so "
          "that FRR installs all of it anew",
          Disruption::traffic, kTries, kWithin};
    case Cure::accept:
      return Offer{
          "accept-routes",
          "activates IPv4 unicast on the neighbor and turns off the RFC 8212 guard that discards all routes",
          Disruption::traffic, kTries, kWithin};
    case Cure::restart:
      return Offer{
          "restart-daemon",
          "ends what is left of the daemon (of all of FRR, if it is zebra) and starts it with its saved "
          "configuration",
          Disruption::traffic,
          kTries,
          kWithin,
          true};
    case Cure::none:
    case Cure::clear: break;
  }
  return Offer{"clear-session", "resets the BGP session with the neighbor", Disruption::traffic, kTries,
               kWithin};
}

std::optional<Remedy::Offer> FrrRemedy::offer(const Change& effect) const {
  const Cure cure = cure_for(effect);
  return cure == Cure::none ? std::nullopt : std::optional(offer_of(cure));
}

// A single path has no group that could lose a member.
std::optional<Remedy::Offer> FrrRemedy::stands_by(const Change& effect) const {
  const bool several = is_forwarding_count(effect.path.row())
                           ? effect.want.kind() == Value::Kind::integer && effect.want.as_integer() > 1
                           : is_forwarding(effect.path.row()) && effect.want.kind() == Value::Kind::list &&
                                 effect.want.as_list().size() > 1;
  return several ? std::optional(offer_of(Cure::reinstall)) : std::nullopt;
}

Result<Done> FrrRemedy::cure(const ChangeSet& effects, const Call& call) {
  std::set<std::string> prefixes;
  std::set<std::string> daemons;
  std::set<std::string> accepting;
  ChangeSet to_clear;
  for (const Change& effect : effects) {
    const std::string key = effect.path.key_count() > 0 ? std::string(effect.path.key(0)) : std::string();
    switch (cure_for(effect)) {
      case Cure::none:
        return Error{ErrorKind::unsupported, effect.path.text() + ": there is no remedy for it here"};
      case Cure::reinstall: prefixes.insert(key); break;
      case Cure::accept: accepting.insert(key); break;
      case Cure::restart: daemons.insert(daemon_of(effect.path)); break;
      case Cure::clear: to_clear.push_back(effect); break;
    }
  }
  if (daemons.contains("zebra")) daemons = {"zebra"};  // all others restart with it
  bool any = false;
  Result<Done> done = Done{};
  const auto then = [&](Result<Done> one) {
    done = any ? touched(std::move(one)) : std::move(one);
    any = true;
    return static_cast<bool>(done);
  };
  std::set<std::string> cleared;
  for (const Change& effect : to_clear)
    if (!then(clear_for(effect, cleared, call))) return done;
  for (const std::string& daemon : daemons)
    if (!then(restart(daemon, call))) return done;
  for (const std::string& interface : accepting)
    if (!then(accept_routes(interface, call))) return done;
  if (!prefixes.empty()) then(reinstall(prefixes, call));
  return done;
}

Result<Done> FrrRemedy::reinstall(const std::set<std::string>& prefixes, const Call& call) {
  std::map<std::string, RouteView> before;
  std::string why_not;
  for (const std::string& prefix : prefixes) {
    Result<RouteView> view = read_route(target_.run_dir, prefix, call);
    if (!view) return untouched(std::move(view.error()));
    if (const std::string why = why_not_reinstalled(*view); why.empty())
      before.emplace(prefix, *std::move(view));
    else
      why_not = prefix + ": " + why;
  }
  if (before.empty()) return Error{ErrorKind::refused, why_not};
  const Result<Knobs> knobs = knobs_of(target_.run_dir, call);
  if (!knobs) return untouched(knobs.error());

  auto done = knobs->keep(kKeepShortest, call);
  if (done) done = knobs->paths("maximum-paths 1", call);
  std::set<std::int64_t> groups;
  for (const auto& [prefix, view] : before)
    if (done && groups.insert(view.group).second) done = await_no_group(target_.run_dir, view.group, call);
  // Restored in any case, with its own time limit: a stop must not leave the device on one path.
  const Call own{.deadline = std::chrono::steady_clock::now() + kPutBack, .stop = {}};
  if (auto put_back = knobs->put_back(own); !put_back) {
    Error error = wrap("maximum-paths may still be 1", std::move(put_back.error()));
    error.kind = ErrorKind::unknown_outcome;
    return error;
  }
  for (const auto& [prefix, view] : before)
    if (done) done = await_paths(target_.run_dir, prefix, view.interfaces.size(), call);
  return touched(std::move(done));
}

Result<Done> FrrRemedy::clear_for(const Change& effect, std::set<std::string>& cleared, const Call& call) {
  std::vector<std::string> interfaces = missing_of(effect);
  if (!is_forwarding(effect.path.row())) interfaces = {std::string(effect.path.key(0))};
  if (is_timer_in_use(effect.path.row()) && !cleared.contains(interfaces.front())) {
    TRY(const bool as_wanted, runs_with_wanted_timers(effect, call));
    if (as_wanted) return Done{};
  }
  for (const std::string& interface : interfaces)
    if (cleared.insert(interface).second) TRY_DONE(clear(interface, call));
  return Done{};
}

Result<Done> FrrRemedy::clear(const std::string& interface, const Call& call) {
  TRY(Vty bgpd, Vty::connect(target_.run_dir, "bgpd", call));
  return configure(bgpd, {"clear bgp " + interface}, call);
}

Result<Done> FrrRemedy::restart(const std::string& daemon, const Call& call) {
  TRY_DONE(target_.restart(daemon, call));
  if (daemon != "zebra") return Done{};
  // A starting zebra removes its predecessor's routes from the kernel (rib_sweep_route, zebra_rib.c), and the
  // other daemons reconnect only after 10 s (zclient_event, lib/zclient.c), while peers keep sending. So they
  // are restarted too, as by watchfrr(8).
  auto done = target_.restart("bgpd", call);
  if (done) done = target_.restart("bfdd", call);
  return touched(std::move(done));
}

// Both ends, and both timers of each, request the same reset: the first one serves all. A session that is
// coming up uses the configured timers.
Result<bool> FrrRemedy::runs_with_wanted_timers(const Change& effect, const Call& call) {
  const State now = read(
      target_.run_dir, {.bgp = true, .bfd = false, .effects = true, .daemons = false, .saved = false}, call);
  if (now.bgp_error) return *now.bgp_error;
  if (!now.bgp->in_use.contains(std::string(effect.path.key(0)))) return true;
  TreeBuilder entries;
  entries_of(now, Scope{{effect.path.row()}}, entries);
  return entries.build().value(effect.path) == effect.want;
}

Result<Done> FrrRemedy::accept_routes(const std::string& interface, const Call& call) {
  const State now = read(target_.run_dir, kSpeakerOnly, call);
  if (now.bgp_error) return *now.bgp_error;
  if (!now.bgp->speaker) return Error{ErrorKind::refused, "there is no `router bgp`"};
  TRY(Vty bgpd, Vty::connect(target_.run_dir, "bgpd", call));
  auto done = configure(bgpd,
                        {"configure terminal", now.bgp->speaker->header, "no bgp ebgp-requires-policy",
                         "address-family ipv4 unicast", "neighbor " + interface + " activate", "end"},
                        call);
  if (done && !target_.config_file.empty()) done = save_running(target_.run_dir, target_.config_file, call);
  return touched(std::move(done));
}

}  // namespace lockstep::frr
