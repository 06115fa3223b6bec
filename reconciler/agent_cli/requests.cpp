#include "reconciler/agent_cli/requests.hpp"

#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>

#include "specs/files/read_file.hpp"
#include "specs/files/replace_file.hpp"
#include "specs/model/bounded_json.hpp"

namespace lockstep::agent {
namespace {

constexpr std::size_t kRequestMax = 64 << 10;  // bytes: a reason is one line
constexpr std::size_t kJournalMax = 64 << 20;  // the largest that an agent writes has two change sets

std::string request_file(const std::string& folder) { return folder + "/request.json"; }

Error no_request(const std::string& file) {
  return Error{ErrorKind::invalid_spec, file + " is not a request of lockstep-agent"};
}

Result<Request> parse_request(const std::string& file, const std::string& text) {
  const Result<nlohmann::json> json = parse_bounded_json(text);
  if (!json || !json->is_object()) return no_request(file);
  Request out;
  if (const auto hold = json->find("hold"); hold != json->end()) {
    if (!hold->is_string()) return no_request(file);
    out.hold = hold->get<std::string>();
  }
  if (const auto acknowledge = json->find("acknowledge"); acknowledge != json->end())
    out.acknowledge = *acknowledge == true;
  return out;
}

}  // namespace

Result<Done> leave_request(const std::string& folder, const Request& request) {
  nlohmann::json json = nlohmann::json::object();
  if (request.hold) json["hold"] = *request.hold;
  if (request.acknowledge) json["acknowledge"] = true;
  const std::string text = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return replace_file(request_file(folder), text + "\n", {.mode = 0600});
}

Result<std::optional<Request>> take_request(const std::string& folder) {
  const std::string file = request_file(folder);
  const FileText read = read_named(file, kRequestMax);
  if (read.outcome == FileText::Outcome::missing) return std::optional<Request>{};
  if (::unlink(file.c_str()) != 0 && errno != ENOENT)
    return Error{ErrorKind::refused, "can't remove " + file};
  if (!read) return Error{ErrorKind::invalid_spec, read.why};
  TRY(Request request, parse_request(file, read.text));
  return std::optional<Request>(std::move(request));
}

Result<JournalState> read_journal(const std::string& folder) {
  const std::string file = journal_file(folder);
  const FileText read = read_named(file, kJournalMax);
  if (!read) return Error{ErrorKind::refused, read.why};
  return parse_journal(read.text);
}

}  // namespace lockstep::agent
