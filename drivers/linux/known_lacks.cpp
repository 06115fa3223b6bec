#include "drivers/linux/known_lacks.hpp"

#include <algorithm>

#include "drivers/linux/capabilities.hpp"
#include "drivers/linux/map.hpp"
#include "drivers/linux/queueing/carrier.hpp"

namespace lockstep {
namespace {

// Arbitrary: more than any machine without sleeping GPUs needs.
constexpr std::chrono::seconds kFindMax{5};

bool wants_any(const Scope& scope, const std::vector<RowId>& rows) {
  return std::ranges::any_of(rows, [&](RowId row) { return scope.wants(row); });
}

void append(const std::vector<Incapable>& lacks, const Scope& scope, std::vector<Incapable>& out) {
  std::ranges::copy_if(lacks, std::back_inserter(out), [&](const auto& one) { return scope.wants(one.row); });
}

// A recreated port has another index.
std::string ground_of(const std::string& boot_id, const std::vector<Link>& ports,
                      const std::vector<Path>& named) {
  std::string out = boot_id;
  for (const Link& port : ports) out += " " + port.name + "#" + std::to_string(port.index);
  std::set<std::uint32_t> names;
  for (const Path one : named) names.insert(one.id());
  for (const std::uint32_t one : names) out += " " + std::to_string(one);
  return out;
}

// A share of the call's time that leaves enough for the observation.
Call share_of(const Call& call, Time now) {
  Call out = call;
  out.deadline = now + std::min<Time::duration>(kFindMax, (call.deadline - now) / 2);
  return out;
}

}  // namespace

Lacks KnownLacks::of(const Scope& scope, const std::string& boot_id, const std::vector<Link>& ports,
                     const Call& call) {
  const Time now = std::chrono::steady_clock::now();
  const std::string ground = ground_of(boot_id, ports, scope.named);
  const Scope missing = not_probed(scope, ground, now);
  Answer fresh;
  Lacks out;
  if (!missing.rows.empty()) {
    const Call share = share_of(call, now);
    if (!share.must_end(now)) fresh = find(missing, ports, share);
    if (share.must_end(std::chrono::steady_clock::now()))
      out.unknown = missing.rows;
    else if (keep(ground, missing, fresh))
      fresh = {};
  }
  const std::lock_guard lock(mutex_);
  if (known_.ground == ground) append(known_.answer.lacks, scope, out.known);
  append(fresh.lacks, scope, out.known);
  return out;
}

Scope KnownLacks::not_probed(const Scope& scope, const std::string& ground, Time now) {
  Scope out = scope;
  out.rows.clear();
  const std::lock_guard lock(mutex_);
  if (known_.ground != ground || now - known_.since > kKept) known_ = Known{ground, now, {}, {}};
  std::ranges::copy_if(rows_, std::back_inserter(out.rows),
                       [&](RowId row) { return scope.wants(row) && !known_.rows.contains(row); });
  return out;
}

KnownLacks::Answer KnownLacks::find(const Scope& missing, const std::vector<Link>& ports, const Call& call) {
  Answer out;
  const bool classes = std::ranges::any_of(missing.rows, linux_map::is_class_row);
  if (classes && target_.software_rate) {
    Result<Carrier> carrier = lockstep::software_carrier(call);
    const std::lock_guard lock(mutex_);
    carrier_ = std::move(carrier);
  }
  append(probe_capabilities(target_.software_rate, call), missing, out.lacks);
  for (const auto& part : parts_)
    if (wants_any(missing, part->reads())) append(part->incapable(missing, ports, call), missing, out.lacks);
  if (classes && !target_.software_rate) find_mqprio(missing, ports, call, out);
  return out;
}

void KnownLacks::find_mqprio(const Scope& missing, const std::vector<Link>& ports, const Call& call,
                             Answer& out) const {
  const MqprioPorts carried = mqprio_ports(ports, target_.root, call);
  for (const Link& port : ports) {
    const auto found = carried.find(port.index);
    if (found == carried.end()) continue;
    std::erase_if(out.lacks, [&](const Incapable& one) {
      return linux_map::is_class_row(one.row) && one.keys == std::vector{port.name};
    });
    if (!found->second) continue;  // reported by observe() and apply()
    out.mqprio.insert(port.name);
    append(not_given(Carrier::mqprio, {port.name}), missing, out.lacks);
  }
}

// False: the device has changed in the meantime.
bool KnownLacks::keep(const std::string& ground, const Scope& probed, const Answer& answer) {
  const std::lock_guard lock(mutex_);
  if (known_.ground != ground) return false;
  // What implements the classes is probed until there is an answer.
  const bool no_carrier = target_.software_rate && !carrier_;
  Scope fresh;
  for (const RowId row : probed.rows)
    if (!(no_carrier && linux_map::is_class_row(row)) && known_.rows.insert(row).second)
      fresh.rows.push_back(row);
  if (!fresh.rows.empty()) append(answer.lacks, fresh, known_.answer.lacks);
  known_.answer.mqprio.insert(answer.mqprio.begin(), answer.mqprio.end());
  return true;
}

Result<Carrier> KnownLacks::software_carrier() const {
  const std::lock_guard lock(mutex_);
  return carrier_;
}

bool KnownLacks::is_carried_by_mqprio(std::string_view port) const {
  const std::lock_guard lock(mutex_);
  return known_.answer.mqprio.contains(port);
}

}  // namespace lockstep
