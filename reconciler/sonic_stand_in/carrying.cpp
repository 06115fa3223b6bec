#include "reconciler/sonic_stand_in/carrying.hpp"

#include <unistd.h>

#include <algorithm>
#include <optional>

#include "reconciler/sonic_stand_in/obeyed_rows.hpp"
#include "reconciler/sonic_stand_in/speaker_rows.hpp"

namespace lockstep::sonic {
namespace {

std::vector<std::uint32_t> indices_of(const std::vector<Link>& links) {
  std::vector<std::uint32_t> out;
  for (const Link& one : links) out.push_back(one.index);
  std::ranges::sort(out);
  return out;
}

Result<NetworkState> links_and_addresses(const Call& call) {
  TRY(netlink::Socket socket, netlink::Socket::open(NETLINK_ROUTE));
  return read_network(socket, {.addresses = true, .routes = false, .rules = false}, call);
}

// The lines as they are sent, with those that only enter and leave blocks.
std::vector<BgpdLine> lines_of(const SpeakerLines& speaker) {
  std::vector<BgpdLine> out;
  for (const frr::Sent& one : frr::transcript(speaker.steps))
    out.push_back({one.line, one.line == speaker.steps[one.step].line});
  for (const std::string& reset : speaker.resets) out.push_back({reset, true});
  return out;
}

}  // namespace

bool Carrying::is_due(const Seen& seen) const {
  const bool lost_speaker =
      wants_speaker(carried_) && seen.routing.bgp.has_value() && !seen.routing.bgp->speaker.has_value();
  return !is_done_ || lost_speaker || indices_of(seen.links) != links_ ||
         obeyed_rows(seen.rows, carried_, seen.orders) != carried_;
}

Result<Done> Carrying::carry(const Seen& seen, std::vector<std::string>& notes, const Call& call) {
  is_done_ = false;
  const ConfigDb rows = obeyed_rows(seen.rows, carried_, seen.orders);
  TRY(const NetworkState kernel, links_and_addresses(call));
  const std::vector<KernelAct> acts = kernel_acts(wanted_links(rows, notes), kernel);
  std::vector<BgpdLine> lines;
  std::optional<Error> failed;
  if (!seen.routing.bgp) {
    failed = seen.routing.bgp_error.value_or(Error{ErrorKind::transient, "bgpd was not read"});
  } else {
    const Result<SpeakerLines> speaker = speaker_lines(rows, seen.routing, notes);
    if (speaker)
      lines = lines_of(*speaker);
    else
      failed = speaker.error();
  }
  steps_ = 0;
  const auto steps =
      acts.size() + static_cast<std::size_t>(std::ranges::count(lines, true, &BgpdLine::is_step));
  dies_at_ = seen.orders.dies ? (steps + 1) / 2 : 0;
  if (auto done = carry_to_kernel(acts, notes, call); !done) failed = std::move(done.error());
  if (auto done = tell_bgpd(lines, notes, call); !done) failed = std::move(done.error());
  // Also of what failed: the next carrying is due for it, and reads what is there anew.
  carried_ = rows;
  links_ = indices_of(seen.links);
  if (failed) return *std::move(failed);
  is_done_ = true;
  return Done{};
}

// The fault sonic-stand-in-dies.
void Carrying::count(std::vector<std::string>& notes) {
  if (++steps_ != dies_at_) return;
  for (const std::string& note : notes) (void)::dprintf(2, "%s\n", note.c_str());
  (void)::dprintf(2, "dies half-way, as ordered\n");
  ::_exit(1);
}

Result<Done> Carrying::carry_to_kernel(const std::vector<KernelAct>& acts, std::vector<std::string>& notes,
                                       const Call& call) {
  if (acts.empty()) return Done{};
  TRY(Session session, Session::open(call));
  std::optional<Error> failed;
  for (const KernelAct& act : acts) {
    const Result<Done> done = perform(act, session);
    notes.push_back(act.text() + (done ? "" : ": " + done.error().text()));
    if (!done) failed = done.error();
    count(notes);
  }
  if (failed) return *std::move(failed);
  return Done{};
}

Result<Done> Carrying::tell_bgpd(const std::vector<BgpdLine>& lines, std::vector<std::string>& notes,
                                 const Call& call) {
  if (lines.empty()) return Done{};
  TRY(frr::Vty bgpd, frr::Vty::connect(run_dir_, "bgpd", call));
  for (const auto& [line, is_step] : lines) {
    TRY(const frr::Reply reply, bgpd.say(line, frr::Intention::writes, call));
    const bool refused = reply.code > 1;  // 1 is a warning (vty.hpp)
    notes.push_back("bgpd: " + line + (refused ? ": " + reply.words() : ""));
    if (refused) return Error{ErrorKind::refused, notes.back()};
    if (is_step) count(notes);
  }
  return Done{};
}

}  // namespace lockstep::sonic
