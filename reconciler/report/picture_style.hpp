// Shared by the pictures: colours for light and dark screens, and texts cut to the available space.
//
// Promises: a picture has its own background and is legible under both values of prefers-color-scheme.
// Nothing is shown by colour alone: a symbol, a number or a word shows the same. The colours of rails are
// distinguishable with red-green colour blindness.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep {

constexpr std::uint32_t kRailColours = 8;  // further rails start again with the first colour

// "rail3"; for a link that is not a host's: "trunk". The class of its stroke.
std::string rail_class(std::uint32_t rail);

// CSS rules for SVG and HTML: background, ink, boxes, rails, marks.
std::string picture_css();

// A field made printable, escaped, and cut to this many characters, the last of which is then an ellipsis.
std::string xml_text_within(std::string_view text, std::size_t characters);

// "4,096", "4,096 links"
std::string grouped(std::size_t number);
std::string grouped(std::size_t number, std::string_view one);

}  // namespace lockstep
