#include "drivers/linux/ethtool/part.hpp"

#include <linux/ethtool.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <mutex>

#include "drivers/linux/ethtool/ethtool.hpp"
#include "drivers/linux/ethtool/map.hpp"

namespace lockstep {
namespace {

using ethtool::Facts;
using ethtool::Kind;
using netlink::Answer;
using Answers = std::vector<std::optional<Error>>;

// "veth: ethtool rings get: Operation not supported".
Error error_of(const Answer& answer, const Link& port, Kind kind, std::string_view verb) {
  const std::string what = (port.kind.empty() ? "port" : port.kind) + ": ethtool " +
                           std::string(ethtool::facts_of(kind).words) + " " + std::string(verb);
  return netlink::to_error(answer, what);
}

std::vector<RowId> rows_in(const Scope& scope) {
  std::vector<RowId> out = ethtool_map::rows();
  std::erase_if(out, [&](RowId row) { return !scope.wants(row); });
  return out;
}

std::vector<Kind> kinds_of(const std::vector<RowId>& rows) {
  std::vector<Kind> out;
  for (const RowId one : rows)
    if (const Kind kind = ethtool_map::kind_of(one); std::ranges::find(out, kind) == out.end())
      out.push_back(kind);
  return out;
}

// Reads all ports of one kind; each that fails is passed to `failed`, with nullptr for all of them once the
// call is over, and the rest is complete.
FactsByPort read_kind(Ethtool& ethtool, Kind kind, const std::vector<Link>& ports, const Call& call,
                      const std::function<void(const Link*, const Error&)>& failed) {
  auto all = ethtool.read_all(kind, call);
  if (all) return *std::move(all);
  FactsByPort out;
  for (const Link& port : ports) {
    if (call.must_end(std::chrono::steady_clock::now())) {
      failed(nullptr, all.error());
      return out;
    }
    auto one = ethtool.read(kind, port.index, call);
    if (!one) {
      failed(&port, one.error());
    } else if (one->facts) {
      out.emplace(port.index, *std::move(one->facts));
    } else if (one->answer.code != EOPNOTSUPP) {
      failed(&port, error_of(one->answer, port, kind, "get"));
    }
  }
  return out;
}

// Changes of one kind of one port.
class KindChange {
 public:
  KindChange(Ethtool& ethtool, const ethtool_map::Names& names, const ChangeSet& changes, Answers& answers,
             const Call& call)
      : ethtool_(ethtool), names_(names), changes_(changes), answers_(answers), call_(call) {}

  void run(const Link& port, Kind kind, std::vector<std::size_t> which) {
    const Result<Done> done = try_all(port, kind, which);
    if (!done)
      for (const std::size_t at : which) answers_[at] = done.error();
  }

 private:
  // If it ends with an error, `which` keeps the changes whose outcome is not known yet.
  Result<Done> try_all(const Link& port, Kind kind, std::vector<std::size_t>& which) {
    TRY(const Ethtool::Read before, ethtool_.read(kind, port.index, call_));
    if (!before.facts) return error_of(before.answer, port, kind, "get");
    check(port, *before.facts, which);
    if (which.empty()) return Done{};
    std::vector<const Change*> asked;
    for (const std::size_t at : which) asked.push_back(&changes_[at]);
    netlink::Request request = ethtool_.set_request(kind, port.index);
    ethtool_map::put(asked, *before.facts, names_, request);
    TRY(const Answer answer, ethtool_.change(request, call_));
    if (answer.code != 0) return error_of(answer, port, kind, "set");
    auto after = ethtool_.read(kind, port.index, call_);
    if (!after || !after->facts) {
      Error lost{ErrorKind::unknown_outcome, port.name + ": can't be read back"};
      if (!after) lost.cause = std::make_shared<const Error>(std::move(after.error()));
      return lost;
    }
    for (const std::size_t at : which)
      answers_[at] = ethtool_map::difference(changes_[at], *before.facts, *after->facts, names_);
    return Done{};
  }

  // Reports the changes that can't be requested of the port, together with those of the same commit unit, and
  // removes them.
  void check(const Link& port, const Facts& facts, std::vector<std::size_t>& which) {
    for (const std::size_t at : which)
      if (auto checked = ethtool_map::check(changes_[at], port, facts, names_); !checked)
        for (const std::size_t other : which)
          if (other == at || (!answers_[other] && together(changes_[at], changes_[other])))
            answers_[other] = checked.error();
    std::erase_if(which, [&](std::size_t at) { return answers_[at].has_value(); });
  }

  static bool together(const Change& one, const Change& other) {
    const std::string_view unit = schema_row(one.path.row()).commit;
    return !unit.empty() && unit == schema_row(other.path.row()).commit;
  }

  Ethtool& ethtool_;
  const ethtool_map::Names& names_;
  const ChangeSet& changes_;
  Answers& answers_;
  const Call& call_;
};

// Data kept between calls is shared, as an abandoned call may still be running.
class EthtoolPart final : public LinuxPart {
 public:
  std::vector<RowId> reads() const override { return ethtool_map::rows(); }
  std::vector<RowId> writes() const override { return ethtool_map::rows(); }
  std::string native(const Change& change) const override { return ethtool_map::native(change); }
  std::vector<Incapable> incapable(const Scope& scope, const std::vector<Link>& ports,
                                   const Call& call) override;
  void read(const Scope& scope, const std::vector<Link>& ports, TreeBuilder& tree,
            std::vector<Unread>& unread, const Call& call) override;
  Answers apply(const ChangeSet& changes, const std::vector<Link>& ports, const Call& call) override;

 private:
  // The kernel's own lists, which are requested once, as they don't change while it runs; and the offloads
  // among `entries`.
  Result<ethtool_map::Names> names(Ethtool& ethtool, bool link_modes, const std::vector<Path>& entries,
                                   const Call& call);

  std::mutex mutex_;  // guards names_
  ethtool_map::Names names_;
};

Result<ethtool_map::Names> EthtoolPart::names(Ethtool& ethtool, bool link_modes,
                                              const std::vector<Path>& entries, const Call& call) {
  const std::lock_guard lock(mutex_);
  if (names_.features.empty()) {
    TRY(names_.features, ethtool.names(ETH_SS_FEATURES, call));
  }
  if (link_modes && names_.link_modes.empty()) {
    TRY(names_.link_modes, ethtool.names(ETH_SS_LINK_MODES, call));
  }
  ethtool_map::Names out = names_;
  for (const Path one : entries)
    if (one.row() == ethtool_map::kOffload) out.offloads.emplace(one.key(1));
  return out;
}

// Why a port does not support the kind, or does not allow setting it; empty: it does.
Result<std::string> why_not(Ethtool& ethtool, Kind kind, const Link& port, bool has, const Call& call) {
  const auto lack = [&](const Answer& answer, std::string_view verb) {
    const Error error = error_of(answer, port, kind, verb);
    const bool lasts = error.kind == ErrorKind::unsupported || error.kind == ErrorKind::denied;
    return answer.code != 0 && lasts ? error.what : std::string();
  };
  if (!has) {
    TRY(const Ethtool::Read read, ethtool.read(kind, port.index, call));
    return lack(read.answer, "get");
  }
  if (kind == Kind::features) return std::string();
  netlink::Request nothing = ethtool.set_request(kind, port.index);
  TRY(const Answer answer, ethtool.change(nothing, call));
  return lack(answer, "set");
}

std::vector<Incapable> EthtoolPart::incapable(const Scope& scope, const std::vector<Link>& ports,
                                              const Call& call) {
  std::vector<Incapable> out;
  auto ethtool = Ethtool::open(call);
  if (!ethtool) {
    if (ethtool.error().kind == ErrorKind::unsupported)
      for (const RowId row : ethtool_map::rows()) out.push_back({row, {}, ethtool.error().text()});
    return out;
  }
  const auto known = names(*ethtool, false, scope.named, call);
  const ethtool_map::Names by_name = known ? *known : ethtool_map::Names();
  for (const Kind kind : kinds_of(rows_in(scope))) {
    if (kind == Kind::features && !known) continue;
    const FactsByPort all = read_kind(*ethtool, kind, ports, call, [](const Link*, const Error&) {});
    const auto why = [&](const Link& port, bool has) { return why_not(*ethtool, kind, port, has, call); };
    for (Incapable& lacks : ethtool_map::incapable(ports, kind, all, by_name, why))
      out.push_back(std::move(lacks));
  }
  return out;
}

void EthtoolPart::read(const Scope& scope, const std::vector<Link>& ports, TreeBuilder& tree,
                       std::vector<Unread>& unread, const Call& call) {
  const std::vector<RowId> wanted = rows_in(scope);
  if (wanted.empty()) return;
  const auto failed = [&](std::optional<Kind> kind, const Link* port, const Error& why) {
    std::vector<std::string> keys;
    if (port != nullptr) keys.push_back(port->name);
    for (const RowId row : wanted)
      if (!kind || ethtool_map::kind_of(row) == *kind) unread.push_back({row, keys, why});
  };
  auto ethtool = Ethtool::open(call);
  if (!ethtool) return failed({}, nullptr, ethtool.error());
  const auto known = names(*ethtool, false, scope.named, call);
  if (!known) return failed({}, nullptr, known.error());
  for (const Kind kind : kinds_of(wanted)) {
    const FactsByPort all = read_kind(*ethtool, kind, ports, call,
                                      [&](const Link* port, const Error& why) { failed(kind, port, why); });
    for (const Link& port : ports)
      if (const auto facts = all.find(port.index); facts != all.end())
        for (const Entry& entry : ethtool_map::entries(port.name, kind, facts->second, *known))
          if (scope.wants(entry.path.row())) tree.add(entry.path, entry.value);
  }
}

Answers EthtoolPart::apply(const ChangeSet& changes, const std::vector<Link>& links, const Call& call) {
  std::vector<Path> entries;
  std::vector<std::pair<std::pair<std::string, Kind>, std::vector<std::size_t>>> groups;  // in order seen
  for (std::size_t at = 0; at < changes.size(); ++at) {
    entries.push_back(changes[at].path);
    const std::pair of(std::string(entries[at].key(0)), ethtool_map::kind_of(entries[at].row()));
    auto group = std::ranges::find(groups, of, [](const auto& one) { return one.first; });
    if (group == groups.end()) group = groups.insert(groups.end(), {of, {}});
    group->second.push_back(at);
  }
  auto ethtool = Ethtool::open(call);
  if (!ethtool) return Answers(changes.size(), ethtool.error());
  const auto known = names(*ethtool, true, entries, call);
  if (!known) return Answers(changes.size(), known.error());
  Answers out(changes.size());
  KindChange change(*ethtool, *known, changes, out, call);
  for (const auto& [of, which] : groups) {
    const auto port = std::ranges::find(links, of.first, &Link::name);
    if (port != links.end()) {
      change.run(*port, of.second, which);
      continue;
    }
    for (const std::size_t at : which)
      out[at] = Error{ErrorKind::refused, "no interface is called '" + of.first + "' here"};
  }
  return out;
}

}  // namespace

std::unique_ptr<LinuxPart> make_ethtool_part() { return std::make_unique<EthtoolPart>(); }

}  // namespace lockstep
