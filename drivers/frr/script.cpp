#include "drivers/frr/script.hpp"

#include <algorithm>
#include <map>

namespace lockstep::frr {
namespace {

constexpr const char* kBgpd = "bgpd";
constexpr const char* kBfdd = "bfdd";
constexpr const char* kIpv4 = "address-family ipv4 unicast";
constexpr const char* kIpv6 = "address-family ipv6 unicast";
// A neighbour's retry interval after a failed connect: the datacenter profile's (DFLT_BGP_CONNECT_RETRY,
// bgp_vty.c), because the traditional profile's 120 s would delay convergence too long.
constexpr const char* kConnectRetry = " timers connect 10";

// The edits of one neighbour or BFD profile, by field.
using Fields = std::map<Field, const Edit*>;

const Edit* of(const Fields& fields, Field field) {
  const auto found = fields.find(field);
  return found == fields.end() ? nullptr : found->second;
}

// The timers that a neighbour proposes if it has none of its own; 60 and 180 s are the traditional profile's.
Timers usual_timers(const Speaker* speaker, const Neighbor* have) {
  if (have != nullptr) return have->usual_timers;
  return speaker != nullptr ? speaker->default_timers : Timers{60, 180};
}

// One line sets both timers: one that is not requested keeps its value, one that is removed returns to its
// default.
Timers timers_after(const Speaker* speaker, const Neighbor* have, const Edit* keepalive, const Edit* hold) {
  const Timers usual = usual_timers(speaker, have);
  Timers out = have != nullptr ? have->timers : usual;
  const auto settle = [](const Edit* edit, std::int64_t otherwise, std::int64_t& value) {
    if (edit != nullptr) value = edit->remove ? otherwise : edit->number;
  };
  settle(keepalive, usual.keepalive_s, out.keepalive_s);
  settle(hold, usual.hold_s, out.hold_s);
  return out;
}

class Writer {
 public:
  explicit Writer(const State& have) : have_(have) {
    if (have.bgp && have.bgp->speaker) speaker_ = &*have.bgp->speaker;
  }

  Result<std::vector<Step>> write(const std::vector<Edit>& edits) {
    for (const Edit& edit : edits) sort(edit);
    TRY_DONE(profiles_are_known());
    make_profiles();
    const Edit* const speaker = of(own_, Field::speaker);
    if (speaker != nullptr && speaker->remove) {
      remove_speaker();
    } else {
      TRY_DONE(make_speaker());
      TRY_DONE(change_speaker());
    }
    remove_profiles();
    return std::move(steps_);
  }

 private:
  void sort(const Edit& edit) {
    switch (edit.field) {
      case Field::profile:
      case Field::profile_multiplier:
      case Field::profile_receive:
      case Field::profile_transmit: profiles_[edit.key][edit.field] = &edit; break;
      case Field::neighbor:
      case Field::neighbor_bfd:
      case Field::neighbor_hold:
      case Field::neighbor_keepalive:
      case Field::neighbor_remote_as:
      case Field::neighbor_shutdown: neighbors_[edit.key][edit.field] = &edit; break;
      case Field::aggregate:
      case Field::redistribute: members_.push_back(&edit); break;
      default: own_[edit.field] = &edit; break;
    }
  }

  void add(const char* daemon, std::vector<std::string> context, std::string line,
           std::vector<std::size_t> changes) {
    steps_.push_back({daemon, std::move(context), std::move(line), std::move(changes)});
  }
  void router(std::string line, std::vector<std::size_t> changes) {
    add(kBgpd, {router_}, std::move(line), std::move(changes));
  }
  void family(const char* name, std::string line, std::vector<std::size_t> changes) {
    add(kBgpd, {router_, name}, std::move(line), std::move(changes));
  }

  void remove_speaker() {
    if (speaker_ == nullptr) return;
    std::vector<std::size_t> all;
    for (const auto& [field, edit] : own_) all.push_back(edit->change);
    for (const Edit* edit : members_) all.push_back(edit->change);
    for (const auto& [key, fields] : neighbors_)
      for (const auto& [field, edit] : fields) all.push_back(edit->change);
    add(kBgpd, {}, "no " + speaker_->header, std::move(all));
  }

  Result<Done> make_speaker() {
    if (speaker_ != nullptr) router_ = speaker_->header;
    const Edit* const asn = of(own_, Field::asn);
    if (asn == nullptr) return Done{};
    if (asn->remove) return Error{ErrorKind::unsupported, "bgp: an ASN can't be removed without the speaker"};
    const std::string header = "router bgp " + asn->word;
    if (router_ == header) return Done{};
    std::vector<std::size_t> changes{asn->change};
    if (const Edit* const made = of(own_, Field::speaker)) changes.push_back(made->change);
    if (speaker_ != nullptr) add(kBgpd, {}, "no " + router_, changes);
    add(kBgpd, {}, header, changes);
    router_ = header;
    if (speaker_ == nullptr) {
      router("no bgp ebgp-requires-policy", changes);
      return Done{};
    }
    if (const ConfigLine* const block = have_.bgp->config.find(speaker_->header))
      replay(*block, {header}, changes);
    return Done{};
  }

  Result<Done> change_speaker() {
    if (own_.empty() && neighbors_.empty() && members_.empty()) return Done{};
    if (router_.empty()) return Error{ErrorKind::refused, "there is no `router bgp` to change"};
    own_settings();
    TRY_DONE(all_neighbors());
    family_settings();
    return Done{};
  }

  void replay(const ConfigLine& block, const std::vector<std::string>& context,
              const std::vector<std::size_t>& changes) {
    for (const ConfigLine& line : block.children) {
      if (!line.is_block()) {
        add(kBgpd, context, line.text, changes);
        continue;
      }
      std::vector<std::string> inner = context;
      inner.push_back(line.text);
      replay(line, inner, changes);
    }
  }

  // A boolean line of the router block whose default is off.
  void flag(Field field, bool have, const char* line) {
    const Edit* const edit = of(own_, field);
    if (edit == nullptr || edit->on == have) return;
    router((edit->on ? "" : "no ") + std::string(line), {edit->change});
  }

  void own_settings() {
    if (const Edit* const id = of(own_, Field::router_id)) {
      const std::string have = speaker_ != nullptr ? speaker_->router_id : "";
      if (id->remove && !have.empty()) router("no bgp router-id", {id->change});
      if (!id->remove && id->word != have) router("bgp router-id " + id->word, {id->change});
    }
    flag(Field::multipath_relax, speaker_ != nullptr && speaker_->multipath_relax,
         "bgp bestpath as-path multipath-relax");
    flag(Field::graceful_shutdown, speaker_ != nullptr && speaker_->graceful_shutdown,
         "bgp graceful-shutdown");
  }

  Result<Done> all_neighbors() {
    for (const auto& [name, fields] : neighbors_) {
      const Edit* const gone = of(fields, Field::neighbor);
      if (gone == nullptr || !gone->remove) continue;
      if (speaker_ == nullptr || speaker_->neighbor(name) == nullptr) continue;
      std::vector<std::size_t> changes;
      for (const auto& [field, edit] : fields) changes.push_back(edit->change);
      router("no neighbor " + name + " interface", std::move(changes));
    }
    for (const auto& [name, fields] : neighbors_) {
      const Edit* const made = of(fields, Field::neighbor);
      if (made != nullptr && made->remove) continue;
      TRY_DONE(neighbor(name, fields));
    }
    return Done{};
  }

  Result<Done> neighbor(const std::string& name, const Fields& fields) {
    const Neighbor* const have = speaker_ != nullptr ? speaker_->neighbor(name) : nullptr;
    const std::string self = "neighbor " + name;
    const Edit* const made = of(fields, Field::neighbor);
    const Edit* const remote = of(fields, Field::neighbor_remote_as);
    if (remote != nullptr && remote->remove)
      return Error{ErrorKind::unsupported, self + ": remote-as can't be removed without the neighbor"};
    if (have == nullptr) {
      if (made == nullptr) return Error{ErrorKind::refused, self + ": there is no such neighbor"};
      std::vector<std::size_t> changes{made->change};
      if (remote != nullptr) changes.push_back(remote->change);
      router(self + " interface" + (remote != nullptr ? " remote-as " + remote->word : ""), changes);
      router(self + kConnectRetry, {made->change});
    } else if (remote != nullptr && remote->word != have->remote_as) {
      router(self + " interface remote-as " + remote->word, {remote->change});
    }
    neighbor_timers(self, have, fields);
    neighbor_bfd(self, have, fields);
    if (const Edit* const shut = of(fields, Field::neighbor_shutdown);
        shut != nullptr && shut->on != (have != nullptr && have->shutdown))
      router((shut->on ? "" : "no ") + self + " shutdown", {shut->change});
    if (have == nullptr) family(kIpv4, self + " activate", {made->change});
    return Done{};
  }

  void neighbor_timers(const std::string& self, const Neighbor* have, const Fields& fields) {
    const Edit* const keepalive = of(fields, Field::neighbor_keepalive);
    const Edit* const hold = of(fields, Field::neighbor_hold);
    if (keepalive == nullptr && hold == nullptr) return;
    std::vector<std::size_t> changes;
    if (keepalive != nullptr) changes.push_back(keepalive->change);
    if (hold != nullptr) changes.push_back(hold->change);
    const bool both_removed = keepalive != nullptr && keepalive->remove && hold != nullptr && hold->remove;
    if (both_removed) {
      if (have != nullptr && have->own_timers) router("no " + self + " timers", std::move(changes));
      return;
    }
    const Timers now = have != nullptr ? have->timers : usual_timers(speaker_, have);
    const Timers then = timers_after(speaker_, have, keepalive, hold);
    if (have != nullptr && then == now) return;
    router(self + " timers " + std::to_string(then.keepalive_s) + " " + std::to_string(then.hold_s),
           std::move(changes));
  }

  void neighbor_bfd(const std::string& self, const Neighbor* have, const Fields& fields) {
    const Edit* const bfd = of(fields, Field::neighbor_bfd);
    if (bfd == nullptr) return;
    const std::optional<std::string> now = have != nullptr ? have->bfd : std::nullopt;
    if (bfd->remove) {
      if (now) router("no " + self + " bfd", {bfd->change});
    } else if (bfd->word == kNoProfile) {
      if (!now) router(self + " bfd", {bfd->change});
      if (now && *now != kNoProfile) router("no " + self + " bfd profile " + *now, {bfd->change});
    } else if (!now || *now != bfd->word) {
      router(self + " bfd profile " + bfd->word, {bfd->change});
    }
  }

  void family_settings() {
    if (const Edit* const most = of(own_, Field::max_paths)) {
      const std::int64_t have = speaker_ != nullptr ? speaker_->max_paths : have_.bgp->max_paths_default;
      if (most->remove)
        family(kIpv4, "no maximum-paths", {most->change});
      else if (most->word != std::to_string(have))
        family(kIpv4, "maximum-paths " + most->word, {most->change});
    }
    for (const Edit* edit : members_) {
      const bool aggregate = edit->field == Field::aggregate;
      const std::vector<std::string> none;
      const auto& there = speaker_ == nullptr ? none
                          : aggregate         ? speaker_->aggregates
                                              : speaker_->redistribute;
      if ((std::find(there.begin(), there.end(), edit->key) != there.end()) != edit->remove) continue;
      const char* const name = edit->key.find(':') == std::string::npos ? kIpv4 : kIpv6;
      std::string line = (aggregate ? "aggregate-address " : "redistribute ") + edit->key;
      if (aggregate && !edit->remove) line += " summary-only";
      family(name, (edit->remove ? "no " : "") + line, {edit->change});
    }
  }

  void make_profiles() {
    for (const auto& [name, fields] : profiles_) {
      const Edit* const made = of(fields, Field::profile);
      if (made != nullptr && made->remove) continue;
      const BfdProfile* const have = have_.bfd->profile(name);
      const std::vector<std::string> context{"bfd", "profile " + name};
      if (have == nullptr && made != nullptr) add(kBfdd, {"bfd"}, context[1], {made->change});
      const BfdProfile now = have != nullptr ? *have : BfdProfile{.name = name};
      profile_line(fields, Field::profile_transmit, context, "transmit-interval", now.transmit_ms);
      profile_line(fields, Field::profile_receive, context, "receive-interval", now.receive_ms);
      profile_line(fields, Field::profile_multiplier, context, "detect-multiplier", now.multiplier);
    }
  }

  // A removed timer is set to its default: bfdd has no `no transmit-interval`.
  void profile_line(const Fields& fields, Field field, const std::vector<std::string>& context,
                    const char* name, std::int64_t now) {
    const Edit* const edit = of(fields, field);
    if (edit == nullptr) return;
    const BfdProfile usual;
    const std::int64_t otherwise = field == Field::profile_multiplier ? usual.multiplier : usual.transmit_ms;
    const std::string want = edit->remove ? std::to_string(otherwise) : edit->word;
    if (want != std::to_string(now)) add(kBfdd, context, std::string(name) + " " + want, {edit->change});
  }

  Result<Done> profiles_are_known() const {
    for (const auto& [name, fields] : profiles_)
      if (have_.bfd->profile(name) == nullptr && of(fields, Field::profile) == nullptr)
        return Error{ErrorKind::refused, "bfd: there is no profile " + name};
    return Done{};
  }

  void remove_profiles() {
    for (const auto& [name, fields] : profiles_) {
      const Edit* const gone = of(fields, Field::profile);
      if (gone == nullptr || !gone->remove || have_.bfd->profile(name) == nullptr) continue;
      std::vector<std::size_t> changes;
      for (const auto& [field, edit] : fields) changes.push_back(edit->change);
      add(kBfdd, {"bfd"}, "no profile " + name, std::move(changes));
    }
  }

  const State& have_;
  const Speaker* speaker_ = nullptr;
  std::string router_;  // the line that enters the speaker's block; empty: there is none
  Fields own_;
  std::map<std::string, Fields> neighbors_;
  std::map<std::string, Fields> profiles_;
  std::vector<const Edit*> members_;
  std::vector<Step> steps_;
};

}  // namespace

Result<std::vector<Step>> script_of(const std::vector<Edit>& edits, const State& have) {
  return Writer(have).write(edits);
}

std::vector<Reset> resets_of(const std::vector<Edit>& edits, const State& have) {
  std::map<std::string, Fields> timed;
  std::vector<Reset> out;
  for (const Edit& edit : edits) {
    if (edit.field == Field::speaker && edit.remove) return out;
    if (edit.field == Field::neighbor_hold || edit.field == Field::neighbor_keepalive)
      timed[edit.key][edit.field] = &edit;
  }
  for (const Edit& edit : edits)
    if (edit.field == Field::neighbor && edit.remove) timed.erase(edit.key);
  if (!have.bgp || !have.bgp->speaker) return out;
  for (const auto& [name, fields] : timed) {
    const Neighbor* const one = have.bgp->speaker->neighbor(name);
    const auto in_use = have.bgp->in_use.find(name);
    if (one == nullptr || in_use == have.bgp->in_use.end()) continue;
    const Timers then = timers_after(&*have.bgp->speaker, one, of(fields, Field::neighbor_keepalive),
                                     of(fields, Field::neighbor_hold));
    if (in_use->second == agreed_alone(then)) continue;
    Reset reset{.line = "clear bgp " + name, .changes = {}};
    for (const auto& [field, edit] : fields) reset.changes.push_back(edit->change);
    out.push_back(std::move(reset));
  }
  return out;
}

std::vector<Sent> transcript(const std::vector<Step>& steps) {
  std::vector<Sent> out;
  std::string daemon;
  std::vector<std::string> at;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    if (step.daemon != daemon) {
      if (!daemon.empty()) out.push_back({daemon, "end", i - 1});
      daemon = step.daemon;
      at.clear();
      out.push_back({daemon, "configure terminal", i});
    }
    std::size_t shared = 0;
    while (shared < at.size() && shared < step.context.size() && at[shared] == step.context[shared]) ++shared;
    for (std::size_t depth = at.size(); depth > shared; --depth) out.push_back({daemon, "exit", i});
    for (std::size_t depth = shared; depth < step.context.size(); ++depth)
      out.push_back({daemon, step.context[depth], i});
    at = step.context;
    out.push_back({daemon, step.line, i});
    // FRR enters a block when the line is the block's header.
    const bool enters = step.line.starts_with("router bgp ") || step.line.starts_with("profile ");
    if (enters) at.push_back(step.line);
  }
  if (!daemon.empty()) out.push_back({daemon, "end", steps.size() - 1});
  return out;
}

}  // namespace lockstep::frr
