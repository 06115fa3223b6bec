// One port's DCB and global pause: read from the kernel, and set object by object.
//
// Promises: a set is one request; what the port's driver refuses is an error even if the kernel
// acknowledges it (dcbnl.hpp). The caller reads back whether a set took effect. Refuses nothing of
// its own; a lost reply to a set is unknown_outcome. Used in the thread that entered the
// namespace.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "drivers/linux/dcb/port_classes.hpp"
#include "drivers/linux/dcb/port_driver.hpp"
#include "drivers/linux/ethtool/ethtool.hpp"
#include "drivers/linux/kernel_state.hpp"
#include "drivers/linux/traffic_control.hpp"

namespace lockstep::dcb {

struct PortState {
  PortDcb dcb;  // with the root qdisc's ETS, if that applies
  Headroom headroom = Headroom::by_size;
  bool has_root_ets = false;  // offloaded to its switch; read for Headroom::by_traffic_control only
  PortClasses classes;        // none: the port has no ETS
  std::optional<std::vector<std::uint8_t>> trust;  // selectors; none: the port has no classes to trust for
  std::optional<bool> pause;                       // none: the port has none
  // Why these are missing, in the kernel's words ("veth: dcbnl IEEE get: Operation not supported").
  std::string no_dcb;
  std::string no_pause;
};

// Reads and sets: of the kernel, or of a test.
class PortObjects {
 public:
  virtual ~PortObjects() = default;

  // Reads, for the reads that follow, what comes in one dump for all ports: global pause, and qdiscs if a
  // port needs them.
  virtual Result<Done> read_dumps(const Call& call) = 0;
  // Current values, except pause and qdiscs, which are as of read_dumps(). A port removed since then has
  // neither.
  virtual Result<PortState> read(const Link& port, const Call& call) = 0;
  // Asks the kernel why a port has no pause.
  virtual Result<std::string> why_no_pause(const Link& port, const Call& call) = 0;

  virtual Result<Done> set_pfc(const Link& port, const ieee_pfc& pfc, const Call& call) = 0;
  virtual Result<Done> set_ets(const Link& port, const ieee_ets& ets, const Call& call) = 0;
  // Sets ETS as the port's root qdisc, replacing any other, and removes it.
  virtual Result<Done> set_root_ets(const Link& port, const EtsParameters& ets, const Call& call) = 0;
  virtual Result<Done> remove_root(const Link& port, const Call& call) = 0;
  virtual Result<Done> set_rates(const Link& port, const ieee_maxrate& rates, const Call& call) = 0;
  virtual Result<Done> add_entries(const Link& port, std::span<const dcb_app> entries, const Call& call) = 0;
  // An entry that no longer exists counts as removed.
  virtual Result<Done> remove_entries(const Link& port, std::span<const dcb_app> entries,
                                      const Call& call) = 0;
  virtual Result<Done> set_trust(const Link& port, std::span<const std::uint8_t> selectors,
                                 const Call& call) = 0;
  virtual Result<Done> set_buffer(const Link& port, const dcbnl_buffer& buffer, const Call& call) = 0;
  virtual Result<Done> set_mode(const Link& port, std::uint8_t mode, const Call& call) = 0;
  virtual Result<Done> set_pause(const Link& port, bool on, const Call& call) = 0;
};

class Ports final : public PortObjects {
 public:
  static Result<Ports> open(const Call& call);

  Result<Done> read_dumps(const Call& call) override;
  Result<PortState> read(const Link& port, const Call& call) override;
  Result<std::string> why_no_pause(const Link& port, const Call& call) override;

  Result<Done> set_pfc(const Link& port, const ieee_pfc& pfc, const Call& call) override;
  Result<Done> set_ets(const Link& port, const ieee_ets& ets, const Call& call) override;
  Result<Done> set_root_ets(const Link& port, const EtsParameters& ets, const Call& call) override;
  Result<Done> remove_root(const Link& port, const Call& call) override;
  Result<Done> set_rates(const Link& port, const ieee_maxrate& rates, const Call& call) override;
  Result<Done> add_entries(const Link& port, std::span<const dcb_app> entries, const Call& call) override;
  Result<Done> remove_entries(const Link& port, std::span<const dcb_app> entries, const Call& call) override;
  Result<Done> set_trust(const Link& port, std::span<const std::uint8_t> selectors,
                         const Call& call) override;
  Result<Done> set_buffer(const Link& port, const dcbnl_buffer& buffer, const Call& call) override;
  Result<Done> set_mode(const Link& port, std::uint8_t mode, const Call& call) override;
  Result<Done> set_pause(const Link& port, bool on, const Call& call) override;

 private:
  Ports(netlink::Socket socket, Result<Ethtool> ethtool)
      : socket_(std::move(socket)), ethtool_(std::move(ethtool)) {}
  Result<Done> set(netlink::Request request, std::string_view what, const Call& call, int harmless = 0);
  Result<Done> set_root(netlink::Request request, const Call& call);
  Result<Done> read_headroom(const Link& port, PortState& out, const Call& call);

  netlink::Socket socket_;
  Result<Ethtool> ethtool_;  // an error where the kernel has no ethtool netlink (< 5.6)
  std::map<std::uint32_t, bool> pauses_;
  std::optional<std::vector<Qdisc>> qdiscs_;  // none: not read since read_dumps()
};

}  // namespace lockstep::dcb
