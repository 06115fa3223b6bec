#include "drivers/frr/preview_state.hpp"

#include <algorithm>

namespace lockstep::frr {
namespace {

bool is_of_profile(Field field) {
  return field == Field::profile || field == Field::profile_multiplier || field == Field::profile_receive ||
         field == Field::profile_transmit;
}
bool is_of_neighbor(Field field) {
  switch (field) {
    case Field::neighbor:
    case Field::neighbor_bfd:
    case Field::neighbor_hold:
    case Field::neighbor_keepalive:
    case Field::neighbor_remote_as:
    case Field::neighbor_shutdown: return true;
    default: return false;
  }
}

void set(BfdProfile& profile, const Edit& edit) {
  if (edit.field == Field::profile_multiplier) profile.multiplier = edit.number;
  if (edit.field == Field::profile_receive) profile.receive_ms = edit.number;
  if (edit.field == Field::profile_transmit) profile.transmit_ms = edit.number;
}

void set(Neighbor& neighbor, const Edit& edit) {
  if (edit.field == Field::neighbor_bfd) neighbor.bfd = edit.word;
  if (edit.field == Field::neighbor_hold) neighbor.timers.hold_s = edit.number;
  if (edit.field == Field::neighbor_keepalive) neighbor.timers.keepalive_s = edit.number;
  if (edit.field == Field::neighbor_remote_as) neighbor.remote_as = edit.word;
  if (edit.field == Field::neighbor_shutdown) neighbor.shutdown = edit.on;
}

// Values that no device can have, so that every field differs.
BfdProfile unset_profile(const std::string& name) {
  return {.name = name, .transmit_ms = -1, .receive_ms = -1, .multiplier = -1};
}
Neighbor unset_neighbor(const std::string& interface) {
  return {.interface = interface,
          .remote_as = "",
          .group = "",
          .own_timers = {},
          .usual_timers = {},
          .timers = {-1, -1},
          .bfd = {},
          .shutdown = false,
          .activated = true};
}

bool makes_speaker(const Edit& edit) { return edit.field == Field::speaker || edit.field == Field::asn; }

bool is_made(const std::vector<Edit>& asked, Field field, const std::string& key) {
  return std::any_of(asked.begin(), asked.end(),
                     [&](const Edit& one) { return one.field == field && one.key == key; });
}

}  // namespace

State preview_state(State have, const std::vector<Edit>& there, const std::vector<Edit>& asked) {
  if (!have.bfd) have.bfd.emplace();
  if (!have.bgp) have.bgp.emplace();
  if (!have.bgp->speaker) {
    // A speaker that the change itself creates does not exist before it.
    if (std::any_of(asked.begin(), asked.end(), makes_speaker)) return have;
    // `router bgp` without a number enters the one existing speaker.
    have.bgp->speaker.emplace().header = "router bgp";
  }
  std::vector<BfdProfile>& profiles = have.bfd->profiles;
  std::vector<Neighbor>& neighbors = have.bgp->speaker->neighbors;
  for (const Edit& edit : asked) {
    if (is_of_profile(edit.field) && have.bfd->profile(edit.key) == nullptr &&
        !is_made(asked, Field::profile, edit.key)) {
      profiles.push_back(unset_profile(edit.key));
      for (const Edit& one : there)
        if (one.key == edit.key) set(profiles.back(), one);
    }
    if (is_of_neighbor(edit.field) && have.bgp->speaker->neighbor(edit.key) == nullptr &&
        !is_made(asked, Field::neighbor, edit.key)) {
      neighbors.push_back(unset_neighbor(edit.key));
      for (const Edit& one : there)
        if (one.key == edit.key) set(neighbors.back(), one);
      if (edit.field == Field::neighbor_shutdown) neighbors.back().shutdown = !edit.on;
    }
  }
  return have;
}

}  // namespace lockstep::frr
