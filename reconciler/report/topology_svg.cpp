// The complete SVG: title, fabrics one below the other, legend.
#include <fmt/format.h>

#include <algorithm>

#include "reconciler/report/escape.hpp"
#include "reconciler/report/picture_style.hpp"
#include "reconciler/report/topology_drawing.hpp"
#include "reconciler/report/topology_picture.hpp"

namespace lockstep {
namespace {

constexpr std::string_view kForms =
    "text{font:12px system-ui,\"DejaVu Sans\",sans-serif;text-anchor:middle}"
    ".name{font:600 12.5px ui-monospace,\"DejaVu Sans Mono\",monospace}"
    ".small{font-size:11px}.row{text-anchor:start;font-size:12px}.title{font-size:22px}.heading{font-size:"
    "15px}"
    ".bold{font-weight:700}.strand{fill:none}.box{stroke-width:1.2}.marked{stroke-width:3}\n";
constexpr std::size_t kRailsInLegend = 16;  // as many as fit a line
// For a line of .row text, as wide as the picture.
constexpr std::size_t kCharactersInLine = (kPictureWidth - 2 * kPictureMargin) / 8;

// Lines of text and parts, stacked vertically.
class Sheet {
 public:
  void line(std::string_view style, const std::string& escaped, int height) {
    y_ += height;
    svg_ += fmt::format("<text x=\"{}\" y=\"{}\" class=\"row {}\">{}</text>\n", kPictureMargin, y_, style,
                        escaped);
  }
  void part(const DrawnPart& part) {
    svg_ += fmt::format("<g transform=\"translate(0,{})\">\n{}</g>\n", y_, part.svg);
    y_ += part.height;
  }
  void rule() {
    y_ += 22;
    svg_ += fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" class=\"rule\"/>\n", kPictureMargin,
                        y_, kPictureWidth - kPictureMargin, y_);
  }
  void space(int height) { y_ += height; }
  int height() const { return y_; }
  const std::string& svg() const { return svg_; }

 private:
  std::string svg_;
  int y_ = 0;
};

std::string swatch(int x, int y, std::string_view style, const std::string& words) {
  return fmt::format(
      "<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" class=\"{}\" stroke-width=\"4\"/>"
      "<text x=\"{}\" y=\"{}\" class=\"row ink\">{}</text>\n",
      x, y - 4, x + 26, y - 4, style, x + 32, y, words);
}

DrawnPart rails_legend(std::uint32_t rails) {
  constexpr int kPitch = 92;
  DrawnPart out;
  if (rails > 0) out.height += 20;
  for (std::uint32_t rail = 0; rail < std::min<std::size_t>(rails, kRailsInLegend); ++rail)
    out.svg += swatch(kPictureMargin + static_cast<int>(rail) * kPitch, out.height, rail_class(rail),
                      fmt::format("rail {}", rail));
  out.height += 20;
  out.svg += swatch(kPictureMargin, out.height, rail_class(kNone), "between switches");
  out.svg += fmt::format(
      "<text x=\"{}\" y=\"{}\" class=\"row faint\">A box of several devices: they are cabled alike. A line: "
      "all "
      "their links of one rail and speed; the thicker, the more.{}</text>\n",
      kPictureMargin + 2 * kPitch, out.height,
      rails > kRailColours ? fmt::format(" Colours begin again with rail {}.", kRailColours) : "");
  return out;
}

template <class Index>
std::vector<Index> with_mark(const std::map<Index, Marks>& all, Mark mark) {
  std::vector<Index> out;
  for (const auto& [one, marks] : all)
    if (marks.contains(mark)) out.push_back(one);
  return out;
}

std::string links_text(const Topology& topology, const std::vector<LinkIndex>& links) {
  std::string out;
  for (const LinkIndex one : links)
    out += (out.empty() ? "" : ", ") + topology.port_text(topology.links[one].a) + " - " +
           topology.port_text(topology.links[one].b);
  return out;
}

std::string meaning_of(Mark mark) {
  switch (mark) {
    case Mark::failed: return "none of its pairs was carried";
    case Mark::suspect: return "would explain which pairs are slow";
    case Mark::worst: return "an end of the pair that decided a failed SLO";
    case Mark::drifted: return "differs from the specs";
    case Mark::unseen: break;
  }
  return "could not be observed, in whole or in part";
}

void add_mark(Sheet& page, const Topology& topology, const TopologyMarks& marks, Mark mark) {
  const std::vector<DeviceIndex> devices = with_mark(marks.devices, mark);
  const std::vector<LinkIndex> links = with_mark(marks.links, mark);
  const bool none = devices.empty() && links.empty();
  const MarkStyle style = style_of(mark);
  page.line(
      fmt::format("bold {}", none ? "faint" : style.style),
      fmt::format("{} {}: {}  ({})", style.symbol, to_string(mark),
                  none ? "none" : grouped(devices.size(), "device") + ", " + grouped(links.size(), "link"),
                  meaning_of(mark)),
      20);
  if (none) return;
  std::string names = picture_name(topology, devices);
  if (!links.empty()) names += (names.empty() ? "" : "; ") + links_text(topology, links);
  page.line("faint", "<title>" + xml_text(names) + "</title>" + xml_text_within(names, kCharactersInLine),
            16);
}

void add_legend(Sheet& page, const Topology& topology, const TopologyMarks& marks) {
  std::uint32_t rails = 0;
  for (const FabricGraph& graph : topology.fabrics) rails = std::max(rails, graph.rails);
  page.rule();
  page.part(rails_legend(rails));
  for (const Mark mark : {Mark::failed, Mark::suspect, Mark::worst})
    if (marks.with_bench) add_mark(page, topology, marks, mark);
  for (const Mark mark : {Mark::drifted, Mark::unseen})
    if (marks.with_drift) add_mark(page, topology, marks, mark);
}

void add_fabric(Sheet& page, const Fabric& fabric, const FabricGraph& graph, const Topology& topology,
                const TopologyMarks& marks) {
  page.line("heading ink",
            fmt::format("<tspan class=\"bold\">Fabric/{}</tspan>: {}, {}, {}",
                        xml_text_within(fabric.metadata.name.value, 80), to_string(fabric.topology.value),
                        grouped(graph.rails, "rail"), grouped(graph.links.size(), "link")),
            34);
  page.space(20);
  page.part(draw_fabric(topology, graph, marks));
}

}  // namespace

std::string topology_svg(const std::string& title, const Catalog& catalog, const Topology& topology,
                         const TopologyMarks& marks) {
  Sheet page;
  page.line("title bold ink", xml_text_within(title, 90), 40);
  page.line("faint",
            fmt::format("{}, {}", grouped(topology.devices.size(), "device"),
                        grouped(topology.links.size(), "link")),
            20);
  for (const std::string& verdict : marks.verdicts)
    page.line("ink", xml_text_within(verdict, kCharactersInLine), 17);
  for (std::size_t i = 0; i < topology.fabrics.size(); ++i)
    add_fabric(page, catalog.fabrics[i], topology.fabrics[i], topology, marks);
  if (const DrawnPart uncabled = draw_uncabled(topology, marks); uncabled.height > 0) {
    page.line("heading bold ink", "Not cabled", 34);
    page.space(14);
    page.part(uncabled);
  }
  add_legend(page, topology, marks);
  page.space(24);
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "class=\"page\" role=\"img\">\n<title>{2}</title>\n<style>{3}{4}</style>\n"
      "<rect width=\"{0}\" height=\"{1}\" class=\"ground\"/>\n{5}</svg>\n",
      kPictureWidth, page.height(), xml_text(title), kForms, picture_css(), page.svg());
}

}  // namespace lockstep
