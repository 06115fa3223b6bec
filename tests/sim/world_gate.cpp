// The ledger of a World, its benchmarks (which paths were judged since they were last touched), and its
// windows.
#include <algorithm>

#include "reconciler/engine/windows.hpp"
#include "specs/model/schema_rows.hpp"
#include "world.hpp"

namespace lockstep::simulation {
namespace {

constexpr RowId kPathsMax = row("bgp/max-paths");

}  // namespace

void World::build_paths() {
  std::map<std::string, std::map<std::string, std::uint32_t>> up;  // leaf, spine: the cable
  for (std::uint32_t cable = 0; cable < wiring_.cables.size(); ++cable) {
    const Cable& one = wiring_.cables[cable];
    if (places_.at(one.a.device).role == "leaf")
      up[one.a.device][one.b.device] = cable;
    else
      paths_.push_back({{one.a.device, one.b.device}, {cable}, {}});
  }
  for (auto from = up.begin(); from != up.end(); ++from)
    for (auto to = std::next(from); to != up.end(); ++to)
      for (const auto& [spine, cable] : from->second)
        paths_.push_back({{from->first, spine, to->first}, {cable, to->second.at(spine)}, {}});
}

void World::touch_paths(const std::string& device, const ChangeSet& changes, const std::string& ticket) {
  Step step;
  step.device = device;
  for (const Change& change : changes)
    step.changes.push_back({change.path, change.was, change.want, 0, false});
  const BlastRadius blast = blast_radius({step}, wiring_);
  for (FlowPath& path : paths_)
    if (blast.touches_path(path.devices, path.cables)) path.unjudged.insert(tickets_known_.at(ticket));
}

Result<GateResult> World::measure(const BlastRadius& affected, const BlastRadius& pending, const Call&) {
  record("measure");
  if (measuring_may_be_killed_ && random_.chance(kill_chance_ > 0 ? 0.2 : 0)) throw Killed{};
  std::size_t measured = 0;
  std::size_t slow = 0;
  for (FlowPath& path : paths_) {
    if (!affected.touches_path(path.devices, path.cables) || pending.touches_path(path.devices, path.cables))
      continue;
    ++measured;
    path.unjudged.clear();
    slow += paths_max_bad_ != 0 &&
            std::any_of(path.devices.begin(), path.devices.end(), [this](const auto& name) {
              return places_.at(name).device->truth().value(Path(kPathsMax, {})) ==
                     Value::integer(paths_max_bad_);
            });
  }
  const GateVerdict verdict = measured == 0 ? GateVerdict::unknown
                              : slow > 0    ? GateVerdict::fail
                                            : GateVerdict::pass;
  record("measured " + std::to_string(measured) + " " + std::string(to_string(verdict)));
  return GateResult{verdict, std::to_string(slow) + " slow paths"};
}

// A new generation of the specs that touches every switch while it carries traffic: what budgets are for.
void World::change_spec(int generation) {
  record("spec " + std::to_string(generation));
  paths_max_bad_ = random_.chance(0.3) ? 6000 + generation : 0;
  if (paths_max_bad_ == 0) paths_max_ = 64 + generation;
  want_paths_max(paths_max_bad_ == 0 ? paths_max_ : paths_max_bad_);
}

void World::want_paths_max(std::int64_t value) {
  for (auto& [name, place] : places_)
    if (place.role != "host") place.intent->want.set(Path(kPathsMax, {}), Value::integer(value));
}

// After an undo the operator takes the bad generation back.
void World::settle_specs(const ApplyReport& report, const std::vector<OwedChange>& owed) {
  if (report.verdict == ApplyVerdict::kept && paths_max_bad_ != 0)
    violation("a generation that breaks the benchmarks was kept");
  if (!report.undo) return;
  if (report.verdict == ApplyVerdict::undone) {
    std::set<std::uint64_t> taken;
    for (const OwedChange& one : owed) taken.insert(one.change);
    if (report.change_id != 0) taken.insert(report.change_id);
    check_taken_back(taken);
    // What this undo wrote, and those of these changes before it that did not succeed whole.
    for (const auto& [change, open] : changes_)
      if (open.undo && !taken.empty() && change > *taken.begin()) taken.insert(change);
    for (FlowPath& path : paths_)
      std::erase_if(path.unjudged, [&taken](std::uint64_t change) { return taken.contains(change); });
  }
  record("spec taken back");
  paths_max_bad_ = 0;
  want_paths_max(paths_max_);
}

// What is called undone is as it was before those changes, but for devices that another hand moved since.
void World::check_taken_back(const std::set<std::uint64_t>& changes) {
  std::map<std::pair<std::string, Path>, Value> before;
  std::map<std::string, std::size_t> begun;
  for (const std::uint64_t change : changes) {
    for (const LedgerTicket& ticket : changes_.at(change).tickets)
      for (const Change& one : ticket.changes) before.try_emplace({ticket.device, one.path}, one.was);
    for (const auto& [device, turn] : changes_.at(change).first_ticket) begun.try_emplace(device, turn);
  }
  for (const auto& [entry, was] : before) {
    const Place& place = places_.at(entry.first);
    if (place.moved > begun.at(entry.first)) continue;
    if (const Value now = place.device->truth().value(entry.second); now != was)
      violation(entry.first + " is called undone, and " + entry.second.text() + " is " + now.to_string() +
                " instead of " + was.to_string());
  }
}

// In some histories changes may begin within some hours of each day only.
void World::set_windows() {
  constexpr std::uint64_t kDay = 24 * 60;  // minutes
  executor_->wall_epoch = WallTime(std::chrono::minutes(random_.below(365 * kDay)));
  if (!random_.chance(0.3)) return;
  const std::uint64_t from = random_.below(kDay);
  const std::uint64_t length = 360 + random_.below(720);  // the worst case takes some hours
  policy_.windows = {{.days = 0x7F,
                      .from = static_cast<std::uint16_t>(from),
                      .to = static_cast<std::uint16_t>((from + length) % kDay),
                      .timezone = ""}};
}

bool World::may_write(const std::string& ticket) const {
  const auto change = tickets_known_.find(ticket);
  if (policy_.windows.empty() || change == tickets_known_.end() || changes_.at(change->second).undo)
    return true;
  const WallTime now = executor_->wall_time();
  return openings(policy_.windows, now).front().opens <= now;
}

std::vector<OwedChange> World::owed() const {
  std::vector<OwedChange> all;
  for (const auto& [change, open] : changes_)
    if (open.state == GateState::owed && !open.tickets.empty()) all.push_back({change, "", "", open.tickets});
  return all;
}

Result<std::uint64_t> World::begin(const Plan& plan, const std::string&, const std::string& reason) {
  note_traffic();
  const std::uint64_t change = changes_.size() + 1;
  changes_[change].undo = reason.starts_with("undo of");
  if (options_.steps) std::printf("change %s\n%s", std::to_string(change).c_str(), to_string(plan).c_str());
  return change;
}

Result<Done> World::ticket(std::uint64_t change, const LedgerTicket& ticket) {
  if (!tickets_known_.emplace(ticket.ticket, change).second)
    violation("ticket " + ticket.ticket + " is used twice");
  tickets_open_.insert(ticket.ticket);
  changes_.at(change).tickets.push_back(ticket);
  changes_.at(change).first_ticket.try_emplace(ticket.device, ++turn_);
  return Done{};
}

Result<Done> World::receipt(const std::string& ticket, TicketState state, const std::string&) {
  tickets_open_.erase(ticket);
  if (state == TicketState::undone)
    for (auto& [change, open] : changes_)
      std::erase_if(open.tickets, [&ticket](const LedgerTicket& one) { return one.ticket == ticket; });
  return Done{};
}

Result<Done> World::gate(std::uint64_t change, GateState state) {
  changes_.at(change).state = state;
  return Done{};
}

Result<Done> World::end(std::uint64_t, const std::string&) {
  if (!tickets_open_.empty()) violation("a change ended with an open ticket: " + *tickets_open_.begin());
  return Done{};
}

}  // namespace lockstep::simulation
