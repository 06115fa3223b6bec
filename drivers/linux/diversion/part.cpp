#include "drivers/linux/diversion/part.hpp"

#include <linux/rtnetlink.h>

#include <algorithm>

#include "drivers/linux/diversion/culprits.hpp"
#include "drivers/linux/diversion/map.hpp"
#include "drivers/linux/diversion/words.hpp"
#include "drivers/mapped/map_table.hpp"
#include "drivers/posix/in_namespace.hpp"

namespace lockstep {
namespace {

using diversion::Asked;
using diversion::Ground;

Result<std::vector<std::string>> led_elsewhere(netlink::Socket& socket, const Ground& ground,
                                               const IpPrefix& pool, const std::vector<Asked>& asked,
                                               const Call& call) {
  std::vector<diversion::Question> questions;
  for (const Asked& one : asked) questions.push_back(one.question);
  TRY(const auto found, diversion::look_up(socket, questions, call));
  return diversion::culprits(ground, pool, asked, found);
}

Result<std::vector<std::string>> of_transit(netlink::Socket& socket, const Ground& ground,
                                            const IpPrefix& pool, const Call& call) {
  TRY(auto out, led_elsewhere(socket, ground, pool, diversion::transit_questions(ground, pool), call));
  for (std::string& one : diversion::stray_addresses(ground, pool)) out.push_back(std::move(one));
  return out;
}

Result<std::vector<std::string>> of_sent(netlink::Socket& socket, const Ground& ground, const IpPrefix& pool,
                                         const Call& call) {
  TRY(auto out, led_elsewhere(socket, ground, pool, diversion::sent_questions(ground, pool), call));
  for (std::string& one : diversion::stray_addresses(ground, pool)) out.push_back(std::move(one));
  return out;
}

Result<std::vector<std::string>> of_neighbours(netlink::Socket&, const Ground& ground, const IpPrefix& pool,
                                               const Call&) {
  return diversion::fixed_neighbours(ground, pool);
}

struct MapRow {
  RowId row;
  Result<std::vector<std::string>> (*read)(netlink::Socket&, const Ground&, const IpPrefix&, const Call&);
  bool write = false;  // effects are never written
};
constexpr MapRow kRows[] = {
    {diversion_map::kNeighbours, of_neighbours},
    {diversion_map::kSent, of_sent},
    {diversion_map::kTransit, of_transit},
};
static_assert(has_each_row_once(kRows));

// What is named of a pool beyond this is counted: a reader needs the first ones, and a reply stays bounded.
constexpr std::size_t kNamedMax = 50;

Value value_of(std::vector<std::string> all) {
  std::ranges::sort(all);
  if (all.size() > kNamedMax) {
    const std::string rest = "and " + std::to_string(all.size() - kNamedMax) + " more";
    all.resize(kNamedMax);
    all.push_back(rest);
  }
  return Value::set(std::move(all));
}

Result<Ground> read_ground(netlink::Socket& socket, const std::vector<Link>& links,
                           const std::set<std::string>& ports, const Call& call) {
  Ground out;
  TRY(out.network,
      read_network(socket, {.addresses = true, .routes = true, .rules = true, .local_routes = true}, call));
  TRY(out.neighbours, read_neighbours(socket, call));
  for (const Link& link : links)
    if (ports.contains(link.name)) out.ports.insert(link.index);
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

bool is_removable(std::string_view culprit) {
  const bool of_route = !culprit.starts_with("rule ") && !culprit.starts_with("address ");
  const bool elsewhere = culprit.find(" table ") != culprit.npos;
  return of_route && !elsewhere &&
         (culprit.find(" proto static") != culprit.npos || culprit.find(" proto boot") != culprit.npos);
}

std::optional<Remedy::Offer> RouteRemedy::offer(const Change& effect) const {
  if (effect.path.row() != diversion_map::kTransit || effect.was.kind() != Value::Kind::list)
    return std::nullopt;
  std::string removes;
  for (const std::string_view one : effect.was.as_list())
    if (is_removable(one)) removes += (removes.empty() ? "" : ", ") + std::string(one);
  if (removes.empty()) return std::nullopt;
  constexpr int kTries = 3;  // somebody who puts a route back as often is to be found, not outdone: a choice
  return Offer{"remove-static-routes", "removes " + removes, Disruption::traffic, kTries,
               std::chrono::minutes(5)};
}

Result<Done> remove_static_routes(const IpPrefix& pool, const Call& call) {
  TRY(netlink::Socket socket, netlink::Socket::open(NETLINK_ROUTE));
  TRY(const NetworkState network, read_network(socket, {.addresses = false, .rules = false}, call));
  for (const Route& route : diversion::static_routes(network, pool)) {
    netlink::Request request(RTM_DELROUTE, NLM_F_ACK);
    rtmsg header{};
    header.rtm_family = family_of(route.destination.address);
    header.rtm_dst_len = route.destination.length;
    header.rtm_table = RT_TABLE_MAIN;
    header.rtm_protocol = route.protocol;
    header.rtm_type = route.type;
    header.rtm_scope = RT_SCOPE_NOWHERE;  // any (ip-route(8), as `ip route del` asks)
    request.header(header).put(RTA_DST, bytes_of(route.destination.address));
    request.put_number(RTA_PRIORITY, route.metric);
    TRY(const netlink::Answer answer, socket.change(request, call));
    if (answer.code != 0 && answer.code != ESRCH)
      return netlink::to_error(answer, "ip route del " + diversion::text_of(route, network));
  }
  return Done{};
}

Result<Done> RouteRemedy::cure(const ChangeSet& effects, const Call& call) {
  for (const Change& effect : effects) {
    TRY(const IpPrefix pool, parse_prefix(effect.path.key(0)));
    Result<Done> done = Done{};
    TRY_DONE(in_namespace(target_.netns_path, [&] { done = remove_static_routes(pool, call); }));
    TRY_DONE(done);
  }
  return Done{};
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
};

void DiversionPart::read(const Scope& scope, const std::vector<Link>& links, TreeBuilder& tree,
                         std::vector<Unread>& unread, const Call& call) {
  std::vector<std::pair<const MapRow*, std::string>> wanted;
  for (const MapRow& one : kRows)
    if (scope.wants(one.row))
      for (const std::string& pool : scope.names(one.row)) wanted.emplace_back(&one, pool);
  if (wanted.empty()) return;
  const auto read_all = [&]() -> Result<Done> {
    TRY(netlink::Socket socket, netlink::Socket::open(NETLINK_ROUTE));
    TRY(const Ground ground, read_ground(socket, links, scope.names(diversion_map::kPort), call));
    for (const auto& [one, name] : wanted) {
      TRY(const IpPrefix pool, parse_prefix(name));
      TRY(auto culprits, one->read(socket, ground, pool, call));
      tree.add(Path(one->row, {name}), value_of(std::move(culprits)));
    }
    return Done{};
  };
  const Result<Done> done = read_all();
  if (done) return;
  for (const auto& [one, name] : wanted) unread.push_back({one->row, {name}, done.error()});
}

std::vector<std::optional<Error>> DiversionPart::apply(const ChangeSet& changes, const std::vector<Link>&,
                                                       const Call&) {
  std::vector<std::optional<Error>> out;
  for (const Change& one : changes)
    out.emplace_back(Error{ErrorKind::unsupported, one.path.text() + " is read-only"});
  return out;
}

std::string DiversionPart::native(const Change& change) const {
  return "ip route get ADDRESS fibmatch  # of each part of " + std::string(change.path.key(0));
}

}  // namespace

std::unique_ptr<LinuxPart> make_diversion_part(const LinuxTarget& target) {
  return std::make_unique<DiversionPart>(target);
}

}  // namespace lockstep
