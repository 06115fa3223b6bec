#include "reconciler/agent_cli/left_files.hpp"

#include <cstdlib>

#include "specs/files/read_file.hpp"
#include "specs/files/replace_file.hpp"

namespace lockstep::agent {
namespace {

constexpr std::size_t kReachedMax = 4096;  // bytes: one line

std::string reached_file(const std::string& folder) { return folder + "/reached"; }
std::string config_file(const std::string& folder) { return folder + "/agent.yaml"; }

std::string state_folder() {
  const char* const named = std::getenv("STATE_DIRECTORY");
  const std::string all = named == nullptr ? "" : named;
  return all.empty() ? kAgentJournal : all.substr(0, all.find(':'));
}

}  // namespace

Result<Done> leave_reached(const std::string& folder, const std::string& words) {
  return replace_file(reached_file(folder), words.substr(0, kReachedMax), {.mode = 0600});
}

std::string read_reached(const std::string& folder) {
  return read_named(reached_file(folder), kReachedMax).text;
}

Result<Done> leave_config(const std::string& folder, const std::string& file) {
  const FileText now = read_named(file, kAgentConfigMax);
  if (!now) return Error{ErrorKind::invalid_spec, now.why};
  if (read_named(config_file(folder), kAgentConfigMax).text == now.text) return Done{};
  return replace_file(config_file(folder), now.text, {.mode = 0600});
}

Result<Config> read_left_config(const std::string& host) {
  return read_config(config_file(state_folder()), host);
}

}  // namespace lockstep::agent
