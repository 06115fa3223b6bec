#include "drivers/frr/config_text.hpp"

#include <algorithm>

#include "drivers/frr/map.hpp"
#include "drivers/frr/preview_state.hpp"
#include "drivers/frr/running_config.hpp"
#include "drivers/frr/script.hpp"

namespace lockstep {
namespace frr {
namespace {

// Finds the line with this text among `lines`, or creates it.
ConfigLine& line_in(std::vector<ConfigLine>& lines, const std::string& text) {
  const auto found = std::ranges::find(lines, text, &ConfigLine::text);
  return found != lines.end() ? *found : lines.emplace_back(ConfigLine{text, {}, {}});
}

// Orders a block like FRR: its own lines first. The lines of an address family refer to neighbours that must
// already exist.
void put_blocks_last(ConfigLine& block) {
  std::ranges::stable_partition(block.children, [](const ConfigLine& line) { return !line.is_block(); });
  for (ConfigLine& line : block.children) put_blocks_last(line);
}

RunningConfig config_of(const std::vector<Step>& steps) {
  RunningConfig config;
  for (const Step& step : steps) {
    std::vector<ConfigLine>* at = &config.lines;
    for (const std::string& text : step.context) {
      ConfigLine& block = line_in(*at, text);
      block.ending = text.starts_with("address-family ") ? "exit-address-family" : "exit";
      at = &block.children;
    }
    line_in(*at, step.line);
  }
  for (ConfigLine& block : config.lines) put_blocks_last(block);
  return config;
}

}  // namespace
}  // namespace frr

Result<std::string> frr_config_of(const std::string& device, const ChangeSet& changes) {
  std::vector<frr::Edit> edits;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    TRY(frr::Edit edit, frr::edit_of(changes[i], i));
    if (edit.field != frr::Field::saved) edits.push_back(std::move(edit));
  }
  TRY(const std::vector<frr::Step> steps, frr::script_of(edits, frr::preview_state({}, {}, edits)));
  frr::RunningConfig config = frr::config_of(steps);
  // The value that script_of() assumes for a missing line.
  config.defaults = "traditional";
  config.hostname = device;
  return print(config);
}

}  // namespace lockstep
