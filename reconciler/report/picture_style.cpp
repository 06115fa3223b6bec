#include "reconciler/report/picture_style.hpp"

#include <fmt/format.h>

#include <array>

#include "reconciler/report/escape.hpp"
#include "reconciler/report/terminal.hpp"
#include "specs/fabric/topology.hpp"

namespace lockstep {
namespace {

struct Colour {
  std::string_view name;
  std::string_view light;
  std::string_view dark;
};

// Okabe and Ito, "Color Universal Design" (2008), without black and yellow, which are invisible on a dark or
// a light background; instead Paul Tol's indigo and wine ("muted" scheme, 2021). Lighter on a dark
// background.
constexpr std::array<Colour, kRailColours> kRails{{{"rail0", "#0072b2", "#4aa3df"},
                                                   {"rail1", "#d55e00", "#f0803c"},
                                                   {"rail2", "#009e73", "#2cc79a"},
                                                   {"rail3", "#cc79a7", "#e6a3c8"},
                                                   {"rail4", "#c98a00", "#f2b632"},
                                                   {"rail5", "#56b4e9", "#9ad6ff"},
                                                   {"rail6", "#332288", "#9c8cff"},
                                                   {"rail7", "#882255", "#f0e442"}}};

// Text and background colours: a contrast of at least 4.5 : 1 (WCAG 2.2, 1.4.3).
constexpr std::array<Colour, 14> kFills{{{"ground", "#ffffff", "#11161c"},
                                         {"ink", "#1b2026", "#e8edf2"},
                                         {"faint", "#57606a", "#a3adb8"},
                                         {"failed", "#b3121d", "#ff7b72"},
                                         {"suspect", "#8a4a00", "#f5a623"},
                                         {"worst", "#6d5f00", "#d9c25a"},
                                         {"drifted", "#7a2a9a", "#d9a3f5"},
                                         {"unseen", "#57606a", "#a3adb8"},
                                         {"good", "#0b5a94", "#6cb8f0"},
                                         {"heat3", "#bcdcf2", "#1d4f78"},
                                         {"heat2", "#f6e3a1", "#6b5a16"},
                                         {"heat1", "#f2a65e", "#8a4512"},
                                         {"heat0", "#e9e9ee", "#2a3038"},
                                         {"bar", "#7fb2d9", "#3f7fb3"}}};

// Backgrounds and lines without a mark; the rules after them override the colour for marks.
constexpr std::array<Colour, 3> kLines{
    {{"trunk", "#8b96a3", "#76818e"}, {"box", "#48617d", "#7f9bb8"}, {"rule", "#d5dbe2", "#313a45"}}};

std::string rules(std::string_view Colour::*shade) {
  std::string out;
  for (const Colour& one : kRails) out += fmt::format(".{}{{stroke:{}}}", one.name, one.*shade);
  for (const Colour& one : kLines) out += fmt::format(".{}{{stroke:{}}}", one.name, one.*shade);
  for (const Colour& one : kFills)
    out += fmt::format(".{}{{fill:{}}}.{}-line{{stroke:{}}}", one.name, one.*shade, one.name, one.*shade);
  const bool light = shade == &Colour::light;
  return out + fmt::format(".box{{fill:{}}}.page{{background:{}}}", light ? "#eef3f9" : "#1c2530",
                           kFills[0].*shade);
}

}  // namespace

std::string rail_class(std::uint32_t rail) {
  return rail == kNone ? "trunk" : std::string(kRails.at(rail % kRailColours).name);
}

std::string picture_css() {
  return rules(&Colour::light) + "\n@media (prefers-color-scheme:dark){" + rules(&Colour::dark) + "}\n";
}

std::string xml_text_within(std::string_view text, std::size_t characters) {
  const std::string shown = printable(text);
  std::size_t at = 0;
  std::size_t last = 0;  // end of the last character that fits beside an ellipsis
  for (std::size_t count = 0; at < shown.size(); ++count) {
    if (count == characters) return xml_text(shown.substr(0, last)) + "…";
    at += code_point_at(shown, at).bytes;
    if (count + 2 <= characters) last = at;
  }
  return xml_text(shown);
}

std::string grouped(std::size_t number) {
  std::string out = std::to_string(number);
  for (std::size_t at = out.size(); at > 3; at -= 3) out.insert(at - 3, ",");
  return out;
}

std::string grouped(std::size_t number, std::string_view one) {
  return grouped(number) + " " + std::string(one) + (number == 1 ? "" : "s");
}

}  // namespace lockstep
