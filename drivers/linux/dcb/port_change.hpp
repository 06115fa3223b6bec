// The changes of one port in one apply, made together, object by object.
//
// Promises: the order is the one that a port can take the objects in: the DCBX mode, buffers, ETS, maximal
// rates, PFC, the app table; of pause and PFC what goes off before what comes on; a longer cable after the
// buffers, a shorter one before them. At each moment, and whatever is refused, PFC is on for no priority
// whose buffer is too small for it, and a DSCP that comes to a priority with PFC, or leaves one, is in it
// only while PFC is on: so what a priority that loses PFC has goes last, after its DSCPs, PFC first and then
// its buffer, and until then it is beside what comes. PFC does not come on either where headroom was refused
// in an earlier apply and is not there now, and is taken back where a port has it on in spite of its refusal.
// ETS is one set: priorities move to their classes and shares change at once, and no set has shares that
// don't sum to 100 %. A DSCP is given its priority when that has its class, rate, buffer and PFC, and keeps
// the old one if any of those is refused. Entries are added to the app table before others go: for a moment a
// DSCP that moves has both. Trust in DSCP comes after the entries, and goes before them. Each object is set
// once, PFC and buffers twice where some priorities get PFC and others lose it, and each DSCP entry that
// goes; but for buffers, which are asked for again while the port cuts them below what is wanted. All is read
// back; what the kernel acknowledged and the port did otherwise is an error that names both values. Refuses
// to set what another decides: on a port whose DCBX is not the host's (firmware, LLD).
//
// A switch that takes buffer sizes only while a qdisc is offloaded as the port's root
// (Headroom::by_traffic_control) has its ETS by one, of ours: it is made first, and stays. What the
// priorities had for headroom is gone with it, so that PFC is off from before until their buffers are there.
// PFC is refused there for a priority without a buffer of its own.
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
// What a port refused of the headroom that was wanted, until it has that: kept from one apply to the next.
using RefusedHeadroom = std::map<Path, Value>;

// Rows that a DCBX agent sets from what its peer announces.
bool is_negotiated(RowId row);

class PortChange {
 public:
  // `which` of the changes are this port's; their answers are those of `answers`.
  PortChange(PortObjects& ports, const Link& port, const ChangeSet& changes, std::vector<std::size_t> which,
             Answers& answers, RefusedHeadroom& refused, const Call& call)
      : ports_(ports),
        port_(port),
        changes_(changes),
        which_(std::move(which)),
        answers_(answers),
        refused_(refused),
        call_(call) {}

  // `lldpad`: why negotiated rows are not to be set here; empty: they may be.
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
  // With what would be right beside a refusal.
  Result<Done> hinted(Result<Done> result) const;
  // One attempt, whose failure answers all changes of these objects of the port. True: done.
  template <class Attempt>
  bool set(const Objects& objects, const Attempt& attempt);
  // Of a kind that is negotiated.
  template <class Attempt>
  bool set_as_host(const Objects& objects, const Attempt& attempt);
  // False.
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
  // As they are by now.
  dcbnl_buffer buffer_{};
  std::uint8_t pfc_ = 0;
  std::uint16_t delay_ = 0;
  Objects of_pfc_ = {Object::pfc};  // whose changes answer for it
  Result<Done> host_ = Done{};      // else: DCBX is another's
  std::optional<Error> lost_;
};

}  // namespace lockstep::dcb
