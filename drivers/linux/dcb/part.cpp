#include "drivers/linux/dcb/part.hpp"

#include <algorithm>
#include <fstream>
#include <map>

#include "drivers/linux/dcb/map.hpp"
#include "drivers/linux/dcb/port_change.hpp"

namespace lockstep {
namespace {

using dcb::Ports;
using dcb::PortState;

using dcb::Answers;

// lldpad's control socket, an abstract one (open-lldp, include/clif.h: LLDP_CLIF_SOCK); /proc lists abstract
// names by network namespace, that of the calling thread.
constexpr std::string_view kLldpad = "@/com/intel/lldpad";

std::string why_lldpad(const std::filesystem::path& root) {
  std::ifstream sockets(root / "proc/thread-self/net/unix");
  for (std::string line; std::getline(sockets, line);)
    if (line.ends_with(kLldpad))
      return "lldpad runs here and sets DCB by its own configuration: stop it (systemctl disable --now "
             "lldpad)";
  return {};
}

std::map<std::string, std::vector<std::size_t>> by_port(const ChangeSet& changes) {
  std::map<std::string, std::vector<std::size_t>> out;
  for (std::size_t at = 0; at < changes.size(); ++at) out[std::string(changes[at].path.key(0))].push_back(at);
  return out;
}

// A note about a peer with which the port's firmware or an LLDP agent runs DCBX: the port may adopt what it
// announces.
std::string peer_note(const std::string& port, const PortState& state) {
  const auto& ets = state.dcb.peer_ets;
  const auto& pfc = state.dcb.peer_pfc;
  if (!ets && !pfc) return {};
  std::string out = port + ": a DCBX peer announces ";
  if (pfc) out += "PFC of " + dcb_map::priority_words(pfc->pfc_en);
  if (ets) out += std::string(pfc ? " and " : "") + "its own traffic classes";
  return out + (ets && ets->willing != 0 ? ", and is willing" : "");
}

class DcbPart final : public LinuxPart {
 public:
  DcbPart(std::filesystem::path root, bool classes) : root_(std::move(root)), rows_(dcb_map::rows(classes)) {}

  std::vector<RowId> reads() const override { return rows_; }
  std::vector<RowId> writes() const override { return rows_; }
  std::string native(const Change& change) const override { return dcb_map::native(change); }
  std::vector<Incapable> incapable(const Scope& scope, const std::vector<Link>& ports,
                                   const Call& call) override;
  void read(const Scope& scope, const std::vector<Link>& ports, TreeBuilder& tree,
            std::vector<Unread>& unread, const Call& call) override;
  std::vector<std::string> notes() const override { return notes_; }
  Answers apply(const ChangeSet& changes, const std::vector<Link>& ports, const Call& call) override;

 private:
  const std::filesystem::path root_;
  const std::vector<RowId> rows_;
  std::vector<std::string> notes_;
  dcb::RefusedHeadroom refused_;
};

std::vector<Incapable> DcbPart::incapable(const Scope&, const std::vector<Link>& links, const Call& call) {
  std::vector<Incapable> out;
  const std::string lldpad = why_lldpad(root_);
  auto ports = Ports::open(call);
  if (!ports) return out;
  for (const Link& port : links) {
    auto state = ports->read(port, call);
    auto no_pause = ports->why_no_pause(port, call);
    if (!state || !no_pause) continue;
    state->no_pause = *std::move(no_pause);
    for (const RowId row : rows_) {
      std::string why = dcb_map::lacking(row, *state);
      if (why.empty() && dcb::is_negotiated(row)) why = lldpad;
      if (!why.empty()) out.push_back(Incapable{row, {port.name}, std::move(why)});
    }
  }
  return out;
}

void DcbPart::read(const Scope& scope, const std::vector<Link>& links, TreeBuilder& tree,
                   std::vector<Unread>& unread, const Call& call) {
  notes_.clear();
  if (std::ranges::none_of(rows_, [&](RowId row) { return scope.wants(row); })) return;
  const auto failed = [&](const std::vector<std::string>& keys, const Error& why) {
    for (const RowId row : rows_)
      if (scope.wants(row)) unread.push_back({row, keys, why});
  };
  auto ports = Ports::open(call);
  if (!ports) return failed({}, ports.error());
  if (const auto dumps = ports->read_dumps(call); !dumps) return failed({}, dumps.error());
  for (const Link& port : links) {
    const auto state = ports->read(port, call);
    if (!state) {
      failed({port.name}, state.error());
      continue;
    }
    if (std::string note = peer_note(port.name, *state); !note.empty()) notes_.push_back(std::move(note));
    for (const Entry& entry : dcb_map::entries(port.name, *state))
      if (scope.wants(entry.path.row()) && std::ranges::count(rows_, entry.path.row()) > 0)
        tree.add(entry.path, entry.value);
  }
}

Answers DcbPart::apply(const ChangeSet& changes, const std::vector<Link>& links, const Call& call) {
  Answers out(changes.size());
  auto ports = Ports::open(call);
  if (!ports) return Answers(changes.size(), ports.error());
  const std::string lldpad = why_lldpad(root_);
  for (const auto& [name, which] : by_port(changes)) {
    const auto port = std::ranges::find(links, name, &Link::name);
    if (port == links.end()) {
      for (const std::size_t at : which)
        out[at] = Error{ErrorKind::refused, "no interface is called '" + name + "' here"};
      continue;
    }
    dcb::PortChange(*ports, *port, changes, which, out, refused_, call).run(lldpad);
  }
  return out;
}

}  // namespace

std::unique_ptr<LinuxPart> make_dcb_part(std::filesystem::path root, bool classes) {
  return std::make_unique<DcbPart>(std::move(root), classes);
}

}  // namespace lockstep
