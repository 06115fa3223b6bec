// The address of a git repository and the settings beside it, checked before git gets any of them.
#pragma once

#include <cstdint>
#include <string>

#include "reconciler/source/git_source.hpp"

namespace lockstep {

enum class GitTransport : std::uint8_t { https, http, ssh, file };

// As git's protocol.*.allow names it.
std::string to_string(GitTransport transport);

// Invalid spec: an address of another kind, or with credentials, which the message does not repeat.
Result<GitTransport> git_transport(const std::string& address);

// What make_git_source() refuses.
Result<Done> check_git_settings(const GitSettings& settings);

// "refs/heads/main"; of a commit, its hash.
std::string git_reference(const GitReference& reference);
// "branch main"
std::string to_string(const GitReference& reference);

}  // namespace lockstep
