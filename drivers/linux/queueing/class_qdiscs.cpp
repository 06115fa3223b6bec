#include "drivers/linux/queueing/class_qdiscs.hpp"

#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <string>

namespace lockstep {
namespace {

using netlink::AttributeTable;
using netlink::AttributeWalk;
using netlink::Bytes;
using netlink::Request;

static_assert(kPriorityEntries == TC_PRIO_MAX + 1);

Error lie(const char* what) { return Error{ErrorKind::transient, std::string("netlink: ") + what}; }

Request qdisc_request(std::uint32_t index, std::uint32_t handle, std::uint32_t parent,
                      std::string_view kind) {
  Request request(RTM_NEWQDISC, NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE);
  tcmsg header{};
  header.tcm_ifindex = static_cast<int>(index);
  header.tcm_handle = handle;
  header.tcm_parent = parent;
  request.header(header).put_text(TCA_KIND, kind);
  return request;
}

// A nest of numbers of one type, in order.
template <class T>
Result<std::vector<T>> numbers_of(Bytes nest, std::uint16_t type) {
  std::vector<T> out;
  AttributeWalk walk(nest);
  for (netlink::Attribute one; walk.next(one);) {
    if (one.type != type) continue;
    const auto number = netlink::read_as<T>(one.payload);
    if (!number || one.payload.size() != sizeof(T)) return lie("a number of an ets qdisc has a wrong size");
    out.push_back(*number);
  }
  TRY_DONE(walk.finish("ets qdisc"));
  return out;
}

}  // namespace

Result<EtsParameters> decode_ets(Bytes options) {
  TRY(auto table, AttributeTable<TCA_ETS_MAX + 1>::parse(options, "ets qdisc"));
  const auto bands = table.number<std::uint8_t>(TCA_ETS_NBANDS);
  if (!bands) return lie("an ets qdisc without bands");
  EtsParameters out;
  out.strict = table.number<std::uint8_t>(TCA_ETS_NSTRICT).value_or(0);
  TRY_DONE(table.sound("ets qdisc"));
  TRY(out.quanta, numbers_of<std::uint32_t>(table.bytes(TCA_ETS_QUANTA), TCA_ETS_QUANTA_BAND));
  TRY(const auto map, numbers_of<std::uint8_t>(table.bytes(TCA_ETS_PRIOMAP), TCA_ETS_PRIOMAP_BAND));
  if (out.strict + out.quanta.size() != *bands) return lie("an ets qdisc has other bands than it counts");
  if (map.size() != out.bands.size() || std::ranges::any_of(map, [&](auto one) { return one >= *bands; }))
    return lie("an ets qdisc sends priorities to bands that it has not");
  std::ranges::copy(map, out.bands.begin());
  return out;
}

Result<MqprioParameters> decode_mqprio(Bytes options) {
  const auto whole = netlink::read_as<tc_mqprio_qopt>(options);
  if (!whole) return lie("an mqprio qdisc without parameters");
  if (whole->num_tc > TC_QOPT_MAX_QUEUE) return lie("an mqprio qdisc has more classes than there can be");
  MqprioParameters out;
  out.hardware = whole->hw != 0;
  // The kernel removes the classes if the port no longer has the queues of the first one, and leaves the map
  // unchanged (net/core/dev.c: netif_setup_tc).
  if (whole->num_tc == 0) return out;
  for (std::size_t at = 0; at < whole->num_tc; ++at)
    out.classes.push_back({whole->offset[at], whole->count[at]});
  std::copy_n(std::begin(whole->prio_tc_map), out.map.size(), out.map.begin());
  if (std::ranges::any_of(out.map, [&](auto one) { return one >= whole->num_tc; }))
    return lie("an mqprio qdisc sends priorities to classes that it has not");
  return out;
}

Request ets_request(std::uint32_t index, std::uint32_t handle, std::uint32_t parent,
                    const EtsParameters& ets) {
  Request request = qdisc_request(index, handle, parent, "ets");
  const std::size_t options = request.open_nest(TCA_OPTIONS);
  request.put_number(TCA_ETS_NBANDS, static_cast<std::uint8_t>(ets.strict + ets.quanta.size()));
  request.put_number(TCA_ETS_NSTRICT, ets.strict);
  if (!ets.quanta.empty()) {
    const std::size_t quanta = request.open_nest(TCA_ETS_QUANTA);
    for (const std::uint32_t one : ets.quanta) request.put_number(TCA_ETS_QUANTA_BAND, one);
    request.close_nest(quanta);
  }
  const std::size_t map = request.open_nest(TCA_ETS_PRIOMAP);
  for (const std::uint8_t one : ets.bands) request.put_number(TCA_ETS_PRIOMAP_BAND, one);
  request.close_nest(map);
  request.close_nest(options);
  return request;
}

Request mqprio_request(std::uint32_t index, std::uint32_t handle, const MqprioParameters& mqprio) {
  Request request = qdisc_request(index, handle, TC_H_ROOT, "mqprio");
  tc_mqprio_qopt options{};
  options.num_tc = static_cast<std::uint8_t>(mqprio.classes.size());
  for (std::size_t at = 0; at < mqprio.classes.size(); ++at) {
    options.offset[at] = mqprio.classes[at].first;
    options.count[at] = mqprio.classes[at].count;
  }
  std::ranges::copy(mqprio.map, std::begin(options.prio_tc_map));
  request.put_number(TCA_OPTIONS, options);
  return request;
}

Request bfifo_request(std::uint32_t index, std::uint32_t handle, std::uint32_t parent, std::uint32_t limit) {
  Request request = qdisc_request(index, handle, parent, "bfifo");
  request.put_number(TCA_OPTIONS, tc_fifo_qopt{limit});
  return request;
}

}  // namespace lockstep
