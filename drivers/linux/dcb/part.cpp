#include "drivers/linux/dcb/part.hpp"

#include <algorithm>
#include <fstream>
#include <map>

#include "drivers/linux/dcb/map.hpp"
#include "drivers/linux/dcb/port_state.hpp"

namespace lockstep {
namespace {

using dcb::Ports;
using dcb::PortState;

using Answers = std::vector<std::optional<Error>>;

// lldpad's control socket, an abstract one (open-lldp, include/clif.h: LLDP_CLIF_SOCK); such names are
// listed by network namespace, that of the calling thread.
constexpr std::string_view kLldpad = "@/com/intel/lldpad";

std::string why_lldpad(const std::filesystem::path& root) {
  std::ifstream sockets(root / "proc/thread-self/net/unix");
  for (std::string line; std::getline(sockets, line);)
    if (line.ends_with(kLldpad))
      return "lldpad runs here and sets DCB by its own configuration: stop it (systemctl disable --now "
             "lldpad)";
  return {};
}

// Rows that lldpad would set back.
bool is_lldpads(RowId row) { return row == dcb_map::kPfc || row == dcb_map::kDcbx; }

std::map<std::string, std::vector<std::size_t>> by_port(const ChangeSet& changes) {
  std::map<std::string, std::vector<std::size_t>> out;
  for (std::size_t at = 0; at < changes.size(); ++at) out[std::string(changes[at].path.key(0))].push_back(at);
  return out;
}

// The changes of one port in one apply.
class PortChange {
 public:
  PortChange(Ports& ports, const Link& port, const ChangeSet& changes, std::vector<std::size_t> which,
             Answers& answers, const Call& call)
      : ports_(ports),
        port_(port),
        changes_(changes),
        which_(std::move(which)),
        answers_(answers),
        call_(call) {}

  void run(const std::string& lldpad) {
    if (auto read = read_state(); !read) return fail(which_, read.error());
    want_ = have_;
    for (const std::size_t at : which_) answers_[at] = overlay(changes_[at], lldpad);
    make();
    read_back();
  }

 private:
  Result<Done> read_state() {
    TRY_DONE(ports_.read_pauses(call_));
    TRY(have_, ports_.read(port_, call_));
    if (!have_.pause) {
      TRY(have_.no_pause, ports_.why_no_pause(port_, call_));
    }
    return Done{};
  }

  std::optional<Error> overlay(const Change& change, const std::string& lldpad) {
    std::string why = dcb_map::lacking(change.path.row(), have_);
    if (why.empty() && is_lldpads(change.path.row())) why = lldpad;
    if (!why.empty()) return Error{ErrorKind::unsupported, change.path.text() + ": " + why};
    if (auto laid = dcb_map::overlay(change, want_); !laid) return std::move(laid.error());
    return std::nullopt;
  }

  // In the order that a port can take the objects in.
  void make() {
    if (want_.dcb.mode != have_.dcb.mode)
      set(dcb_map::kDcbx, [&] { return ports_.set_mode(port_, *want_.dcb.mode, call_); });
    if (want_.dcb.buffer && !same(*want_.dcb.buffer, *have_.dcb.buffer))
      set(dcb_map::kBufferSize, [&] { return ports_.set_buffer(port_, *want_.dcb.buffer, call_); });
    const bool pause_differs = want_.pause != have_.pause;
    const auto set_pause = [&] { return ports_.set_pause(port_, *want_.pause, call_); };
    if (pause_differs && !*want_.pause) set(dcb_map::kPause, set_pause);
    if (want_.dcb.pfc && want_.dcb.pfc->pfc_en != have_.dcb.pfc->pfc_en)
      set(dcb_map::kPfc, [&] { return set_pfc(); });
    if (pause_differs && *want_.pause) set(dcb_map::kPause, set_pause);
  }

  static bool same(const dcbnl_buffer& a, const dcbnl_buffer& b) {
    return std::ranges::equal(a.prio2buffer, b.prio2buffer) &&
           std::ranges::equal(a.buffer_size, b.buffer_size);
  }

  Result<Done> set_pfc() {
    TRY(const PortState now, ports_.read(port_, call_));
    if (now.dcb.mode && (*now.dcb.mode & DCB_CAP_DCBX_HOST) == 0)
      return Error{ErrorKind::refused,
                   port_.name + ": DCBX is not the host's here but the firmware's or an LLD's ('" +
                       dcb_map::mode_words(*now.dcb.mode) +
                       "'), which takes PFC from its peer: dcbx must be 'host ieee' first"};
    return ports_.set_pfc(port_, *want_.dcb.pfc, call_);
  }

  // One object of the port, and its answer to all changes that it stands for.
  template <class Attempt>
  void set(RowId row, const Attempt& attempt) {
    const Result<Done> result = lost_ ? Result<Done>(*lost_) : attempt();
    if (result) return;
    std::vector<std::size_t> asked;
    for (const std::size_t at : which_)
      if (changes_[at].path.row() == row) asked.push_back(at);
    fail(asked, wrap(port_.name, result.error()));
    // After a lost answer the socket may hold strays: nothing more is tried on it.
    if (result.error().kind == ErrorKind::unknown_outcome)
      lost_ = Error{ErrorKind::transient, "not attempted: an earlier change's outcome is unknown"};
  }

  void fail(const std::vector<std::size_t>& some, const Error& why) {
    for (const std::size_t at : some)
      if (!answers_[at]) answers_[at] = why;
  }

  void read_back() {
    if (lost_) return;
    if (auto read = read_state(); !read) {
      Error unread{ErrorKind::unknown_outcome, port_.name + ": written, and can't be read back"};
      unread.cause = std::make_shared<const Error>(read.error());
      return fail(which_, unread);
    }
    for (const std::size_t at : which_) {
      const Change& change = changes_[at];
      const Value is = dcb_map::value_of(change.path, have_);
      if (answers_[at] || is == change.want) continue;
      answers_[at] = Error{ErrorKind::refused, change.path.text() + ": the port took " +
                                                   change.want.to_string() + " and has " + is.to_string()};
    }
  }

  Ports& ports_;
  const Link& port_;
  const ChangeSet& changes_;
  const std::vector<std::size_t> which_;
  Answers& answers_;
  const Call& call_;
  PortState have_;
  PortState want_;
  std::optional<Error> lost_;
};

class DcbPart final : public LinuxPart {
 public:
  explicit DcbPart(std::filesystem::path root) : root_(std::move(root)) {}

  std::vector<RowId> reads() const override { return dcb_map::rows(); }
  std::vector<RowId> writes() const override { return dcb_map::rows(); }
  std::string native(const Change& change) const override { return dcb_map::native(change); }
  Result<std::vector<Incapable>> incapable(const std::vector<Link>& ports, const Call& call) override;
  void read(const Scope& scope, const std::vector<Link>& ports, TreeBuilder& tree,
            std::vector<Unread>& unread, const Call& call) override;
  Answers apply(const ChangeSet& changes, const std::vector<Link>& ports, const Call& call) override;

 private:
  const std::filesystem::path root_;
};

Result<std::vector<Incapable>> DcbPart::incapable(const std::vector<Link>& links, const Call& call) {
  std::vector<Incapable> out;
  const std::string lldpad = why_lldpad(root_);
  TRY(Ports ports, Ports::open(call));
  for (const Link& port : links) {
    TRY(PortState state, ports.read(port, call));
    TRY(state.no_pause, ports.why_no_pause(port, call));
    for (const RowId row : dcb_map::rows()) {
      std::string why = dcb_map::lacking(row, state);
      if (why.empty() && is_lldpads(row)) why = lldpad;
      if (!why.empty()) out.push_back(Incapable{row, {port.name}, std::move(why)});
    }
  }
  return out;
}

void DcbPart::read(const Scope& scope, const std::vector<Link>& links, TreeBuilder& tree,
                   std::vector<Unread>& unread, const Call& call) {
  const std::vector<RowId> rows = dcb_map::rows();
  if (std::ranges::none_of(rows, [&](RowId row) { return scope.wants(row); })) return;
  const auto failed = [&](const std::vector<std::string>& keys, const Error& why) {
    for (const RowId row : rows)
      if (scope.wants(row)) unread.push_back({row, keys, why});
  };
  auto ports = Ports::open(call);
  if (!ports) return failed({}, ports.error());
  if (const auto pauses = ports->read_pauses(call); !pauses) return failed({}, pauses.error());
  for (const Link& port : links) {
    const auto state = ports->read(port, call);
    if (!state) {
      failed({port.name}, state.error());
      continue;
    }
    for (const Leaf& leaf : dcb_map::leaves(port.name, *state))
      if (scope.wants(leaf.path.row())) tree.add(leaf.path, leaf.value);
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
    PortChange(*ports, *port, changes, which, out, call).run(lldpad);
  }
  return out;
}

}  // namespace

std::unique_ptr<LinuxPart> make_dcb_part(std::filesystem::path root) {
  return std::make_unique<DcbPart>(std::move(root));
}

}  // namespace lockstep
