#include "specs/compile/firmware_settings.hpp"

#include <algorithm>

#include "specs/language/codes.hpp"
#include "specs/language/reporter.hpp"
#include "specs/model/near_miss.hpp"
#include "specs/platforms/devlink_settings.hpp"
#include "specs/platforms/firmware_settings.hpp"

namespace lockstep {
namespace {

void tell_once(Diagnostics& all, Diagnostic one) {
  const bool told = std::any_of(all.begin(), all.end(), [&](const Diagnostic& other) {
    return other.at == one.at && other.message == one.message;
  });
  if (!told) all.push_back(std::move(one));
}

Diagnostic by_hand(Position at, std::string message, std::string hint) {
  Diagnostic out;
  out.code = code::by_hand;
  out.severity = Severity::warning;
  out.at = at;
  out.message = std::move(message);
  out.hint = std::move(hint);
  return out;
}

std::string hint_to_set(std::string_view platform, std::string_view name, std::string_view value) {
  const std::string how = how_to_set(platform, name, value);
  return "set it with " + (how.empty() ? "the vendor's tool" : how) + ", then reset the firmware or reboot";
}

bool says_true(const Nic& nic, std::string_view name) {
  return std::any_of(nic.settings.begin(), nic.settings.end(),
                     [name](const auto& one) { return *one.key == name && one.value->text == "true"; });
}

}  // namespace

void check_firmware_settings(const Compilation& c, const Nic& nic, std::string_view platform) {
  const std::string of =
      platform.empty() ? " of a NIC of no platform" : " of NIC platform " + std::string(platform);
  for (const auto& [key, value] : nic.settings) {
    if (!key.said || !value.said) continue;
    const std::string& name = *key;
    const FirmwareSetting* const known = find_firmware_setting(platform, name);
    if (known == nullptr) {
      const std::string_view meant = nearest(name, firmware_settings(platform));
      tell_once(c.by_hand,
                by_hand(key.at,
                        "setting " + name + of + " is not known here, and can't be set by Lockstep" +
                            (meant.empty() ? "" : "; did you mean " + std::string(meant) + "?"),
                        hint_to_set(platform, name, value->text)));
      continue;
    }
    if (const std::string takes = why_not(*known, value->text); !takes.empty()) {
      Diagnostic wrong = by_hand(
          value.at, "setting " + name + of + " takes " + takes + ", not " + in_quotes(value->text), "");
      wrong.code = code::out_of_range;
      wrong.severity = Severity::error;
      tell_once(c.diagnostics, std::move(wrong));
      continue;
    }
    if (find_devlink_setting(name) == nullptr)
      tell_once(c.by_hand, by_hand(key.at, "setting " + name + of + " can't be set by Lockstep",
                                   hint_to_set(platform, name, value->text)));
    if (!known->with.empty() && !says_true(nic, known->with))
      tell_once(c.by_hand,
                by_hand(key.at, "setting " + name + " is there only with " + std::string(known->with),
                        std::string(known->with) + ": true"));
  }
}

}  // namespace lockstep
