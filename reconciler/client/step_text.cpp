#include "reconciler/client/step_text.hpp"

#include <nlohmann/json.hpp>

#include "reconciler/client/object_fields.hpp"
#include "reconciler/report/table.hpp"

namespace lockstep::client {
namespace {

using Json = nlohmann::json;

std::string shown_value(const Json& change, const char* name) {
  const std::string text = text_at(change, name);
  return text.empty() ? "(none)" : text;
}

std::string change_text(const Json& change) {
  Shown out = compose("    {}: {} -> {}", text_at(change, "path"), shown_value(change, "was"),
                      shown_value(change, "want"));
  if (const std::string file = text_at(change, "origin.file"); !file.empty())
    out += compose("   {}:{}", file, text_at(change, "origin.line"));
  return out + "\n";
}

std::string step_text(const Json& step, const Terminal& terminal) {
  Shown out = terminal.paint(Ink::bold, short_digest(text_at(step, "digest")));
  if (const std::string device = text_at(step, "device"); !device.empty())
    out +=
        compose("  {}, wave {}, disruption: {}", device, text_at(step, "wave"), text_at(step, "disruption"));
  if (const std::string remedy = text_at(step, "remedy"); !remedy.empty())
    out += compose(", remedy: {}", remedy);
  if (find_at(step, "deletion") != nullptr) out += "  a deletion of the whole revision";
  std::string text = out + "\n";
  const std::size_t shown = size_at(step, "changes");
  if (shown > 0)
    for (const Json& change : *find_at(step, "changes")) text += change_text(change);
  if (const std::string all = text_at(step, "changesInAll"); !all.empty() && all != std::to_string(shown))
    text += compose("    {} changes in all: the service shows no more of them\n", all);
  if (size_at(step, "holds") > 0)
    for (const Json& hold : *find_at(step, "holds"))
      text += compose("    waits: {}\n", hold.is_string() ? hold.get<std::string>() : hold.dump());
  return text;
}

}  // namespace

std::string short_digest(const std::string& digest) {
  constexpr std::string_view kSha = "sha256:";
  constexpr std::size_t kShort = 12;  // of 10,000 steps, two begin alike in one of 5 million plans
  return digest.starts_with(kSha) ? digest.substr(kSha.size(), kShort) : digest.substr(0, kShort);
}

std::string steps_text(const std::vector<const Json*>& steps, const Terminal& terminal) {
  std::string out;
  for (const Json* const step : steps) out += step_text(*step, terminal);
  return out;
}

}  // namespace lockstep::client
