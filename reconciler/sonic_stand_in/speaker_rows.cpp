#include "reconciler/sonic_stand_in/speaker_rows.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>

#include "specs/model/ip.hpp"

namespace lockstep::sonic {
namespace {

using frr::Edit;
using frr::Field;

constexpr std::string_view kVrf = "default";
constexpr std::string_view kFamily = "ipv4_unicast";

std::string word_of(const ConfigRow& row, std::string_view field) {
  const auto found = row.find(field);
  const auto* const text = found == row.end() ? nullptr : std::get_if<std::string>(&found->second);
  return text == nullptr ? "" : *text;
}

// One word of a line of FRR's, and nothing that could be two.
bool is_word(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-._:/").find(c) != std::string_view::npos;
  });
}

std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t out = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (failed != std::errc() || end != text.data() + text.size() || out < 0) return std::nullopt;
  return out;
}

std::vector<std::string> parts_of(std::string_view key) {
  std::vector<std::string> out;
  for (std::size_t bar = key.find('|'); bar != key.npos; bar = key.find('|')) {
    out.emplace_back(key.substr(0, bar));
    key.remove_prefix(bar + 1);
  }
  out.emplace_back(key);
  return out;
}

class Editing {
 public:
  Editing(const ConfigDb& rows, const frr::BgpState& have, std::vector<std::string>& cannot)
      : rows_(rows), have_(have), cannot_(cannot) {
    if (have.speaker) speaker_ = &*have.speaker;
  }

  std::vector<Edit> all(const ConfigRow& globals) {
    add({.field = Field::speaker, .on = true});
    word(Field::asn, "", word_of(globals, "local_asn"), "BGP_GLOBALS|default: local_asn");
    const std::string id = word_of(globals, "router_id");
    if (id.empty())
      add({.field = Field::router_id, .remove = true});
    else
      word(Field::router_id, "", id, "BGP_GLOBALS|default: router_id");
    add({.field = Field::multipath_relax, .on = word_of(globals, "load_balance_mp_relax") == "true"});
    add({.field = Field::graceful_shutdown, .on = word_of(globals, "graceful_shutdown") == "true"});
    paths();
    each("BGP_NEIGHBOR", 2, [this](const auto& key, const ConfigRow& row) { neighbor(key[1], row); });
    if (speaker_ != nullptr)
      for (const frr::Neighbor& one : speaker_->neighbors)
        if (!neighbors_.contains(one.interface))
          add({.field = Field::neighbor, .key = one.interface, .remove = true});
    members();
    return std::move(edits_);
  }

  // The neighbors that rows want, and whether each exchanges IPv4 routes.
  std::map<std::string, bool> active() const {
    std::map<std::string, bool> out;
    for (const std::string& name : neighbors_) {
      const ConfigRow* const row =
          rows_.find("BGP_NEIGHBOR_AF", std::string(kVrf) + "|" + name + "|" + std::string(kFamily));
      const std::string said = row == nullptr ? "" : word_of(*row, "admin_status");
      out[name] = said == "up" || said == "true";  // both, in bgpd.conf.db.nbr_af.j2
    }
    return out;
  }

 private:
  template <class Body>
  void each(std::string_view table, std::size_t parts, Body body) {
    const auto found = rows_.tables.find(table);
    if (found == rows_.tables.end()) return;
    for (const auto& [key, row] : found->second)
      if (const auto split = parts_of(key); split.size() == parts && split[0] == kVrf) body(split, row);
  }

  void add(Edit edit) {
    edit.change = edits_.size();
    edits_.push_back(std::move(edit));
  }
  void word(Field field, const std::string& key, const std::string& text, const std::string& who) {
    if (is_word(text))
      add({.field = field, .key = key, .word = text});
    else
      cannot_.push_back(who + " is no word");
  }

  void paths() {
    const ConfigRow* const row = rows_.find("BGP_GLOBALS_AF", std::string(kVrf) + "|" + std::string(kFamily));
    const std::string most = row == nullptr ? "" : word_of(*row, "max_ebgp_paths");
    if (const auto number = number_of(most))
      add({.field = Field::max_paths, .word = most, .number = *number});
    else if (!most.empty())
      cannot_.push_back("BGP_GLOBALS_AF|default|ipv4_unicast: max_ebgp_paths is no number");
    else if (speaker_ != nullptr && speaker_->max_paths != have_.max_paths_default)
      add({.field = Field::max_paths, .remove = true});
  }

  void neighbor(const std::string& name, const ConfigRow& row) {
    const std::string who = "BGP_NEIGHBOR|default|" + name;
    if (!is_word(name)) return cannot_.push_back(who + ": is no interface");
    if (IpAddress::parse(name)) return cannot_.push_back(who + ": numbered neighbors are not carried");
    neighbors_.insert(name);
    add({.field = Field::neighbor, .key = name, .on = true});
    const std::string kind = word_of(row, "peer_type");
    const std::string peer = kind.empty() ? word_of(row, "asn") : kind;
    if (!peer.empty()) word(Field::neighbor_remote_as, name, peer, who + ": asn");
    const frr::Neighbor* const now = speaker_ == nullptr ? nullptr : speaker_->neighbor(name);
    timer(Field::neighbor_hold, name, word_of(row, "holdtime"), now, who);
    timer(Field::neighbor_keepalive, name, word_of(row, "keepalive"), now, who);
    const std::string admin = word_of(row, "admin_status");
    add({.field = Field::neighbor_shutdown, .key = name, .on = admin == "down" || admin == "false"});
  }

  void timer(Field field, const std::string& name, const std::string& text, const frr::Neighbor* now,
             const std::string& who) {
    if (const auto number = number_of(text))
      add({.field = field, .key = name, .word = text, .number = *number});
    else if (!text.empty())
      cannot_.push_back(who + ": a timer is no number");
    else if (now != nullptr && now->own_timers)
      add({.field = field, .key = name, .remove = true});
  }

  void members() {
    std::set<std::string> sources;
    each("ROUTE_REDISTRIBUTE", 4, [&](const auto& key, const ConfigRow&) {
      if (key[2] == "bgp" && key[3] == "ipv4") sources.insert(key[1]);
    });
    std::set<std::string> aggregates;
    each("BGP_GLOBALS_AF_AGGREGATE_ADDR", 3, [&](const auto& key, const ConfigRow& row) {
      if (key[1] == kFamily && word_of(row, "summary_only") == "true") aggregates.insert(key[2]);
    });
    const std::vector<std::string> none;
    settle(Field::redistribute, sources, speaker_ == nullptr ? none : speaker_->redistribute);
    settle(Field::aggregate, aggregates, speaker_ == nullptr ? none : speaker_->aggregates);
  }
  void settle(Field field, const std::set<std::string>& wanted, const std::vector<std::string>& have) {
    for (const std::string& key : wanted) {
      if (is_word(key))
        add({.field = field, .key = key, .on = true});
      else
        cannot_.push_back("'" + key + "' of BGP is no word");
    }
    for (const std::string& key : have)
      if (!wanted.contains(key)) add({.field = field, .key = key, .remove = true});
  }

  const ConfigDb& rows_;
  const frr::BgpState& have_;
  std::vector<std::string>& cannot_;
  const frr::Speaker* speaker_ = nullptr;
  std::vector<Edit> edits_;
  std::set<std::string> neighbors_;
};

const ConfigRow* globals_of(const ConfigDb& rows) { return rows.find("BGP_GLOBALS", kVrf); }

}  // namespace

bool wants_speaker(const ConfigDb& rows) {
  const ConfigRow* const globals = globals_of(rows);
  return globals != nullptr && is_word(word_of(*globals, "local_asn"));
}

Result<SpeakerLines> speaker_lines(const ConfigDb& rows, const frr::State& have,
                                   std::vector<std::string>& cannot) {
  SpeakerLines out;
  if (!wants_speaker(rows)) {
    const Edit gone{.field = Field::speaker, .remove = true};
    TRY(out.steps, frr::script_of({gone}, have));
    return out;
  }
  const ConfigRow& globals = *globals_of(rows);
  Editing editing(rows, *have.bgp, cannot);
  const std::vector<Edit> edits = editing.all(globals);
  TRY(out.steps, frr::script_of(edits, have));
  for (frr::Reset& reset : frr::resets_of(edits, have)) out.resets.push_back(std::move(reset.line));
  // script_of() activates the neighbors that it makes.
  const std::string header = "router bgp " + word_of(globals, "local_asn");
  for (const auto& [name, active] : editing.active()) {
    const frr::Neighbor* const now = have.bgp->speaker ? have.bgp->speaker->neighbor(name) : nullptr;
    const bool is_active = now == nullptr || now->activated;
    if (active != is_active)
      out.steps.push_back({"bgpd",
                           {header, "address-family ipv4 unicast"},
                           (active ? "" : "no ") + ("neighbor " + name) + " activate",
                           {}});
  }
  return out;
}

}  // namespace lockstep::sonic
