// One port's DCB and global pause: read from the kernel, and set object by object.
//
// Promises: a set is one request; what the port's driver refuses is an error even where the kernel
// acknowledges it (dcbnl.hpp). Whether a set did what was asked for is for the caller to read. Refuses
// nothing of its own; a lost answer to a set is unknown_outcome. Used in the thread that entered the
// namespace.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "drivers/linux/dcb/port_classes.hpp"
#include "drivers/linux/ethtool/ethtool.hpp"
#include "drivers/linux/kernel_state.hpp"

namespace lockstep::dcb {

struct PortState {
  PortDcb dcb;
  PortClasses classes;                             // none: the port has no ETS
  std::optional<std::vector<std::uint8_t>> trust;  // selectors; none: the port has no classes to trust for
  std::optional<bool> pause;                       // none: the port has none
  // Why there is nothing of these, in the kernel's words ("veth: dcbnl IEEE get: Operation not supported").
  std::string no_dcb;
  std::string no_pause;
};

// Read and set: the kernel's, or a test's.
class PortObjects {
 public:
  virtual ~PortObjects() = default;

  // Global pause of all ports, in one dump, for the reads that follow.
  virtual Result<Done> read_pauses(const Call& call) = 0;
  // As of now, pause as of read_pauses(). A port that is gone meanwhile has neither.
  virtual Result<PortState> read(const Link& port, const Call& call) = 0;
  // Why a port has no pause: the kernel is asked.
  virtual Result<std::string> why_no_pause(const Link& port, const Call& call) = 0;

  virtual Result<Done> set_pfc(const Link& port, const ieee_pfc& pfc, const Call& call) = 0;
  virtual Result<Done> set_ets(const Link& port, const ieee_ets& ets, const Call& call) = 0;
  virtual Result<Done> set_rates(const Link& port, const ieee_maxrate& rates, const Call& call) = 0;
  virtual Result<Done> add_entries(const Link& port, std::span<const dcb_app> entries, const Call& call) = 0;
  // One that is not there any more is as wanted.
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

  Result<Done> read_pauses(const Call& call) override;
  Result<PortState> read(const Link& port, const Call& call) override;
  Result<std::string> why_no_pause(const Link& port, const Call& call) override;

  Result<Done> set_pfc(const Link& port, const ieee_pfc& pfc, const Call& call) override;
  Result<Done> set_ets(const Link& port, const ieee_ets& ets, const Call& call) override;
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

  netlink::Socket socket_;
  Result<Ethtool> ethtool_;  // an error where the kernel has no ethtool netlink (< 5.6)
  std::map<std::uint32_t, bool> pauses_;
};

}  // namespace lockstep::dcb
