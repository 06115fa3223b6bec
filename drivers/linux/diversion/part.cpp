#include "drivers/linux/diversion/part.hpp"

#include <linux/rtnetlink.h>

#include <algorithm>

#include "drivers/linux/diversion/culprits.hpp"
#include "drivers/linux/diversion/map.hpp"
#include "drivers/linux/diversion/packet_filters.hpp"
#include "drivers/linux/diversion/port_filters.hpp"
#include "drivers/linux/diversion/words.hpp"
#include "drivers/mapped/map_table.hpp"
#include "drivers/posix/in_namespace.hpp"

namespace lockstep {
namespace {

using diversion::Asked;
using diversion::Ground;
using Texts = std::vector<std::string>;

Result<Texts> led_elsewhere(netlink::Socket& socket, const Ground& ground, const IpPrefix& pool,
                            const std::vector<Asked>& asked, const Call& call) {
  std::vector<diversion::Question> questions;
  for (const Asked& one : asked) questions.push_back(one.question);
  TRY(const auto found, diversion::look_up(socket, questions, call));
  return diversion::culprits(ground, pool, asked, found);
}

void add(Texts& to, Texts more) {
  for (std::string& one : more) to.push_back(std::move(one));
}

Result<Texts> of_packets(netlink::Socket& socket, const Ground& ground, const IpPrefix& pool,
                         const std::vector<Asked>& asked, const Call& call) {
  TRY(auto out, led_elsewhere(socket, ground, pool, asked, call));
  add(out, diversion::stray_addresses(ground, pool));
  add(out, diversion::captured_ports(ground, pool));
  return out;
}

// One namespace's reading, and its sources.
struct Reading {
  netlink::Socket& socket;
  const Ground& ground;
  const Scope& scope;
  diversion::RuleFilters& filters;
  // Read on first use.
  std::optional<Result<Texts>> of_ports{};
  std::optional<Result<std::vector<xfrm::Policy>>> policies{};
};

Result<Texts> of_transit(Reading& now, const IpPrefix& pool, const Call& call) {
  return of_packets(now.socket, now.ground, pool, diversion::transit_questions(now.ground, pool), call);
}

Result<Texts> of_sent(Reading& now, const IpPrefix& pool, const Call& call) {
  return of_packets(now.socket, now.ground, pool, diversion::sent_questions(now.ground, pool), call);
}

Result<Texts> of_neighbours(Reading& now, const IpPrefix& pool, const Call&) {
  Texts out = diversion::fixed_neighbours(now.ground, pool);
  add(out, diversion::silent_ports(now.ground));
  return out;
}

Result<Texts> of_filters(Reading& now, const IpPrefix& pool, const Call& call) {
  const bool transit = now.scope.names(diversion_map::kTransit).contains(pool.text());
  TRY(Texts out, now.filters.of(now.ground, pool, transit, call));
  if (!now.policies) now.policies = xfrm::read_policies(call);
  if (!*now.policies) return now.policies->error();
  add(out, diversion::policy_filters(**now.policies, now.ground, pool, transit));
  if (!now.of_ports) now.of_ports = diversion::port_filters(now.ground, now.socket, call);
  if (!*now.of_ports) return now.of_ports->error();
  add(out, **now.of_ports);
  return out;
}

struct MapRow {
  RowId row;
  Result<Texts> (*read)(Reading&, const IpPrefix&, const Call&);
  bool of_lookups = true;  // based on lookups, which may see newer tables than the dump
  bool write = false;      // effects are never written
};
constexpr MapRow kRows[] = {
    {diversion_map::kFilters, of_filters, false},
    {diversion_map::kNeighbours, of_neighbours},
    {diversion_map::kSent, of_sent},
    {diversion_map::kTransit, of_transit},
};
static_assert(has_each_row_once(kRows));

// Limits the culprits that are listed for a pool; the rest is only counted, so that a reply stays bounded.
constexpr std::size_t kNamedMax = 50;

Value value_of(Texts all) {
  if (all.size() > kNamedMax) {
    const std::string rest = "and " + std::to_string(all.size() - kNamedMax) + " more";
    all.resize(kNamedMax);
    all.push_back(rest);
  }
  return Value::set(std::move(all));
}

Result<std::unique_ptr<const Ground>> read_ground(netlink::Socket& socket, const std::vector<Link>& links,
                                                  const Scope& scope, const Call& call) {
  TRY(NetworkState network,
      read_network(socket, {.addresses = true, .routes = true, .rules = true, .local_routes = true}, call));
  TRY(std::vector<Neighbour> neighbours, read_neighbours(socket, call));
  const std::set<std::string>& ports = scope.names(diversion_map::kPort);
  std::set<std::uint32_t> indices;
  for (const Link& link : links)
    if (ports.contains(link.name)) indices.insert(link.index);
  std::set<IpPrefix> routed;
  for (const std::string& one : scope.names(diversion_map::kRouted))
    if (const auto destination = IpPrefix::parse(one)) routed.insert(*destination);
  return std::make_unique<const Ground>(std::move(network), std::move(neighbours), std::move(indices),
                                        routed);
}

// A row and a pool.
using Wish = std::pair<const MapRow*, std::string>;

// The result for each wish; an error concerns that one alone.
Result<std::vector<Result<Texts>>> read_once(const std::vector<Wish>& wanted, netlink::Socket& socket,
                                             const std::vector<Link>& links, const Scope& scope,
                                             diversion::RuleFilters& filters, const Call& call) {
  TRY(const std::unique_ptr<const Ground> ground, read_ground(socket, links, scope, call));
  Reading now{socket, *ground, scope, filters};
  std::vector<Result<Texts>> out;
  for (const auto& [row, name] : wanted) {
    TRY(const IpPrefix pool, parse_prefix(name));
    Result<Texts>& culprits = out.emplace_back(row->read(now, pool, call));
    if (culprits) std::ranges::sort(*culprits);
  }
  return out;
}

// A change between the tables' dump and the lookups looks like a diversion: only what a second reading shows
// as well is reported.
Result<std::vector<Result<Texts>>> read_twice(const std::vector<Wish>& wanted, const std::vector<Link>& links,
                                              const Scope& scope, diversion::RuleFilters& filters,
                                              const Call& call) {
  TRY(netlink::Socket socket, netlink::Socket::open(NETLINK_ROUTE));
  TRY(auto out, read_once(wanted, socket, links, scope, filters, call));
  std::vector<std::size_t> places;
  std::vector<Wish> doubtful;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (out[i] && (out[i]->empty() || !wanted[i].first->of_lookups)) continue;
    places.push_back(i);
    doubtful.push_back(wanted[i]);
  }
  if (doubtful.empty()) return out;
  TRY(const auto again, read_once(doubtful, socket, links, scope, filters, call));
  for (std::size_t k = 0; k < places.size(); ++k) {
    Result<Texts>& one = out[places[k]];
    if (one && again[k])
      std::erase_if(*one,
                    [&](const std::string& each) { return !std::ranges::binary_search(*again[k], each); });
    else
      one = again[k];
  }
  return out;
}

class RouteRemedy final : public Remedy {
 public:
  explicit RouteRemedy(const LinuxTarget& target) : target_(target) {}
  std::optional<Offer> offer(const Change& effect) const override;
  Result<Done> cure(const ChangeSet& effects, const Call& call) override;

 private:
  const LinuxTarget target_;
};

// The destination of "10.64.0.64/26 via ..." and "blackhole 10.64.0.64/26 ...": 10.64.0.64/26; none: the text
// is not a route's.
std::optional<IpPrefix> destination_of(std::string_view culprit) {
  const std::size_t end = culprit.find(' ');
  if (const auto first = IpPrefix::parse(culprit.substr(0, end)); first || end == culprit.npos) return first;
  const std::string_view rest = culprit.substr(end + 1);
  return IpPrefix::parse(rest.substr(0, rest.find(' ')));
}

bool is_removable(std::string_view culprit, const IpPrefix& pool) {
  const auto destination = destination_of(culprit);
  const bool elsewhere = culprit.find(" table ") != culprit.npos;
  return destination && pool.contains(*destination) && !elsewhere &&
         (culprit.find(" proto static") != culprit.npos || culprit.find(" proto boot") != culprit.npos);
}

// The routes that an offer names and that the remedy removes: those of the effect that the specs don't allow,
// and no others.
Texts removable(const Change& effect) {
  const auto pool = IpPrefix::parse(effect.path.key(0));
  if (!pool) return {};
  Texts out = beyond(effect.want, effect.was);
  std::erase_if(out, [&](const std::string& one) { return !is_removable(one, *pool); });
  return out;
}

std::optional<Remedy::Offer> RouteRemedy::offer(const Change& effect) const {
  if (effect.path.row() != diversion_map::kTransit) return std::nullopt;
  std::string removes;
  for (const std::string& one : removable(effect)) removes += (removes.empty() ? "" : ", ") + one;
  if (removes.empty()) return std::nullopt;
  constexpr int kTries = 3;  // arbitrary: if routes return this often, their source has to be found manually
  return Offer{"remove-static-routes", "removes " + removes, Disruption::traffic, kTries,
               std::chrono::minutes(5)};
}

// Removes exactly this route, if several with the same destination and metric have different gateways.
netlink::Request removal_of(const Route& route) {
  netlink::Request request(RTM_DELROUTE, NLM_F_ACK);
  rtmsg header{};
  header.rtm_family = family_of(route.destination.address);
  header.rtm_dst_len = route.destination.length;
  header.rtm_tos = route.tos;
  header.rtm_table = RT_TABLE_MAIN;
  header.rtm_protocol = route.protocol;
  header.rtm_type = route.type;
  header.rtm_scope = RT_SCOPE_NOWHERE;  // any (ip-route(8), as `ip route del` does)
  request.header(header).put(RTA_DST, bytes_of(route.destination.address));
  request.put_number(RTA_PRIORITY, route.metric);
  if (route.nexthop_id != 0) request.put_number(RTA_NH_ID, route.nexthop_id);
  if (route.nexthop_id != 0 || route.hops.size() != 1 || route.type != RTN_UNICAST) return request;
  const NextHop& hop = route.hops.front();
  request.put_number(RTA_OIF, hop.index);
  if (hop.gateway && hop.gateway->v6 == route.destination.address.v6)
    request.put(RTA_GATEWAY, bytes_of(*hop.gateway));
  return request;
}

// The progress of a removal of several routes.
struct Removal {
  bool wrote = false;
  std::optional<Error> failed;  // the first error

  void note(Error error) {
    if (!failed) failed = std::move(error);
  }
};

Result<Done> remove_routes(const IpPrefix& pool, const Texts& named, const Call& call, Removal& removal) {
  TRY(netlink::Socket socket, netlink::Socket::open(NETLINK_ROUTE));
  TRY(const NetworkState network, read_network(socket, {.addresses = false, .rules = false}, call));
  for (const Route& route : diversion::static_routes(network, pool)) {
    const std::string text = diversion::text_of(route, network);
    if (std::ranges::find(named, text) == named.end()) continue;
    netlink::Request request = removal_of(route);
    TRY(const netlink::Answer answer, socket.change(request, call));
    if (answer.code == 0) removal.wrote = true;
    if (answer.code != 0 && answer.code != ESRCH)
      removal.note(netlink::to_error(answer, "ip route del " + text));
  }
  return Done{};
}

// Attempts all named routes. Once one is removed, no error may claim that nothing happened.
Result<Done> RouteRemedy::cure(const ChangeSet& effects, const Call& call) {
  Removal removal;
  for (const Change& effect : effects) {
    const auto pool = IpPrefix::parse(effect.path.key(0));
    const Texts named = removable(effect);
    if (!pool || named.empty()) continue;
    Result<Done> done = Done{};
    const Result<Done> entered =
        in_namespace(target_.netns_path, [&] { done = remove_routes(*pool, named, call, removal); });
    if (!entered) removal.note(entered.error());
    if (!done) removal.note(done.error());
  }
  if (!removal.failed) return Done{};
  if (removal.wrote) removal.failed->kind = ErrorKind::unknown_outcome;
  return *std::move(removal.failed);
}

class DiversionPart final : public LinuxPart {
 public:
  explicit DiversionPart(const LinuxTarget& target) : remedy_(target) {}

  std::vector<RowId> reads() const override { return rows_of(kRows); }
  std::vector<RowId> writes() const override { return written_rows_of(kRows); }
  std::vector<Incapable> incapable(const Scope&, const std::vector<Link>&, const Call&) override {
    return {};
  }
  void read(const Scope& scope, const std::vector<Link>& links, TreeBuilder& tree,
            std::vector<Unread>& unread, const Call& call) override;
  std::vector<std::optional<Error>> apply(const ChangeSet& changes, const std::vector<Link>&,
                                          const Call&) override;
  Remedy* remedy() override { return &remedy_; }
  std::string native(const Change& change) const override;

 private:
  RouteRemedy remedy_;
  diversion::RuleFilters filters_;
};

void DiversionPart::read(const Scope& scope, const std::vector<Link>& links, TreeBuilder& tree,
                         std::vector<Unread>& unread, const Call& call) {
  std::vector<Wish> wanted;
  for (const MapRow& one : kRows)
    if (scope.wants(one.row))
      for (const std::string& pool : scope.names(one.row)) wanted.emplace_back(&one, pool);
  if (wanted.empty()) return;
  auto seen = read_twice(wanted, links, scope, filters_, call);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto& [one, name] = wanted[i];
    if (seen && (*seen)[i])
      tree.add(Path(one->row, {name}), value_of(*std::move((*seen)[i])));
    else
      unread.push_back({one->row, {name}, seen ? (*seen)[i].error() : seen.error()});
  }
}

std::vector<std::optional<Error>> DiversionPart::apply(const ChangeSet& changes, const std::vector<Link>&,
                                                       const Call&) {
  std::vector<std::optional<Error>> out;
  for (const Change& one : changes)
    out.emplace_back(Error{ErrorKind::unsupported, one.path.text() + " is read-only"});
  return out;
}

std::string DiversionPart::native(const Change& change) const {
  if (change.path.row() == diversion_map::kFilters)
    return "nft list ruleset; tc filter show dev PORT [ingress|egress]; tc qdisc; ip xfrm policy; bpftool "
           "net  "
           "# what can drop " +
           std::string(change.path.key(0));
  return "ip route get ADDRESS fibmatch  # of each part of " + std::string(change.path.key(0));
}

}  // namespace

std::unique_ptr<LinuxPart> make_diversion_part(const LinuxTarget& target) {
  return std::make_unique<DiversionPart>(target);
}

}  // namespace lockstep
