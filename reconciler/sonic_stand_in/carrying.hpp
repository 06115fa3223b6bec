// Carrying: what the stand-in carried last, and how it carries what differs from that.
//
// Promises: reads kernel and bgpd anew each time and writes only what differs; goes on after what fails in
// the kernel, and stops a conversation with bgpd at the first line that it refuses. carry() is done when
// nothing failed; a row that says nothing usable is noted and is no failure. Used in the device's network
// namespace.
#pragma once

#include <string>
#include <vector>

#include "drivers/frr/state.hpp"
#include "drivers/linux/session.hpp"
#include "drivers/sonic/config_db.hpp"
#include "reconciler/sonic_stand_in/kernel_rows.hpp"
#include "reconciler/twin/sonic_device.hpp"

namespace lockstep::sonic {

// What a carrying can start from.
struct Seen {
  const ConfigDb& rows;
  const SonicOrders& orders;
  const std::vector<Link>& links;
  const frr::State& routing;
};

struct BgpdLine {
  std::string text;
  bool is_step = false;  // it changes something; others enter and leave blocks
};

class Carrying {
 public:
  explicit Carrying(std::string run_dir) : run_dir_(std::move(run_dir)) {}

  // Whether there is anything to carry.
  bool is_due(const Seen& seen) const;
  // `notes`: what was done, and what could not be.
  Result<Done> carry(const Seen& seen, std::vector<std::string>& notes, const Call& call);
  // What has been carried.
  const ConfigDb& rows() const { return carried_; }

 private:
  void count(std::vector<std::string>& notes);
  Result<Done> carry_to_kernel(const std::vector<KernelAct>& acts, std::vector<std::string>& notes,
                               const Call& call);
  Result<Done> tell_bgpd(const std::vector<BgpdLine>& lines, std::vector<std::string>& notes,
                         const Call& call);

  std::string run_dir_;
  ConfigDb carried_;
  std::vector<std::uint32_t> links_;  // by index: those that it was carried to
  bool is_done_ = false;              // nothing failed the last time
  std::size_t steps_ = 0;             // of the carrying that runs
  std::size_t dies_at_ = 0;           // 0: it does not
};

}  // namespace lockstep::sonic
