#include "reconciler/engine/link_ends.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "reconciler/engine/met.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

// A class consists of many rows, and is rolled back with everything that refers to it or is committed with
// it: at most as many rounds as there are rows. What refers to an MTU (an address) works with any.
constexpr std::array<LinkMatter, kSchema.size()> kMatter = [] {
  std::array<LinkMatter, kSchema.size()> out{};
  const auto joins = [](const Row& row, const Row& other) {
    return row.refers_to == other.pattern || (!row.commit.empty() && row.commit == other.commit);
  };
  for (std::size_t i = 0; i < kSchema.size(); ++i) out[i] = link_matter(kSchema[i]);
  for (bool grew = true; grew;) {
    grew = false;
    for (std::size_t i = 0; i < kSchema.size(); ++i)
      for (std::size_t j = 0; j < kSchema.size() && out[i] == LinkMatter::none; ++j)
        if (out[j] == LinkMatter::lossless && joins(kSchema[i], kSchema[j])) {
          out[i] = LinkMatter::lossless;
          grew = true;
        }
  }
  return out;
}();

// What must be alike at both ends of a cable; and whether it is the removal of what was replaced at both
// ends: such a removal is rolled back without removing the replacement, which senders already use.
using Part = std::tuple<std::uint32_t, LinkMatter, bool>;

// The parts that some steps change.
class Parts {
 public:
  Parts(const std::vector<Step>& steps, const Wiring& wiring) : wiring_(wiring) {
    std::map<std::pair<std::uint32_t, LinkMatter>, std::set<std::string_view>> removed;  // at which devices
    for (const Step& step : steps)
      for (const PlannedChange& change : step.changes)
        if (const auto cable = step.removes_replaced ? cable_at(step, change.path) : std::nullopt)
          removed[{*cable, link_matter(schema_row(change.path.row()))}].insert(step.device);
    for (const auto& [what, devices] : removed)
      if (devices.size() > 1) replaced_.insert(what);
  }

  std::optional<Part> of(const Step& step, Path path, LinkMatter matter) const {
    const auto cable = matter == LinkMatter::none ? std::nullopt : cable_at(step, path);
    if (!cable) return std::nullopt;
    return Part(*cable, matter, step.removes_replaced && replaced_.contains({*cable, matter}));
  }
  std::optional<Part> of(const Step& step, const PlannedChange& change) const {
    return of(step, change.path, matter_of(change.path.row()));
  }

  // The part that it is rolled back with: lossless settings with their buffers, which need not be alike at
  // both ends.
  std::optional<Part> goes_back_with(const Step& step, const PlannedChange& change) const {
    const bool is_on_ladder = std::ranges::any_of(schema_row(change.path.row()).rungs, [](const Rung& rung) {
      return rung.ladder == Ladder::lossless && rung.place != 0;
    });
    return of(step, change.path, is_on_ladder ? LinkMatter::lossless : matter_of(change.path.row()));
  }

 private:
  std::optional<std::uint32_t> cable_at(const Step& step, Path path) const {
    return path.key_count() == 0 ? std::nullopt : wiring_.cable_at(step.device, path.key(0));
  }

  const Wiring& wiring_;
  std::set<std::pair<std::uint32_t, LinkMatter>> replaced_;
};

std::string port_of(const Step& step, const PlannedChange& change) {
  return step.device + ":" + std::string(change.path.key(0));
}

// The steps, limited to their changes of some parts.
std::vector<Step> of_parts(const std::vector<Step>& steps, const auto& some_parts, const Parts& parts) {
  std::vector<Step> out;
  for (const Step& step : steps) {
    Step some = step;
    std::erase_if(some.changes, [&](const PlannedChange& change) {
      const auto part = parts.goes_back_with(step, change);
      return !part || !some_parts.contains(*part);
    });
    if (!some.changes.empty()) out.push_back(std::move(some));
  }
  return out;
}

// Not done because of a failure, or because of a stop or a hold after its other end was written. A step that
// was held before that, or left alone because of a held one, is not done by plan.
bool is_short(const StepResult& result, const std::vector<OtherEnd>& ends,
              const std::vector<StepResult>& results) {
  const auto other_wrote = [&] {
    return std::any_of(ends.begin(), ends.end(),
                       [&](const OtherEnd& end) { return results[end.step - 1].writes > 0; });
  };
  switch (result.state) {
    case StepState::failed:
    case StepState::undone: return true;
    case StepState::skipped: return !result.by_plan || other_wrote();
    case StepState::held:
    case StepState::stopped: return other_wrote();
    default: return false;
  }
}

}  // namespace

LinkMatter matter_of(RowId row) { return kMatter[row]; }

std::vector<std::vector<OtherEnd>> other_ends(const Plan& plan, const Wiring& wiring) {
  const Parts parts(plan.steps, wiring);
  std::map<Part, std::map<std::uint32_t, PortName>> ports;  // by step
  for (const Step& step : plan.steps)
    for (const PlannedChange& change : step.changes)
      if (const auto part = change.transient
                                ? std::nullopt
                                : parts.of(step, change.path, link_matter(schema_row(change.path.row()))))
        ports[*part].emplace(step.id, PortName{step.device, std::string(change.path.key(0))});
  std::vector<std::vector<OtherEnd>> out(plan.steps.size() + 1);
  for (const auto& [part, steps] : ports)
    for (const auto& [step, here] : steps)
      for (const auto& [other, there] : steps)
        if (here.device != there.device) out[step].push_back({other, here, there});
  return out;
}

std::vector<Step> half_done(const Plan& plan, const std::vector<StepResult>& results, const Fleet& fleet) {
  std::vector<Step> out;
  const Parts parts(plan.steps, fleet.wiring());
  const std::vector<std::vector<OtherEnd>> ends = other_ends(plan, fleet.wiring());
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Step& step = plan.steps[i];
    if (is_short(results[i], ends[step.id], results) && step.remedy.empty() &&
        std::any_of(step.changes.begin(), step.changes.end(),
                    [&](const PlannedChange& change) { return parts.of(step, change).has_value(); }))
      out.push_back(step);
  }
  return out;
}

UnevenEnds uneven_ends(const Plan& plan, const std::vector<Step>& short_of, const std::vector<Step>& written,
                       const Fleet& fleet, const std::vector<DeviceState>& now) {
  UnevenEnds out;
  const Parts parts(plan.steps, fleet.wiring());
  std::set<std::uint32_t> wrote;
  for (const Step& step : written) wrote.insert(step.id);
  std::map<Part, std::string> uneven;  // the port that was not changed
  for (const Step& step : short_of) {
    const auto device = fleet.find(step.device);
    if (!device || *device >= now.size()) continue;
    const DeviceState& state = now[*device];
    for (const PlannedChange& change : step.changes) {
      const auto part = parts.of(step, change);
      if (!part || change.transient) continue;
      const std::string port = port_of(step, change);
      const bool is_read = state.reachable && !is_unread(state.observation.unread, change.path);
      if (!is_read && wrote.contains(step.id))
        out.unread.push_back(port + " can't be read: the other end of its cable is left as it is");
      else if (!is_read || !is_met(change.path, change.want, state.observation.have.value(change.path)))
        uneven.emplace(*part, port);
    }
  }
  std::map<std::string, std::string> taken;  // by written port: the port because of which it goes back
  out.take_back = of_parts(written, uneven, parts);
  for (const Step& step : out.take_back)
    for (const PlannedChange& change : step.changes)
      taken.emplace(port_of(step, change), uneven.at(*parts.goes_back_with(step, change)));
  for (const auto& [port, refuser] : taken)
    if (port != refuser)
      out.taken_back.push_back("what was written at " + port + " is rolled back: " + refuser +
                               ", the other end of its cable, did not take its part");
  std::ranges::sort(out.unread);
  out.unread.erase(std::unique(out.unread.begin(), out.unread.end()), out.unread.end());
  return out;
}

std::string ports_not_back(const std::vector<Step>& take_back, const Plan& reverse,
                           const std::vector<StepResult>& results, const std::vector<NotPutBack>& left_out) {
  std::set<std::pair<std::string, Path>> not_back;
  for (const NotPutBack& one : left_out) not_back.emplace(one.device, one.path);
  for (std::size_t i = 0; i < reverse.steps.size(); ++i)
    if (i >= results.size() || !is_good(results[i].state))
      for (const PlannedChange& one : reverse.steps[i].changes)
        not_back.emplace(reverse.steps[i].device, one.path);
  std::set<std::string> ports;
  for (const Step& step : take_back)
    for (const PlannedChange& one : step.changes)
      if (not_back.contains({step.device, one.path})) ports.insert(port_of(step, one));
  std::string out;
  for (const std::string& port : ports) out += (out.empty() ? ": not put back at " : ", ") + port;
  return out;
}

std::vector<Step> other_ends_of(const std::vector<Step>& taken_back, const std::vector<Step>& written,
                                const Wiring& wiring) {
  std::vector<Step> all = taken_back;
  all.insert(all.end(), written.begin(), written.end());
  const Parts parts(all, wiring);
  std::set<Part> taken;
  for (const Step& step : taken_back)
    for (const PlannedChange& change : step.changes)
      if (const auto part = parts.of(step, change)) taken.insert(*part);
  return of_parts(written, taken, parts);
}

}  // namespace lockstep
