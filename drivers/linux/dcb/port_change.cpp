#include "drivers/linux/dcb/port_change.hpp"

#include <algorithm>

#include "drivers/linux/dcb/qdisc_classes.hpp"

namespace lockstep::dcb {
namespace {

using dcb_map::is_class_row;

bool same(const dcbnl_buffer& a, const dcbnl_buffer& b) {
  return std::ranges::equal(a.prio2buffer, b.prio2buffer) && std::ranges::equal(a.buffer_size, b.buffer_size);
}

bool same(const ieee_maxrate& a, const ieee_maxrate& b) {
  return std::ranges::equal(a.tc_maxrate, b.tc_maxrate);
}

// All objects of a port's classes, which one plan changes together.
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
  for (const std::size_t at : which_) refused_.erase(changes_[at].path);
  lay(lldpad);
  if (needs_root() && !lldpad.empty()) {
    fail({Object::buffers}, Error{ErrorKind::unsupported, port_.name + ": " + lldpad});
  } else if (needs_root()) {
    const std::uint8_t had = have_.dcb.pfc->pfc_en;
    if (auto made = make_root(had); !made) {
      fail_all(wrap(port_.name, made.error()));
      return note_headroom();
    }
    lay(lldpad);
    const bool asks = std::ranges::any_of(
        which_, [&](auto at) { return !answers_[at] && is_of(changes_[at], {Object::pfc}); });
    if (!asks) want_.dcb.pfc->pfc_en = had;
    if (!asks && had != 0) of_pfc_ = {Object::pfc, Object::buffers, Object::ets};
  }
  make();
  read_back();
  note_headroom();
}

void PortChange::lay(const std::string& lldpad) {
  want_ = have_;
  for (const std::size_t at : which_)
    if (!answers_[at]) answers_[at] = overlay(changes_[at], lldpad);
  settle_classes();
}

// Whether the switch accepts no sizes now, and would accept no ETS by dcbnl once the qdisc exists.
bool PortChange::needs_root() const {
  return have_.headroom == Headroom::by_traffic_control && !have_.has_root_ets && have_.dcb.ets &&
         std::ranges::any_of(which_, [&](std::size_t at) {
           return !answers_[at] && is_of(changes_[at], {Object::buffers, Object::ets});
         });
}

// PFC is turned off first. It is restored if the switch is known to be unchanged.
Result<Done> PortChange::make_root(std::uint8_t had) {
  pfc_ = had;
  delay_ = have_.dcb.pfc->delay;
  if (had != 0) TRY_DONE(set_pfc(0, delay_));
  Result<Done> made = set_ets(ets_for(want_.classes, *have_.dcb.ets));
  if (made) {
    if (auto read = read_state(); !read) return unread(read.error());
    if (have_.has_root_ets) return Done{};
    TRY_DONE(ports_.remove_root(port_, call_));
    made = Error{ErrorKind::refused,
                 "the switch does not take over a root ets qdisc, without which it takes no buffer sizes and "
                 "has no headroom for PFC: ethtool -K " +
                     port_.name + " hw-tc-offload on is needed, and room in its buffers"};
  }
  if (had == 0 || made.error().kind == ErrorKind::unknown_outcome) return made;
  if (const Result<Done> back = set_pfc(had, delay_); !back)
    made.error().what += "; and PFC can't be put back: " + back.error().text();
  return made;
}

Result<Done> PortChange::read_state() {
  TRY_DONE(ports_.read_dumps(call_));
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

// The classes are valid as a whole or stay as they are.
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
  const std::uint16_t cable = want_.dcb.pfc ? want_.dcb.pfc->delay : std::uint16_t{0};
  const auto both = static_cast<std::uint8_t>(had | wanted);
  pfc_ = had;
  delay_ = have_.dcb.pfc ? have_.dcb.pfc->delay : std::uint16_t{0};
  std::optional<BufferHalves> buffers;
  bool has_room = cable >= delay_ || make_cable();
  has_room = make_buffers(static_cast<std::uint8_t>(had & ~wanted), buffers) && has_room;
  has_room = (cable <= delay_ || (has_room ? make_cable() : skip({Object::cable}))) && has_room;
  bool whole = make_classes() && has_room;
  if (want_.pause != have_.pause && !*want_.pause) whole = make_pause() && whole;
  if (both != had) whole = (has_room ? make_pfc(both) : skip(of_pfc_)) && whole;
  whole = whole ? make_entries() : skip({Object::entries, Object::trust});
  const bool is_off = wanted == both || (whole ? make_pfc(wanted) : skip({Object::pfc}));
  if (want_.pause != have_.pause && *want_.pause) is_off ? make_pause() : skip({Object::pause});
  if (!buffers || same(buffers->after, buffers->between)) return;
  is_off ? set({Object::buffers}, [&] { return set_buffers(buffers->after); }) : skip({Object::buffers});
}

// Sets the intermediate buffers before some priorities lose PFC.
bool PortChange::make_buffers(std::uint8_t losing, std::optional<BufferHalves>& out) {
  if (!want_.dcb.buffer) return true;
  buffer_ = *have_.dcb.buffer;
  return set({Object::buffers}, [&]() -> Result<Done> {
    TRY(out, halves_of(buffer_, *want_.dcb.buffer, losing));
    return same(out->between, buffer_) ? Result<Done>(Done{}) : set_buffers(out->between);
  });
}

// A port rounds a size down to its cells, whose size it does not report: a buffer that comes out too small is
// requested again with more, up to what still counts as the desired size. mlx5 checks a new map against the
// old sizes: there the sizes are set first.
Result<Done> PortChange::set_buffers(const dcbnl_buffer& wanted) {
  dcbnl_buffer asked = wanted;
  if (have_.headroom == Headroom::by_cable && !std::ranges::equal(asked.prio2buffer, buffer_.prio2buffer)) {
    dcbnl_buffer sizes = buffer_;
    for (std::size_t i = 0; i < DCBX_MAX_BUFFERS; ++i)
      sizes.buffer_size[i] = std::max(sizes.buffer_size[i], asked.buffer_size[i]);
    TRY_DONE(hinted(ports_.set_buffer(port_, sizes, call_)));
  }
  for (std::uint32_t more = 32;; more *= 2) {
    TRY_DONE(hinted(ports_.set_buffer(port_, asked, call_)));
    TRY(const PortState now, ports_.read(port_, call_));
    buffer_ = now.dcb.buffer.value_or(wanted);
    bool is_short = false;
    for (std::size_t i = 0; i < DCBX_MAX_BUFFERS; ++i) {
      if (buffer_.buffer_size[i] >= wanted.buffer_size[i]) continue;
      asked.buffer_size[i] = wanted.buffer_size[i] + std::min<std::uint32_t>(more, kQuantum - 1);
      is_short = true;
    }
    if (!is_short || more >= 2 * kQuantum) return Done{};
  }
}

Result<Done> PortChange::set_ets(const ieee_ets& ets) {
  if (have_.headroom != Headroom::by_traffic_control) return ports_.set_ets(port_, ets, call_);
  TRY(const EtsParameters root, root_ets_for(ets));
  return ports_.set_root_ets(port_, root, call_);
}

// Set before any change of PFC.
bool PortChange::make_cable() {
  return set_as_host({Object::cable}, [&] { return set_pfc(pfc_, want_.dcb.pfc->delay); });
}

// Includes headroom that was refused in this apply.
void PortChange::note_headroom() {
  for (const std::size_t at : which_)
    if (answers_[at] && answers_[at]->kind != ErrorKind::unsupported && changes_[at].want &&
        is_of(changes_[at], {Object::buffers, Object::cable}))
      refused_.insert_or_assign(changes_[at].path, changes_[at].want);
}

Result<Done> PortChange::check_headroom(std::uint8_t gaining) {
  note_headroom();
  PortState now = have_;
  if (now.dcb.buffer) now.dcb.buffer = buffer_;
  now.dcb.pfc->delay = delay_;
  for (const auto& [path, want] : refused_) {
    if (path.key(0) != port_.name || satisfies(path.row(), want, dcb_map::value_of(path, now))) continue;
    if (!dcb_map::is_headroom_of(path, gaining)) continue;
    return Error{ErrorKind::refused, "PFC stays off, as its headroom is not there: " + path.text() + " = " +
                                         want.to_string() + " was refused" +
                                         std::string(headroom_hint(have_.headroom))};
  }
  if (have_.headroom != Headroom::by_traffic_control) return Done{};
  for (std::size_t priority = 0; priority < IEEE_8021QAZ_MAX_TCS; ++priority)
    if ((gaining >> priority & 1U) != 0 && (!have_.has_root_ets || buffer_.prio2buffer[priority] == 0))
      return Error{ErrorKind::refused, "PFC stays off, as priority " + std::to_string(priority) +
                                           " has no buffer of its own here: " + "interface[" + port_.name +
                                           "]/buffer[" + std::to_string(priority) + "]/size is needed first"};
  return Done{};
}

Result<Done> PortChange::hinted(Result<Done> result) const {
  if (!result && result.error().kind == ErrorKind::refused)
    result.error().what += headroom_hint(have_.headroom);
  return result;
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
      !set_as_host({Object::ets}, [&] { return set_ets(ets); })) {
    fail({Object::rates}, not_tried());
    return false;
  }
  if (!have_.dcb.maxrate) return true;
  ieee_maxrate rates = rates_for(want_.classes, *have_.dcb.maxrate);
  if (same(rates, rates_for(have_.classes, *have_.dcb.maxrate))) return true;
  if (have_.headroom == Headroom::by_traffic_control)
    for (auto& rate : rates.tc_maxrate)
      if (rate == 0) rate = kMlxswUnbounded;
  return set({Object::rates}, [&] { return ports_.set_rates(port_, rates, call_); });
}

bool PortChange::make_pause() {
  return set({Object::pause}, [&] { return ports_.set_pause(port_, *want_.pause, call_); });
}

bool PortChange::make_pfc(std::uint8_t priorities) {
  return set_as_host(of_pfc_, [&]() -> Result<Done> {
    TRY_DONE(check_headroom(static_cast<std::uint8_t>(priorities & ~pfc_)));
    return set_pfc(priorities, delay_);
  });
}

// mlx5 turns PFC on before it checks the buffers, and leaves it on if it refuses them.
Result<Done> PortChange::set_pfc(std::uint8_t priorities, std::uint16_t delay) {
  ieee_pfc pfc = *have_.dcb.pfc;
  pfc.pfc_en = priorities;
  pfc.delay = delay;
  Result<Done> done = ports_.set_pfc(port_, pfc, call_);
  if (have_.headroom == Headroom::by_cable && have_.pause != true) done = hinted(std::move(done));
  if (done) {
    pfc_ = priorities;
    delay_ = delay;
  }
  if (done || done.error().kind == ErrorKind::unknown_outcome) return done;
  const auto now = ports_.read(port_, call_);
  if (!now || !now->dcb.pfc || (now->dcb.pfc->pfc_en & ~pfc_) == 0) return done;
  pfc.pfc_en = pfc_;
  pfc.delay = delay_;
  if (const Result<Done> back = ports_.set_pfc(port_, pfc, call_); !back)
    done.error().what += "; it is on all the same, and can't be rolled back: " + back.error().text();
  return done;
}

// True: all entries are as desired.
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

// Checks the current mode, which may have been set in this apply.
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
  // After a lost reply the socket may contain stray messages: nothing more is attempted on it.
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

Error PortChange::unread(const Error& why) const {
  Error out{ErrorKind::unknown_outcome, port_.name + ": written, and can't be read back"};
  out.cause = std::make_shared<const Error>(why);
  return out;
}

void PortChange::read_back() {
  if (lost_) return;
  if (auto read = read_state(); !read) return fail_all(unread(read.error()));
  for (const std::size_t at : which_) {
    const Change& change = changes_[at];
    const Value is = dcb_map::value_of(change.path, have_);
    if (answers_[at] || is == change.want) continue;
    if (change.want && satisfies(change.path.row(), change.want, is)) continue;
    if (!change.want && is == Value::boolean(false)) continue;  // an existing class is strict or not
    answers_[at] = Error{ErrorKind::refused, change.path.text() + ": the port took " +
                                                 change.want.to_string() + " and has " + is.to_string()};
  }
}

}  // namespace lockstep::dcb
