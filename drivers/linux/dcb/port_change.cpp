#include "drivers/linux/dcb/port_change.hpp"

#include <algorithm>

#include "drivers/linux/dcb/port_buffers.hpp"

namespace lockstep::dcb {
namespace {

using dcb_map::is_class_row;

bool same(const dcbnl_buffer& a, const dcbnl_buffer& b) {
  return std::ranges::equal(a.prio2buffer, b.prio2buffer) && std::ranges::equal(a.buffer_size, b.buffer_size);
}

bool same(const ieee_maxrate& a, const ieee_maxrate& b) {
  return std::ranges::equal(a.tc_maxrate, b.tc_maxrate);
}

// All of a port's classes, which one plan makes together.
const Objects kOfClasses = {Object::ets, Object::rates, Object::entries, Object::trust};

bool is_of(const Change& change, const Objects& objects) {
  const auto object = dcb_map::object_of(change.path.row());
  return object && objects.contains(*object);
}

}  // namespace

bool is_negotiated(RowId row) {
  const auto object = dcb_map::object_of(row);
  return object && *object != Object::pause && *object != Object::buffers;
}

void PortChange::run(const std::string& lldpad) {
  if (auto read = read_state(); !read) return fail_all(read.error());
  want_ = have_;
  for (const std::size_t at : which_) answers_[at] = overlay(changes_[at], lldpad);
  settle_classes();
  make();
  read_back();
}

Result<Done> PortChange::read_state() {
  TRY_DONE(ports_.read_pauses(call_));
  TRY(have_, ports_.read(port_, call_));
  if (!have_.pause) {
    TRY(have_.no_pause, ports_.why_no_pause(port_, call_));
  }
  return Done{};
}

std::optional<Error> PortChange::overlay(const Change& change, const std::string& lldpad) {
  std::string why = dcb_map::lacking(change.path.row(), have_);
  if (why.empty() && is_negotiated(change.path.row())) why = lldpad;
  if (!why.empty()) return Error{ErrorKind::unsupported, change.path.text() + ": " + why};
  if (auto laid = dcb_map::overlay(change, want_); !laid) return std::move(laid.error());
  return std::nullopt;
}

// The classes are right together or stay as they are.
void PortChange::settle_classes() {
  std::vector<Path> named;
  bool wrong = false;
  for (const std::size_t at : which_) {
    if (!is_of(changes_[at], kOfClasses)) continue;
    wrong = wrong || answers_[at].has_value();
    if (is_class_row(changes_[at].path.row())) named.push_back(changes_[at].path);
  }
  Result<Done> settled = Done{};
  if (wrong)
    settled =
        Error{ErrorKind::cancelled, port_.name + ": not tried, as another change of its classes can't be"};
  else if (!named.empty())
    settled = dcb_map::settle_classes(named, want_);
  if (settled) settled = check_trust();
  if (settled) return;
  fail(kOfClasses, wrap(port_.name, settled.error()));
  want_.classes = have_.classes;
  want_.trust = have_.trust;
}

Result<Done> PortChange::check_trust() const {
  if (!want_.trust || have_.dcb.trust || want_.trust == have_.trust) return Done{};
  bool any = false;
  for (const auto& [number, one] : want_.classes) any = any || !one.dscp.empty();
  const std::uint8_t derived = any ? std::uint8_t{IEEE_8021QAZ_APP_SEL_DSCP} : kSelectorPcp;
  if (*want_.trust == std::vector{derived}) return Done{};
  return Error{
      ErrorKind::refused,
      std::string("without a trust table (Linux 6.3 and a driver that has one) a port trusts DSCP as "
                  "long as a class has DSCPs: ") +
          (any ? "here some have" : "here none has")};
}

void PortChange::make() {
  if (want_.dcb.mode != have_.dcb.mode)
    set({Object::mode}, [&] { return ports_.set_mode(port_, *want_.dcb.mode, call_); });
  host_ = is_hosts();
  const std::uint8_t had = have_.dcb.pfc ? have_.dcb.pfc->pfc_en : std::uint8_t{0};
  const std::uint8_t wanted = want_.dcb.pfc ? want_.dcb.pfc->pfc_en : std::uint8_t{0};
  const auto both = static_cast<std::uint8_t>(had | wanted);
  std::optional<BufferHalves> buffers;
  const bool has_room = !want_.dcb.buffer || set({Object::buffers}, [&]() -> Result<Done> {
    TRY(buffers, halves_of(*have_.dcb.buffer, *want_.dcb.buffer, static_cast<std::uint8_t>(had & ~wanted)));
    return same(buffers->between, *have_.dcb.buffer) ? Result<Done>(Done{}) : set_buffers(buffers->between);
  });
  bool whole = make_classes() && has_room;
  if (want_.pause != have_.pause && !*want_.pause) whole = make_pause() && whole;
  if (both != had) whole = (has_room ? make_pfc(both) : skip({Object::pfc})) && whole;
  whole = whole ? make_entries() : skip({Object::entries, Object::trust});
  const bool is_off = wanted == both || (whole ? make_pfc(wanted) : skip({Object::pfc}));
  if (want_.pause != have_.pause && *want_.pause) is_off ? make_pause() : skip({Object::pause});
  if (!buffers || same(buffers->after, buffers->between)) return;
  is_off ? set({Object::buffers}, [&] { return set_buffers(buffers->after); }) : skip({Object::buffers});
}

// A port cuts a size to its cells, and tells nobody how large those are: what comes out too small is asked
// for with more, up to what counts as wanted.
Result<Done> PortChange::set_buffers(const dcbnl_buffer& wanted) {
  dcbnl_buffer asked = wanted;
  for (std::uint32_t more = 32;; more *= 2) {
    TRY_DONE(ports_.set_buffer(port_, asked, call_));
    TRY(const PortState now, ports_.read(port_, call_));
    bool is_short = false;
    for (std::size_t i = 0; i < DCBX_MAX_BUFFERS && now.dcb.buffer; ++i) {
      if (now.dcb.buffer->buffer_size[i] >= wanted.buffer_size[i]) continue;
      asked.buffer_size[i] = wanted.buffer_size[i] + std::min<std::uint32_t>(more, kQuantum - 1);
      is_short = true;
    }
    if (!is_short || more >= 2 * kQuantum) return Done{};
  }
}

Error PortChange::not_tried() const {
  return Error{ErrorKind::cancelled, port_.name + ": not tried after the refusal of another"};
}

bool PortChange::skip(const Objects& objects) {
  fail(objects, not_tried());
  return false;
}

bool PortChange::make_classes() {
  if (!have_.dcb.ets) return true;
  const ieee_ets ets = ets_for(want_.classes, *have_.dcb.ets);
  if (!same_ets(ets, ets_for(have_.classes, *have_.dcb.ets)) &&
      !set_as_host({Object::ets}, [&] { return ports_.set_ets(port_, ets, call_); })) {
    fail({Object::rates}, not_tried());
    return false;
  }
  if (!have_.dcb.maxrate) return true;
  const ieee_maxrate rates = rates_for(want_.classes, *have_.dcb.maxrate);
  return same(rates, rates_for(have_.classes, *have_.dcb.maxrate)) ||
         set({Object::rates}, [&] { return ports_.set_rates(port_, rates, call_); });
}

bool PortChange::make_pause() {
  return set({Object::pause}, [&] { return ports_.set_pause(port_, *want_.pause, call_); });
}

bool PortChange::make_pfc(std::uint8_t priorities) {
  ieee_pfc pfc = *want_.dcb.pfc;
  pfc.pfc_en = priorities;
  return set_as_host({Object::pfc}, [&] { return ports_.set_pfc(port_, pfc, call_); });
}

// True: all of them are as wanted.
bool PortChange::make_entries() {
  const bool sets_trust = have_.dcb.trust && want_.trust != have_.trust;
  const auto set_trust = [&] {
    return set_as_host({Object::trust}, [&] { return ports_.set_trust(port_, *want_.trust, call_); });
  };
  const bool trusts_dscp =
      sets_trust && std::ranges::count(*want_.trust, std::uint8_t{IEEE_8021QAZ_APP_SEL_DSCP}) > 0;
  if (sets_trust && !trusts_dscp && !set_trust()) return false;
  if (have_.dcb.ets) {
    const std::uint8_t lossless = want_.dcb.pfc ? want_.dcb.pfc->pfc_en : std::uint8_t{0};
    const DscpEntries now = dscp_entries(have_.dcb);
    const DscpEntries wanted = dscp_entries(want_.classes, have_.dcb, lossless);
    const std::vector<dcb_app> added = entries_without(wanted, now);
    const std::vector<dcb_app> gone = entries_without(now, wanted);
    const Objects both = {Object::entries, Object::trust};
    if (!added.empty() && !set_as_host(both, [&] { return ports_.add_entries(port_, added, call_); }))
      return false;
    if (!gone.empty() && !set_as_host(both, [&] { return ports_.remove_entries(port_, gone, call_); }))
      return false;
  }
  return !(sets_trust && trusts_dscp) || set_trust();
}

// As of now: the mode may have been set in this apply.
Result<Done> PortChange::is_hosts() {
  std::optional<std::uint8_t> mode = have_.dcb.mode;
  if (want_.dcb.mode != mode) {
    TRY(const PortState now, ports_.read(port_, call_));
    mode = now.dcb.mode;
  }
  if (!mode || (*mode & DCB_CAP_DCBX_HOST) != 0) return Done{};
  return Error{ErrorKind::refused, "DCBX is not the host's here but the firmware's or an LLD's ('" +
                                       dcb_map::mode_words(*mode) +
                                       "'), which takes PFC and classes from its peer: dcbx must be 'host "
                                       "ieee' first"};
}

template <class Attempt>
bool PortChange::set_as_host(const Objects& objects, const Attempt& attempt) {
  return set(objects, [&]() -> Result<Done> {
    if (!host_) return host_.error();
    return attempt();
  });
}

template <class Attempt>
bool PortChange::set(const Objects& objects, const Attempt& attempt) {
  const Result<Done> result = lost_ ? Result<Done>(*lost_) : attempt();
  if (result) return true;
  fail(objects, wrap(port_.name, result.error()));
  // After a lost answer the socket may hold strays: nothing more is tried on it.
  if (result.error().kind == ErrorKind::unknown_outcome)
    lost_ = Error{ErrorKind::transient, "not attempted: an earlier change's outcome is unknown"};
  return false;
}

void PortChange::fail(const Objects& objects, const Error& why) {
  for (const std::size_t at : which_)
    if (is_of(changes_[at], objects) && !answers_[at]) answers_[at] = why;
}

void PortChange::fail_all(const Error& why) {
  for (const std::size_t at : which_)
    if (!answers_[at]) answers_[at] = why;
}

void PortChange::read_back() {
  if (lost_) return;
  if (auto read = read_state(); !read) {
    Error unread{ErrorKind::unknown_outcome, port_.name + ": written, and can't be read back"};
    unread.cause = std::make_shared<const Error>(read.error());
    return fail_all(unread);
  }
  for (const std::size_t at : which_) {
    const Change& change = changes_[at];
    const Value is = dcb_map::value_of(change.path, have_);
    if (answers_[at] || is == change.want) continue;
    if (change.want && satisfies(change.path.row(), change.want, is)) continue;
    if (!change.want && is == Value::boolean(false)) continue;  // a class that is there is strict or not
    answers_[at] = Error{ErrorKind::refused, change.path.text() + ": the port took " +
                                                 change.want.to_string() + " and has " + is.to_string()};
  }
}

}  // namespace lockstep::dcb
