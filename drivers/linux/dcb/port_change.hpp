// The changes of one port in one apply, made together, object by object.
//
// Promises: the order is one that a port can accept: the DCBX mode, buffers, ETS, maximal rates, PFC, the app
// table; between pause and PFC, what is turned off before what is turned on; a longer cable after the
// buffers, a shorter one before them. At every moment, and whatever is refused, PFC is on for no priority
// whose buffer is too small for it, and a DSCP that moves to or from a priority with PFC is in it only while
// PFC is on. So a priority that loses PFC is taken down last, after its DSCPs: first PFC, then its buffer;
// until then it coexists with the new configuration. PFC is not turned on either if headroom was refused in
// an earlier apply and is still missing, and is turned off again if a port turned it on despite refusing it.
// ETS is one set: priorities move to their classes and shares change at once, and no set has shares that
// don't sum to 100 %. A DSCP gets its new priority once that has its class, rate, buffer and PFC, and keeps
// the old one if any of those is refused. Entries are added to the app table before others are removed: for a
// moment a DSCP that moves has both. Trust in DSCP is turned on after the entries and off before them. Each
// object is set once, with three exceptions: PFC and buffers are set twice if some priorities gain PFC and
// others lose it; each removed DSCP entry is a request of its own; and buffers are requested again while the
// port cuts them below what is desired. Everything is read back; a value that the kernel acknowledged and the
// port did not adopt is an error that names both values. Refuses to set what another agent controls: on a
// port whose DCBX is not the host's (firmware, LLD).
//
// A switch that accepts buffer sizes only while a qdisc is offloaded as the port's root
// (Headroom::by_traffic_control) gets its ETS through such a qdisc, which is created first and stays.
// Creating it discards the priorities' previous headroom, so PFC is off from before that until their buffers
// are set. PFC is refused there for a priority without a buffer of its own.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "drivers/driver.hpp"
#include "drivers/linux/dcb/map.hpp"
#include "drivers/linux/dcb/port_buffers.hpp"
#include "drivers/linux/dcb/port_state.hpp"

namespace lockstep::dcb {

using Answers = std::vector<std::optional<Error>>;
using dcb_map::Object;
using Objects = std::set<Object>;
// Desired headroom that a port refused, until it has it; kept from one apply to the next.
using RefusedHeadroom = std::map<Path, Value>;

// Rows that a DCBX agent sets from what its peer announces.
bool is_negotiated(RowId row);

class PortChange {
 public:
  // `which`: indices of this port's changes; their outcomes go to the same indices of `answers`.
  PortChange(PortObjects& ports, const Link& port, const ChangeSet& changes, std::vector<std::size_t> which,
             Answers& answers, RefusedHeadroom& refused, const Call& call)
      : ports_(ports),
        port_(port),
        changes_(changes),
        which_(std::move(which)),
        answers_(answers),
        refused_(refused),
        call_(call) {}

  // `lldpad`: why negotiated rows must not be set here; empty: they may be.
  void run(const std::string& lldpad);

 private:
  Result<Done> read_state();
  void lay(const std::string& lldpad);
  std::optional<Error> overlay(const Change& change, const std::string& lldpad);
  void settle_classes();
  Result<Done> check_trust() const;

  bool needs_root() const;
  Result<Done> make_root(std::uint8_t had);
  void make();
  Error not_tried() const;
  bool make_buffers(std::uint8_t losing, std::optional<BufferHalves>& out);
  Result<Done> set_buffers(const dcbnl_buffer& wanted);
  Result<Done> set_ets(const ieee_ets& ets);
  bool make_cable();
  bool make_classes();
  void note_headroom();
  Result<Done> check_headroom(std::uint8_t gaining);
  bool make_pfc(std::uint8_t priorities);
  Result<Done> set_pfc(std::uint8_t priorities, std::uint16_t delay);
  bool make_pause();
  bool make_entries();
  Result<Done> is_hosts();
  // Adds a hint to a refusal.
  Result<Done> hinted(Result<Done> result) const;
  // One attempt; its failure is the outcome of all changes of these objects of the port. True: it succeeded.
  template <class Attempt>
  bool set(const Objects& objects, const Attempt& attempt);
  // The same for objects that are negotiated.
  template <class Attempt>
  bool set_as_host(const Objects& objects, const Attempt& attempt);
  // Always false.
  bool skip(const Objects& objects);
  void fail(const Objects& objects, const Error& why);
  void fail_all(const Error& why);
  Error unread(const Error& why) const;
  void read_back();

  PortObjects& ports_;
  const Link& port_;
  const ChangeSet& changes_;
  const std::vector<std::size_t> which_;
  Answers& answers_;
  RefusedHeadroom& refused_;
  const Call& call_;
  PortState have_;
  PortState want_;
  // The current values on the port.
  dcbnl_buffer buffer_{};
  std::uint8_t pfc_ = 0;
  std::uint16_t delay_ = 0;
  Objects of_pfc_ = {Object::pfc};  // objects whose changes report PFC's outcome
  Result<Done> host_ = Done{};      // else: DCBX is controlled by another agent
  std::optional<Error> lost_;
};

}  // namespace lockstep::dcb
