#include "reconciler/report/bench_charts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "reconciler/report/escape.hpp"
#include "reconciler/report/picture_style.hpp"
#include "reconciler/report/table.hpp"

namespace lockstep {
namespace {

using bench::Measurement;

std::string svg(int width, int height, const std::string& content) {
  return fmt::format("<svg viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\">\n{2}</svg>\n",
                     width, height, content);
}

std::string svg_text(double x, double y, std::string_view style, const std::string& escaped) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\">{}</text>\n", x, y, style, escaped);
}

// --- heat map
// -----------------------------------------------------------------------------------------------

struct Shade {
  std::string_view style;   // empty: nothing is drawn
  std::string_view symbol;  // empty: the number is shown instead
  bool operator==(const Shade&) const = default;
};

Shade shade_of(const HeatMap& map, const HeatCell& cell) {
  switch (cell.state) {
    case HeatCell::State::not_measured: return {};
    case HeatCell::State::failed: return {"heat1", "×"};
    case HeatCell::State::unknown: return {"heat0", "?"};
    case HeatCell::State::measured: break;
  }
  return {cell.share >= map.good ? "heat3" : cell.share >= map.poor ? "heat2" : "heat1", ""};
}

// Which of two cells represents a group.
bool is_worse(const HeatCell& cell, const HeatCell& than) {
  const auto rank = [](HeatCell::State state) {
    switch (state) {
      case HeatCell::State::failed: return 0;
      case HeatCell::State::measured: return 1;
      case HeatCell::State::unknown: return 2;
      case HeatCell::State::not_measured: break;
    }
    return 3;
  };
  if (rank(cell.state) != rank(than.state)) return rank(cell.state) < rank(than.state);
  return cell.share < than.share;
}

class HeatDrawing {
 public:
  HeatDrawing(const HeatMap& map, const HeatWords& words)
      : map_(map), words_(words), names_(map.names.size()) {
    for (const std::string& name : map.names)
      label_ = std::max(label_, std::min(display_width(printable(name)), kLabelMost));
    edge_ = static_cast<double>(label_) * kCharacter + 8;
    cell_ = std::clamp(kSide / static_cast<double>(names_), 11.0, 38.0);
  }

  std::string draw() const {
    const double side = cell_ * static_cast<double>(names_);
    std::string out = labels();
    for (std::size_t from = 0; from < names_; ++from) out += row(from);
    return svg(static_cast<int>(edge_ + side) + 4, static_cast<int>(edge_ + side) + 4, out);
  }

 private:
  static constexpr double kSide = 720;       // pixels, all cells together; chosen: half a screen
  static constexpr double kCharacter = 6.7;  // for .tick, mono
  static constexpr double kLine = 12;
  static constexpr std::size_t kLabelMost = 22;
  static constexpr double kCellOfNumber = 24;  // "100" fits

  double at(std::size_t index) const { return edge_ + cell_ * static_cast<double>(index); }

  std::string labels() const {
    const auto step = static_cast<std::size_t>(std::ceil(kLine / cell_));
    std::string out;
    for (std::size_t i = 0; i < names_; i += step) {
      const std::string name = xml_text_within(map_.names[i], kLabelMost);
      const double middle = at(i) + cell_ / 2 + 4;
      out += svg_text(edge_ - 4, middle, "tick end faint", name);
      out += fmt::format(
          "<text transform=\"translate({:.1f},{:.1f}) rotate(-90)\" class=\"tick faint\">{}</text>\n", middle,
          edge_ - 4, name);
    }
    return out;
  }

  // Neighbours with the same style are one rectangle.
  std::string row(std::size_t from) const {
    const bool with_numbers = cell_ >= kCellOfNumber;
    std::string out;
    for (std::size_t to = 0; to < names_;) {
      const HeatCell& cell = map_.cells[from][to];
      const Shade shade = shade_of(map_, cell);
      std::size_t end = to + 1;
      while (!with_numbers && shade.symbol.empty() && end < names_ &&
             shade_of(map_, map_.cells[from][end]) == shade)
        ++end;
      if (!shade.style.empty()) out += cell_svg(from, to, end, shade, with_numbers);
      to = end;
    }
    return out;
  }

  std::string cell_svg(std::size_t from, std::size_t to, std::size_t end, const Shade& shade,
                       bool with_number) const {
    const double width = cell_ * static_cast<double>(end - to) - 1;
    std::string out =
        fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" class=\"{}\"", at(to),
                    at(from), width, cell_ - 1, shade.style);
    const std::string number = fmt::format("{:.0f}", map_.cells[from][to].figure);
    if (with_number)
      out +=
          fmt::format("><title>{} -> {}: {}</title></rect>\n", xml_text(map_.names[from]),
                      xml_text(map_.names[to]), shade.symbol.empty() ? number + words_.unit : shade.symbol);
    else
      out += "/>\n";
    if (with_number || !shade.symbol.empty())
      out += svg_text(at(to) + width / 2, at(from) + cell_ / 2 + 3.5, "cell ink",
                      shade.symbol.empty() ? number : std::string(shade.symbol));
    return out;
  }

  const HeatMap& map_;
  const HeatWords& words_;
  std::size_t names_;
  std::size_t label_ = 0;
  double edge_ = 0;
  double cell_ = 0;
};

// --- histogram
// ----------------------------------------------------------------------------------------------

struct Sample {
  double value = 0;
  double weight = 1;
};
using Samples = std::vector<Sample>;

void add_samples(const bench::Distribution& seen, double scale, Samples& out) {
  for (const double value : seen.samples) out.push_back({value * scale, 1});
  if (!seen.histogram) return;
  for (const bench::Histogram::Bucket& bucket : seen.histogram->buckets())
    out.push_back(
        {static_cast<double>(bucket.lowest) * seen.scale * scale, static_cast<double>(bucket.count)});
}

struct AxisLine {
  double at = 0;
  std::string style;
  std::string label;
};

class HistogramDrawing {
 public:
  HistogramDrawing(const BenchmarkOutcome& outcome, Metric metric) : metric_(metric) {
    for (const Measurement& one : outcome.measurements)
      if (one.metric == metric && one.ok()) of_.push_back(&one);
    shares_ = unit_of(metric) == Bound::Unit::rate && !of_.empty() &&
              std::all_of(of_.begin(), of_.end(), [](const Measurement* one) { return one->nominal > 0.0; });
    for (const Measurement* const one : of_) {
      const double scale = shares_ ? 1 / *one->nominal : 1;
      add_samples(one->seen, scale, now_);
      if (one->accepted) add_samples(*one->accepted, scale, then_);
    }
    add_lines(*outcome.benchmark);
    find_ends();
  }

  std::string draw() const {
    if (now_.empty()) return "";
    const std::vector<double> now = binned(now_);
    const std::vector<double> then = binned(then_);
    const double most =
        std::max(*std::max_element(now.begin(), now.end()), *std::max_element(then.begin(), then.end()));
    std::string out = axis();
    for (std::size_t i = 0; i < kBins; ++i)
      if (now[i] > 0)
        out += fmt::format(
            "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" class=\"bar\"/>\n",
            kLeft + kBinWidth * static_cast<double>(i) + 0.5, base() - now[i] / most * kHeight, kBinWidth - 1,
            now[i] / most * kHeight);
    if (!then_.empty()) out += outline(then, most);
    return svg(kWidth, static_cast<int>(base()) + 24, out + lines());
  }

 private:
  static constexpr std::size_t kBins = 48;
  static constexpr int kWidth = 560;
  static constexpr double kLeft = 24;
  static constexpr double kBinWidth = (kWidth - 2 * kLeft) / double{kBins};
  static constexpr double kHeight = 130;
  static constexpr double kLine = 14;

  double top() const { return kLine * static_cast<double>(lines_.size()) + 6; }
  double base() const { return top() + kHeight; }
  bool is_log() const { return unit_of(metric_) == Bound::Unit::time; }
  double scaled(double value) const { return is_log() ? std::log10(std::max(value, 1e-9)) : value; }
  double share_of(double value) const { return (scaled(value) - least_) / (most_ - least_); }
  double x_of(double value) const { return kLeft + share_of(value) * (kWidth - 2 * kLeft); }
  std::string told(double value) const {
    return bench::told(value, shares_ ? Bound::Unit::ratio : unit_of(metric_));
  }

  void add_lines(const Benchmark& benchmark) {
    if (shares_) {
      const bool one = std::all_of(of_.begin(), of_.end(),
                                   [&](const Measurement* m) { return m->nominal == of_.front()->nominal; });
      lines_.push_back({1, "good",
                        one ? "nominal " + bench::told(*of_.front()->nominal, Bound::Unit::rate)
                            : "nominal, of each its own"});
    }
    for (const Slo& slo : benchmark.slo) {
      const Bound& bound = *bound_of(slo);
      if (*slo.metric != metric_ || (bound.of == Bound::Of::nominal) != shares_) continue;
      if (bound.of == Bound::Of::baseline) continue;  // a different figure for each measurement
      const double at = shares_                           ? bound.ratio.fraction()
                        : bound.unit == Bound::Unit::time ? std::chrono::duration<double>(bound.time).count()
                        : bound.unit == Bound::Unit::rate ? static_cast<double>(bound.rate.bits_per_second)
                                                          : bound.ratio.fraction();
      lines_.push_back(
          {at, "suspect", fmt::format("SLO: {} {}", to_string(*slo.statistic), bench::want_of(slo))});
    }
  }

  void find_ends() {
    double least = std::numeric_limits<double>::max();
    double most = std::numeric_limits<double>::lowest();
    const auto widen = [&](double value) {
      least = std::min(least, scaled(value));
      most = std::max(most, scaled(value));
    };
    for (const Samples* const all : {&now_, &then_})
      for (const Sample& one : *all) widen(one.value);
    for (const AxisLine& one : lines_) widen(one.at);
    const double room = std::max((most - least) * 0.04, std::max(std::abs(most) * 0.01, 1e-6));
    least_ = least - room;
    most_ = most + room;
  }

  // By share of all samples.
  std::vector<double> binned(const Samples& samples) const {
    std::vector<double> out(kBins);
    double all = 0;
    for (const Sample& one : samples) all += one.weight;
    for (const Sample& one : samples) {
      const auto bin = static_cast<std::size_t>(std::clamp(share_of(one.value), 0.0, 0.999999) * kBins);
      out[bin] += one.weight / all;
    }
    return out;
  }

  std::string outline(const std::vector<double>& then, double most) const {
    std::string path = fmt::format("M{:.1f} {:.1f}", kLeft, base());
    for (std::size_t i = 0; i < kBins; ++i)
      path += fmt::format("V{:.1f}H{:.1f}", base() - then[i] / most * kHeight,
                          kLeft + kBinWidth * static_cast<double>(i + 1));
    return "<path d=\"" + path + fmt::format("V{:.1f}\" class=\"outline ink-line\"/>\n", base());
  }

  std::string axis() const {
    std::string out =
        fmt::format("<line x1=\"{0}\" y1=\"{1:.1f}\" x2=\"{2}\" y2=\"{1:.1f}\" class=\"faint-line\"/>\n",
                    kLeft, base(), kWidth - kLeft);
    constexpr int kTicks = 5;
    for (int i = 0; i < kTicks; ++i) {
      const double share = (i + 0.5) / kTicks;
      const double position = least_ + (most_ - least_) * share;
      out += svg_text(kLeft + share * (kWidth - 2 * kLeft), base() + 16, "tick middle faint",
                      told(is_log() ? std::pow(10, position) : position));
    }
    return out;
  }

  // Each label has its own line above the bars, on the side with more room.
  std::string lines() const {
    std::string out;
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      const AxisLine& one = lines_[i];
      const double x = x_of(one.at);
      const double y = kLine * static_cast<double>(i) + 11;
      const bool left = x > kWidth / 2.0;
      out += fmt::format(
          "<line x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{0:.1f}\" y2=\"{2:.1f}\" class=\"{3}-line dashed\"/>\n",
          x, y - 9, base(), one.style);
      out += svg_text(left ? x - 5 : x + 5, y, fmt::format("tick {}{}", left ? "end " : "", one.style),
                      xml_text(one.label));
    }
    return out;
  }

  const Metric metric_;
  std::vector<const Measurement*> of_;
  bool shares_ = false;  // figures are shares of nominal
  Samples now_;
  Samples then_;
  std::vector<AxisLine> lines_;
  double least_ = 0;
  double most_ = 1;
};

}  // namespace

HeatMap folded(const HeatMap& map, std::size_t names_most) {
  const std::size_t names = map.names.size();
  if (names <= names_most) return map;
  const std::size_t together = (names + names_most - 1) / names_most;
  HeatMap out{{}, {}, map.good, map.poor};
  for (std::size_t i = 0; i < names; i += together)
    out.names.push_back(map.names[i] + " .. " + map.names[std::min(i + together, names) - 1]);
  out.cells.assign(out.names.size(), std::vector<HeatCell>(out.names.size()));
  for (std::size_t from = 0; from < names; ++from)
    for (std::size_t to = 0; to < names; ++to) {
      HeatCell& group = out.cells[from / together][to / together];
      if (is_worse(map.cells[from][to], group)) group = map.cells[from][to];
    }
  return out;
}

std::string heat_map_svg(const HeatMap& map, const HeatWords& words) {
  if (map.names.empty()) return "";
  const HeatMap shown = folded(map, kHeatNamesMost);
  std::string out =
      HeatDrawing(shown, words).draw() + "<p class=\"legend\">Rows send to columns, " + words.figures + ": ";
  const auto key = [&out](std::string_view style, const std::string& meaning) {
    out += fmt::format(
        "<svg width=\"14\" height=\"14\"><rect width=\"14\" height=\"14\" class=\"{}\"/></svg> {} ", style,
        meaning);
  };
  key("heat3", words.good);
  if (map.poor < map.good) key("heat2", words.fair);
  key("heat1", words.poor);
  out += "&#160; × failed &#160; ? unknown &#160; blank: not measured.";
  if (shown.names.size() < map.names.size())
    out += fmt::format(" {} endpoints in {} groups: each cell is its worst pair.", map.names.size(),
                       shown.names.size());
  return out + "</p>\n";
}

std::string histogram_svg(const BenchmarkOutcome& outcome, Metric metric) {
  return HistogramDrawing(outcome, metric).draw();
}

}  // namespace lockstep
