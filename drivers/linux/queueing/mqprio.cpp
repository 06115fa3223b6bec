#include <algorithm>

#include "drivers/linux/queueing/carriers.hpp"

namespace lockstep::queueing {
namespace {

// mqprio numbers its traffic classes from 0 without gaps, so Lockstep's classes, in their order, are
// recognised by their own priorities (classify.hpp): the priority of a missing class is mapped like that of
// the class below it, with 7 below 0. So a class exists if its map entry differs from the previous one.
constexpr unsigned below(unsigned number) { return (number + kClassesMax - 1) % kClassesMax; }

std::map<unsigned, std::uint8_t> classes_of(const PriorityMap& map) {
  std::map<unsigned, std::uint8_t> out;
  for (unsigned number = 0; number < kClassesMax; ++number)
    if (map[class_priority(number)] != map[class_priority(below(number))])
      out.emplace(number, map[class_priority(number)]);
  return out;
}

MqprioParameters parameters_for(const PortScheduler& wanted, unsigned tx_queues) {
  MqprioParameters out;
  std::map<unsigned, std::uint8_t> place;
  const auto count = static_cast<unsigned>(wanted.classes.size());
  std::uint16_t first = 0;
  for (const auto& [number, one] : wanted.classes) {
    const auto at = static_cast<unsigned>(out.classes.size());
    place.emplace(number, static_cast<std::uint8_t>(at));
    const auto queues = static_cast<std::uint16_t>(tx_queues / count + (at < tx_queues % count ? 1 : 0));
    out.classes.push_back({first, queues});
    first = static_cast<std::uint16_t>(first + queues);
  }
  const auto by_priority = classes_of_priorities(wanted);
  std::ranges::transform(by_priority, out.map.begin(), [&](unsigned number) { return place.at(number); });
  std::uint8_t last = place.rbegin()->second;
  for (unsigned number = 0; number < kClassesMax; ++number) {
    if (place.contains(number)) last = place.at(number);
    out.map[class_priority(number)] = last;
  }
  return out;
}

}  // namespace

bool is_own_mqprio(const PortQueueing& have) {
  return have.root && have.root->handle == kOwnHandle && have.root->mqprio && !have.root->mqprio->hardware;
}

PortScheduler read_mqprio(const PortQueueing& have) {
  PortScheduler out;
  const PriorityMap& map = have.root->mqprio->map;
  for (const auto& [number, entry] : classes_of(map)) {
    SchedulerClass made;
    made.dscp = dscps_of(have.priorities, map, entry);
    made.priority = priorities_of(map, entry);
    out.classes.emplace(number, std::move(made));
  }
  return out;
}

void remake_mqprio(const SchedulerPlace& place, const PortQueueing& have, const PortScheduler& wanted,
                   Requests& out) {
  const MqprioParameters mqprio = parameters_for(wanted, place.tx_queues);
  // It can't be changed in place (sch_mqprio.c has no change operation).
  if (!is_own_mqprio(have) || have.root->mqprio != mqprio) {
    if (have.root) out.push_back(delete_root_request(place.index));
    out.push_back(mqprio_request(place.index, kOwnHandle, mqprio));
  }
  reclassify(place.index, have, wanted, out);
}

}  // namespace lockstep::queueing
