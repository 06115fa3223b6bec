#include "reconciler/report/topology_drawing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <tuple>

#include "reconciler/report/escape.hpp"
#include "reconciler/report/picture_style.hpp"
#include "reconciler/report/terminal.hpp"
#include "specs/language/quantity.hpp"
#include "specs/model/path.hpp"

namespace lockstep {
namespace {

// Pixels. Widths of characters are those of DejaVu, the widest of the usual fonts, at the sizes of .name
// (mono, 12.5px) and .small (sans, 11px).
constexpr double kNameCharacter = 7.6;
constexpr double kSmallCharacter = 6.5;
constexpr int kLeft = 260;  // x position of the rows: right of their names and notes
constexpr int kRowWidth = kPictureWidth - kPictureMargin - kLeft;
constexpr int kRowGap = 168;
constexpr int kBoxTop = 19;  // from a box's edge to the base of its first line
constexpr int kLine = 15;
constexpr int kBoxWidest = 190;
constexpr int kBoxGap = 10;
constexpr std::size_t kMarks = words(Mark{}).size();

struct Rect {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;
  bool meets(const Rect& other) const {
    return x < other.x + other.width && other.x < x + width && y < other.y + other.height &&
           other.y < y + height;
  }
};

struct Point {
  double x = 0;
  double y = 0;
};
Point between(const Point& a, const Point& b, double share) {
  return {a.x + (b.x - a.x) * share, a.y + (b.y - a.y) * share};
}

std::string text(double x, double y, std::string_view style, const std::string& escaped) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\">{}</text>\n", x, y, style, escaped);
}

// The number of things with each mark; each thing is counted with its most severe one.
using MarkCounts = std::array<std::size_t, kMarks>;

template <class Index>
MarkCounts counts_of(const std::vector<Index>& things, const std::map<Index, Marks>& marks) {
  MarkCounts out{};
  for (const Index one : things)
    if (const auto found = marks.find(one); found != marks.end())
      ++out[static_cast<std::size_t>(*found->second.begin())];
  return out;
}

std::optional<Mark> gravest(const MarkCounts& counts) {
  for (std::size_t i = 0; i < kMarks; ++i)
    if (counts[i] > 0) return static_cast<Mark>(i);
  return std::nullopt;
}

// "≠ 2 drifted", or "≠ 2  ? 1" with several kinds or without room for words.
std::string mark_text(const MarkCounts& counts, std::size_t things, std::size_t characters) {
  std::string words_too;
  std::string brief;
  std::size_t kinds = 0;
  for (std::size_t i = 0; i < kMarks; ++i) {
    if (counts[i] == 0) continue;
    ++kinds;
    const Mark mark = static_cast<Mark>(i);
    const std::string number = things > 1 ? grouped(counts[i]) : "";
    brief += (brief.empty() ? "" : "  ") + std::string(style_of(mark).symbol) +
             (number.empty() ? "" : " " + number);
    words_too = std::string(style_of(mark).symbol) + " " + number + (number.empty() ? "" : " ") +
                std::string(to_string(mark));
  }
  return kinds == 1 && display_width(words_too) <= characters ? words_too : brief;
}

std::string rails_text(const std::vector<std::uint32_t>& rails) {
  if (rails.empty()) return "";
  if (rails.size() == 1) return fmt::format("rail {}", rails.front());
  const bool run = rails.back() - rails.front() + 1 == rails.size();
  return run ? fmt::format("rails {}-{}", rails.front(), rails.back()) : grouped(rails.size(), "rail");
}

// A box with its lines; its <title> contains the full text, for what does not fit.
std::string box_svg(const PictureBox& box, const Rect& at, const MarkCounts& marked) {
  const auto characters = static_cast<std::size_t>((at.width - 8) / kSmallCharacter);
  const std::optional<Mark> mark = gravest(marked);
  std::vector<std::string> lines;
  if (box.devices.size() > 1) lines.push_back(counted_of_tier(box.tier, box.devices.size()));
  if (box.tier > 0 && !box.rails.empty()) lines.push_back(rails_text(box.rails));
  std::string out = fmt::format(
      "<g class=\"device\" data-devices=\"{}\"><title>{}: {}{}</title>\n"
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"5\" class=\"box{}\"/>\n",
      xml_text(box.name), xml_text(box.name), counted_of_tier(box.tier, box.devices.size()),
      mark ? ", " + mark_text(marked, 2, kPictureWidth) : "", at.x, at.y, at.width, at.height,
      mark ? fmt::format(" {}-line marked", style_of(*mark).style) : "");
  const double middle = at.x + at.width / 2;
  double y = at.y + kBoxTop;
  out += text(middle, y, "name ink",
              xml_text_within(box.name, static_cast<std::size_t>((at.width - 6) / kNameCharacter)));
  for (const std::string& line : lines)
    out += text(middle, y += kLine, "small faint", xml_text_within(line, characters));
  if (mark)
    out += text(middle, y += kLine, fmt::format("small bold {}", style_of(*mark).style),
                xml_text_within(mark_text(marked, box.devices.size(), characters), characters));
  return out + "</g>\n";
}

int lines_of(const PictureBox& box, bool with_marks) {
  return 1 + (box.devices.size() > 1 ? 1 : 0) + (box.tier > 0 && !box.rails.empty() ? 1 : 0) +
         (with_marks ? 1 : 0);
}
int height_of(int lines) { return kBoxTop + (lines - 1) * kLine + 9; }

class FabricDrawing {
 public:
  FabricDrawing(const Topology& topology, const FabricGraph& graph, const TopologyMarks& marks)
      : topology_(topology),
        marks_(marks),
        fabric_(fold_fabric(topology, graph, static_cast<std::size_t>(kRowWidth / kNameCharacter))),
        at_(fabric_.boxes.size()),
        ends_(fabric_.strands.size()) {}

  DrawnPart draw() {
    place_boxes();
    place_ends();
    std::string lines;
    for (std::size_t i = 0; i < fabric_.strands.size(); ++i) lines += strand_svg(i);
    std::string boxes;
    for (std::size_t i = 0; i < fabric_.boxes.size(); ++i)
      boxes += box_svg(fabric_.boxes[i], at_[i], counts_of(fabric_.boxes[i].devices, marks_.devices));
    std::string labels;
    for (std::size_t i = 0; i < fabric_.strands.size(); ++i) labels += mark_label(i);
    for (std::size_t i = 0; i < fabric_.strands.size(); ++i) labels += count_label(i);
    return {lines + boxes + labels + row_names() + notes(), height_};
  }

 private:
  using Rows = std::pair<unsigned, unsigned>;          // tiers of a strand's ends
  using Kind = std::pair<std::size_t, std::uint64_t>;  // links of a strand, and their speed
  using Kinds = std::map<Kind, std::size_t>;           // number of strands of each kind

  Rows rows_of(const PictureStrand& strand) const {
    return {fabric_.boxes[strand.a].tier, fabric_.boxes[strand.b].tier};
  }

  std::vector<std::size_t> boxes_of(unsigned tier) const {
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < fabric_.boxes.size(); ++i)
      if (fabric_.boxes[i].tier == tier) out.push_back(i);
    return out;
  }

  void place_boxes() {
    int y = 0;
    for (unsigned tier = 4; tier-- > 0;) {
      const std::vector<std::size_t> boxes = boxes_of(tier);
      if (boxes.empty()) continue;
      if (y > 0) y += kRowGap;
      int lines = 1;
      std::size_t name = 0;
      for (const std::size_t box : boxes) {
        lines = std::max(lines, lines_of(fabric_.boxes[box], marks_.any()));
        name = std::max(name, display_width(printable(fabric_.boxes[box].name)));
      }
      const double pitch = static_cast<double>(kRowWidth) / static_cast<double>(boxes.size());
      const double wanted = static_cast<double>(std::min(name, kBoxNameMost)) * kNameCharacter + 8;
      const double width = std::min(std::max(wanted, 110.0), std::min(pitch - kBoxGap, double{kBoxWidest}));
      for (std::size_t i = 0; i < boxes.size(); ++i)
        at_[boxes[i]] = {kLeft + pitch * (static_cast<double>(i) + 0.5) - width / 2, static_cast<double>(y),
                         width, static_cast<double>(height_of(lines))};
      row_at_[tier] = y;
      y += height_of(lines);
      height_ = y;
    }
  }

  // Along a box's edge the strands are ordered by their destinations, to minimise crossings.
  void place_ends() {
    for (std::size_t box = 0; box < fabric_.boxes.size(); ++box)
      for (const bool up : {true, false}) {
        std::vector<std::pair<std::size_t, bool>> here;  // strand, and whether it is its end a
        for (std::size_t i = 0; i < fabric_.strands.size(); ++i) {
          const PictureStrand& one = fabric_.strands[i];
          const auto [low, high] = rows_of(one);
          if (one.a == box && up) here.emplace_back(i, true);
          if (one.b == box && up == (low == high)) here.emplace_back(i, false);
        }
        const auto order = [&](const std::pair<std::size_t, bool>& end) {
          const PictureStrand& one = fabric_.strands[end.first];
          return std::tuple(at_[end.second ? one.b : one.a].x, one.rail, end.first);
        };
        std::sort(here.begin(), here.end(),
                  [&](const auto& x, const auto& y) { return order(x) < order(y); });
        const Rect& at = at_[box];
        for (std::size_t i = 0; i < here.size(); ++i) {
          const double share = (static_cast<double>(i) + 1) / (static_cast<double>(here.size()) + 1);
          const Point end{at.x + at.width * share, up ? at.y : at.y + at.height};
          (here[i].second ? ends_[here[i].first].first : ends_[here[i].first].second) = end;
        }
      }
  }

  // Within a row it is an arc above the boxes.
  std::string path_of(std::size_t strand) const {
    const auto& [a, b] = ends_[strand];
    const auto [low, high] = rows_of(fabric_.strands[strand]);
    if (low != high) return fmt::format("M{:.1f} {:.1f}L{:.1f} {:.1f}", a.x, a.y, b.x, b.y);
    const double top = a.y - kRowGap / 4.0;
    return fmt::format("M{:.1f} {:.1f}C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}", a.x, a.y, a.x - 6, top,
                       b.x + 6, top, b.x, b.y);
  }

  // "gpu[1-64]:rail0 - leaf0:swp[1-64]"
  std::string ends_text(const PictureStrand& strand) const {
    std::array<std::vector<DeviceIndex>, 2> devices;
    std::array<std::vector<std::string>, 2> ports;
    for (const LinkIndex index : strand.links) {
      const std::array<PortIndex, 2> ends{topology_.links[index].a, topology_.links[index].b};
      for (std::size_t i = 0; i < 2; ++i) {
        devices[i].push_back(topology_.ports[ends[i]].device);
        ports[i].emplace_back(topology_.ports[ends[i]].name);
      }
    }
    std::string out;
    for (std::size_t i = 0; i < 2; ++i) {
      std::sort(devices[i].begin(), devices[i].end());
      devices[i].erase(std::unique(devices[i].begin(), devices[i].end()), devices[i].end());
      std::sort(ports[i].begin(), ports[i].end(),
                [](const std::string& x, const std::string& y) { return compare_natural(x, y) < 0; });
      ports[i].erase(std::unique(ports[i].begin(), ports[i].end()), ports[i].end());
      out += (out.empty() ? "" : " - ") + picture_name(topology_, devices[i]) + ":" + picture_name(ports[i]);
    }
    return out;
  }

  std::string strand_svg(std::size_t index) const {
    const PictureStrand& strand = fabric_.strands[index];
    const std::size_t links = strand.links.size();
    const double width = links >= 64 ? 3.5 : links >= 16 ? 2.8 : links > 1 ? 2.2 : 1.6;
    const std::string path = path_of(index);
    std::string out = fmt::format(
        "<path d=\"{}\" class=\"strand {}\" stroke-width=\"{}\" data-links=\"{}\"><title>{}: {}, {}"
        "{}</title></path>\n",
        path, rail_class(strand.rail), width, links, xml_text(ends_text(strand)), grouped(links, "link"),
        format(BitRate{strand.speed}), strand.rail == kNone ? "" : fmt::format(", rail {}", strand.rail));
    if (const std::optional<Mark> mark = gravest(counts_of(strand.links, marks_.links)))
      out += fmt::format("<path d=\"{}\" class=\"strand {}-line\" stroke-width=\"4.5\"{}/>\n", path,
                         style_of(*mark).style, *mark == Mark::failed ? "" : " stroke-dasharray=\"9 5\"");
    return out;
  }

  // A position on its line where the text covers neither a box nor another text; none: only the <title> has
  // it.
  std::optional<Rect> room_for(std::size_t strand, std::size_t characters) {
    const auto [low, high] = rows_of(fabric_.strands[strand]);
    const double width = static_cast<double>(characters) * kSmallCharacter + 6;
    for (const double share : {0.5, 0.36, 0.64, 0.28, 0.72, 0.2, 0.8, 0.43, 0.57}) {
      Point at = between(ends_[strand].first, ends_[strand].second, share);
      if (low == high) at.y -= kRowGap * 3 / 16.0;  // the top of its arc
      const Rect place{at.x - width / 2, at.y - 8, width, 16};
      const auto meets = [&](const Rect& one) { return one.meets(place); };
      if (std::any_of(at_.begin(), at_.end(), meets) || std::any_of(labels_.begin(), labels_.end(), meets))
        continue;
      labels_.push_back(place);
      return place;
    }
    return std::nullopt;
  }

  // With its own background, so that no line runs through it.
  std::string label(std::size_t strand, std::string_view style, const std::string& words) {
    const std::optional<Rect> at = room_for(strand, display_width(words));
    if (!at) return "";
    return fmt::format(
               "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{}\" rx=\"3\" class=\"ground\"/>\n",
               at->x, at->y, at->width, at->height) +
           text(at->x + at->width / 2, at->y + 12, fmt::format("small {}", style), words);
  }

  std::string mark_label(std::size_t index) {
    const PictureStrand& strand = fabric_.strands[index];
    const MarkCounts counts = counts_of(strand.links, marks_.links);
    const std::optional<Mark> mark = gravest(counts);
    if (!mark) return "";
    return label(index, fmt::format("bold {}", style_of(*mark).style),
                 mark_text(counts, strand.links.size(), strand.links.size() > 1 ? 0 : 12));
  }

  // For a strand that differs from most between its rows, which the notes describe.
  std::string count_label(std::size_t index) {
    const PictureStrand& strand = fabric_.strands[index];
    const Kinds kinds = kinds_between(rows_of(strand));
    const Kind kind{strand.links.size(), strand.speed};
    if (kinds.size() == 1 || kind == most_of(kinds)) return "";
    return label(index, "ink", fmt::format("{} × {}", grouped(kind.first), format(BitRate{kind.second})));
  }

  Kinds kinds_between(const Rows& rows) const {
    Kinds out;
    for (const PictureStrand& one : fabric_.strands)
      if (rows_of(one) == rows) ++out[{one.links.size(), one.speed}];
    return out;
  }
  static Kind most_of(const Kinds& kinds) {
    return std::max_element(kinds.begin(), kinds.end(),
                            [](const auto& x, const auto& y) { return x.second < y.second; })
        ->first;
  }

  std::string row_names() const {
    std::string out;
    for (const auto& [tier, y] : row_at_) {
      std::size_t devices = 0;
      for (const std::size_t box : boxes_of(tier)) devices += fabric_.boxes[box].devices.size();
      out += text(kPictureMargin, y + kBoxTop + 5, "row bold ink", counted_of_tier(tier, devices));
    }
    return out;
  }

  std::string notes() const {
    std::map<Rows, std::size_t> links;
    for (const PictureStrand& one : fabric_.strands) links[rows_of(one)] += one.links.size();
    std::map<int, int> used;  // lines of notes below a row
    std::string out;
    for (const auto& [rows, count] : links) {
      const int top = row_at_.at(rows.second) + (rows.first == rows.second ? 2 : 0);
      for (const std::string& line : note_lines(rows, count)) {
        const int y = top + height_of(2) + 26 + kLine * used[row_at_.at(rows.second)]++;
        out += text(kPictureMargin, y, "row small faint", line);
      }
    }
    return out;
  }

  std::vector<std::string> note_lines(const Rows& rows, std::size_t links) const {
    constexpr std::size_t kKindsMost = 3;
    const Kinds kinds = kinds_between(rows);
    std::vector<std::pair<std::size_t, Kind>> sorted;
    for (const auto& [kind, strands] : kinds) sorted.emplace_back(strands, kind);
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& x, const auto& y) { return x.first > y.first; });
    std::vector<std::string> out{
        fmt::format("{}{}", grouped(links, "link"), rows.first == rows.second ? " within the row" : ":")};
    for (std::size_t i = 0; i < std::min(sorted.size(), kKindsMost); ++i) {
      const auto& [strands, kind] = sorted[i];
      out.push_back(fmt::format("{} of {}, {} each", grouped(strands, "line"), grouped(kind.first, "link"),
                                format(BitRate{kind.second})));
    }
    if (sorted.size() > kKindsMost)
      out.push_back(fmt::format("and {}", grouped(sorted.size() - kKindsMost, "other kind")));
    return out;
  }

  const Topology& topology_;
  const TopologyMarks& marks_;
  const FoldedFabric fabric_;
  std::vector<Rect> at_;                       // by box
  std::vector<std::pair<Point, Point>> ends_;  // by strand
  std::vector<Rect> labels_;                   // occupied areas
  std::map<unsigned, int> row_at_;             // by tier
  int height_ = 0;
};

}  // namespace

MarkStyle style_of(Mark mark) {
  switch (mark) {
    case Mark::failed: return {"failed", "×"};
    case Mark::suspect: return {"suspect", "!"};
    case Mark::worst: return {"worst", "↓"};
    case Mark::drifted: return {"drifted", "≠"};
    case Mark::unseen: break;
  }
  return {"unseen", "?"};
}

std::string counted_of_tier(unsigned tier, std::size_t count) {
  constexpr std::array<std::string_view, 4> kOne{"host", "leaf", "spine", "superspine"};
  constexpr std::array<std::string_view, 4> kMany{"hosts", "leaves", "spines", "superspines"};
  return fmt::format("{} {}", grouped(count), count == 1 ? kOne.at(tier) : kMany.at(tier));
}

DrawnPart draw_fabric(const Topology& topology, const FabricGraph& graph, const TopologyMarks& marks) {
  return FabricDrawing(topology, graph, marks).draw();
}

DrawnPart draw_uncabled(const Topology& topology, const TopologyMarks& marks) {
  std::vector<bool> cabled(topology.devices.size());
  for (const FabricGraph& graph : topology.fabrics)
    for (unsigned tier = 0; tier < 4; ++tier)
      for (const DeviceIndex device : graph.tier(tier)) cabled[device] = true;
  std::map<std::uint32_t, PictureBox> sets;
  for (DeviceIndex i = 0; i < topology.devices.size(); ++i) {
    if (cabled[i]) continue;
    PictureBox& box = sets[topology.devices[i].set];
    box.tier = topology.devices[i].tier();
    box.devices.push_back(i);
  }
  DrawnPart out;
  constexpr int kInRow = (kPictureWidth - 2 * kPictureMargin) / (kBoxWidest + kBoxGap);
  const int height = height_of(marks.any() ? 3 : 2);
  int place = 0;
  for (auto& [set, box] : sets) {
    box.name = picture_name(topology, box.devices);
    const int x = kPictureMargin + (place % kInRow) * (kBoxWidest + kBoxGap);
    const int y = (place / kInRow) * (height + kBoxGap);
    const Rect at{static_cast<double>(x), static_cast<double>(y), kBoxWidest, static_cast<double>(height)};
    out.svg += box_svg(box, at, counts_of(box.devices, marks.devices));
    out.height = y + height;
    ++place;
  }
  return out;
}

}  // namespace lockstep
