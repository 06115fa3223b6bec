#include "reconciler/twin/saved_config.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "drivers/frr/running_config.hpp"
#include "drivers/frr/vty.hpp"
#include "specs/files/read_file.hpp"

namespace lockstep {
namespace {

constexpr std::uint8_t kUnknownCommand = 2;  // CMD_ERR_NO_MATCH, FRR lib/command.h

Result<Done> tell(frr::Vty& vty, const frr::ConfigLine& line, bool top, const Call& call) {
  TRY(const frr::Reply reply, vty.say(line.text, frr::Intention::writes, call));
  if (top && reply.code == kUnknownCommand) return Done{};
  if (reply.code > 1)
    return Error{ErrorKind::refused,
                 fmt::format("{}: saved line '{}': {}", vty.daemon(), line.text, reply.words())};
  for (const frr::ConfigLine& child : line.children) TRY_DONE(tell(vty, child, false, call));
  if (!line.ending.empty()) TRY_DONE(vty.say(line.ending, frr::Intention::writes, call));
  return Done{};
}

}  // namespace

Result<Done> tell_saved_config(const std::string& run_dir, const std::string& config_file,
                               const std::string& daemon, const Call& call) {
  // FRR's user owns the folder, and might put a link there.
  constexpr std::size_t kLargest = std::size_t{64} << 20;  // the limit for saving (drivers/frr/save.cpp)
  const std::filesystem::path file(config_file);
  const std::string text = read_beneath(file.parent_path(), file.filename(), kLargest).text;
  if (text.find_first_not_of(" \n") == std::string::npos) return Done{};
  TRY(const frr::RunningConfig config, frr::parse_running_config(text));
  TRY(frr::Vty vty, frr::Vty::connect(run_dir, daemon, call));
  TRY_DONE(vty.say("configure terminal", frr::Intention::writes, call));
  for (const frr::ConfigLine& line : config.lines) TRY_DONE(tell(vty, line, true, call));
  TRY_DONE(vty.say("end", frr::Intention::writes, call));
  return Done{};
}

}  // namespace lockstep
