#include "reconciler/engine/approved.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>

#include "reconciler/engine/digest.hpp"
#include "specs/model/near_miss.hpp"

namespace lockstep {
namespace {

constexpr std::array kDisruptions{Disruption::none, Disruption::traffic, Disruption::reset,
                                  Disruption::reboot};

struct Word {
  std::string_view text;
  Hold::Kind kind;
  std::optional<Disruption> disruption;  // none: any
};
constexpr std::array<Word, 9> kWords{{
    {"approval", Hold::Kind::approval, std::nullopt},
    {"approval:none", Hold::Kind::approval, Disruption::none},
    {"approval:traffic", Hold::Kind::approval, Disruption::traffic},
    {"approval:reset", Hold::Kind::approval, Disruption::reset},
    {"approval:reboot", Hold::Kind::approval, Disruption::reboot},
    {"budget", Hold::Kind::budget, std::nullopt},
    {"drain", Hold::Kind::drain, std::nullopt},
    {"far-end", Hold::Kind::far_end, std::nullopt},
    {"gate", Hold::Kind::gate, std::nullopt},
}};

// Kinds of holds that no name lifts, as plans name them.
struct NoWord {
  std::string_view kind;
  std::string_view why;
};
constexpr std::array<NoWord, 4> kNoWords{{
    {"window", "a window opens by time only"},
    {"management", "the last path to a device is never cut"},
    {"hostPolicy", "what a host's policy refuses only its root allows, in the policy"},
    {"inPerson", "it is answered at the prompt: leave out --yes"},
}};

bool has_word(Hold::Kind kind) {
  return std::any_of(kWords.begin(), kWords.end(), [kind](const Word& one) { return one.kind == kind; });
}

Error unknown(std::string_view text) {
  for (const NoWord& one : kNoWords)
    if (one.kind == text)
      return Error{ErrorKind::invalid_spec,
                   "'" + std::string(text) + "' cannot be approved: " + std::string(one.why)};
  const std::vector<std::string_view> words = approval_words();
  const std::string_view near = nearest(text, words);
  std::string said = text.empty() ? "a hold is missing" : "unknown hold '" + std::string(text) + "'";
  if (!near.empty())
    return Error{ErrorKind::invalid_spec, said + "; did you mean '" + std::string(near) + "'?"};
  std::string all;
  for (const std::string_view word : words) all += (all.empty() ? "" : ", ") + std::string(word);
  return Error{ErrorKind::invalid_spec, said + "; it is one of " + all};
}

}  // namespace

void Approved::add(Hold::Kind kind) {
  for (const Disruption disruption : kDisruptions) add(kind, disruption);
}

bool Approved::lifts(Hold::Kind kind, const Step& step) const {
  if (!can_be_lifted(kind)) return false;
  if (lifted_.contains({kind, step.disruption})) return true;
  return !steps_.empty() && std::ranges::find(step.holds, kind, &Hold::kind) != step.holds.end() &&
         steps_.contains(step_digest(step));
}

bool can_be_lifted(Hold::Kind kind) { return has_word(kind) || kind == Hold::Kind::in_person; }

std::string step_digest(const Step& step) {
  Digest digest;
  digest.add(step.device);
  digest.add(step.driver);
  digest.add(step.remedy);
  digest.add(to_string(step.disruption));
  digest.add(std::to_string(step.changes.size()));
  for (const PlannedChange& change : step.changes) {
    digest.add(change.path);
    digest.add(change.was);
    digest.add(change.want);
  }
  std::set<std::string_view> lifts;
  for (const Hold& hold : step.holds)
    if (hold.kind != Hold::Kind::gate && can_be_lifted(hold.kind))
      lifts.insert(hold.kind == Hold::Kind::in_person ? "in-person" : word_of(hold.kind, step.disruption));
  for (const std::string_view one : lifts) digest.add(one);
  return digest.finish();
}

std::string_view word_of(Hold::Kind kind, Disruption disruption) {
  for (const Word& one : kWords) {
    if (one.kind != kind) continue;
    if (kind == Hold::Kind::approval ? one.disruption == disruption : !one.disruption) return one.text;
  }
  return "";
}

std::vector<std::string_view> approval_words() {
  std::vector<std::string_view> out;
  std::transform(kWords.begin(), kWords.end(), std::back_inserter(out),
                 [](const Word& one) { return one.text; });
  return out;
}

Result<Approved> parse_approved(std::string_view words) {
  Approved approved;
  for (std::size_t start = 0; start <= words.size();) {
    const std::size_t end = std::min(words.find(',', start), words.size());
    const std::string_view text = words.substr(start, end - start);
    const auto word =
        std::find_if(kWords.begin(), kWords.end(), [text](const Word& one) { return one.text == text; });
    if (word == kWords.end()) return unknown(text);
    if (word->disruption)
      approved.add(word->kind, *word->disruption);
    else
      approved.add(word->kind);
    start = end + 1;
  }
  return approved;
}

std::vector<Hold> standing_holds(const Step& step, const Approved& approved) {
  std::vector<Hold> out;
  for (const Hold& hold : step.holds)
    if (!approved.lifts(hold.kind, step)) out.push_back(hold);
  return out;
}

}  // namespace lockstep
