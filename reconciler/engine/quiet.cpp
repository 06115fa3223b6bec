#include "reconciler/engine/quiet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "specs/model/roce_mtu.hpp"

namespace lockstep {
namespace {

// Whether a port is one whose host sends RoCE in a lossless priority, or has until now.
bool sends_roce(std::string_view port, const DeviceInput& device, const Columns& columns) {
  const auto sends = [&](const Tree& tree) {
    return std::ranges::any_of(tree.entries(), [&](const Entry& one) {
      return columns.row(one.path.row()).is_sent_as_lossless() && one.path.key_count() > 0 &&
             one.path.key(0) == port;
    });
  };
  return (device.intent != nullptr && sends(device.intent->want)) ||
         (device.observation != nullptr && sends(device.observation->have));
}

// What uses the entry that changes, and the consequence for it; none: nothing does.
struct Users {
  std::string who;
  std::string why;
};

std::optional<Users> users_of(const AtomChange& change, const DeviceInput& device, const Columns& columns) {
  const RowId row = change.path.row();
  if (row == columns.priority_rows().class_itself && !change.want && !change.lossy)
    return Users{fmt::format("packet is sent in class {}", change.path.key(1)),
                 "queue pairs keep the ToS byte that they were opened with"};
  if (row != columns.mtu_rows().port) return std::nullopt;
  if (change.was.kind() != Value::Kind::integer || change.want.kind() != Value::Kind::integer)
    return std::nullopt;
  const std::uint32_t was = roce_mtu(change.was.as_integer());
  const std::uint32_t want = roce_mtu(change.want.as_integer());
  if (want >= was || !sends_roce(change.path.key(0), device, columns)) return std::nullopt;
  return Users{"queue pair is open there",
               fmt::format("open ones keep their path MTU, of up to {} B, and the port takes up to {} B then",
                           was, want)};
}

void wait_for_quiet(const DeviceInput& device, const Columns& columns, Atom& atom) {
  if (!device.tells_use || !atom.remedy.empty()) return;
  for (const AtomChange& change : atom.changes) {
    if (change.transient) continue;
    const std::optional<Users> users = users_of(change, device, columns);
    if (!users) continue;
    const bool waits = device.tells_use(change.path);
    if (waits) atom.quiet.push_back(change.path);
    std::string note = fmt::format("{} {}: {}", waits ? "waits until no" : "cannot see whether a",
                                   users->who, users->why);
    if (std::ranges::find(atom.notes, note) == atom.notes.end()) atom.notes.push_back(std::move(note));
  }
}

}  // namespace

void wait_for_quiet(const PlanInput& input, const Columns& columns, std::vector<DeviceAtoms>& atoms) {
  for (std::size_t d = 0; d < input.devices.size(); ++d)
    for (Atom& atom : atoms[d].atoms) wait_for_quiet(input.devices[d], columns, atom);
}

}  // namespace lockstep
