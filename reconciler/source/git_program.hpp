// GitProgram: the system's git(1) for one fetch, in a folder of its own.
//
// Promises: its configuration and its environment are made here and nowhere else: nothing of the user's and
// the machine's, no hooks, helpers, prompts, proxies, filters and redirects, one protocol. A command ends
// with its call, and its children with it; it writes no larger file than it may, and takes no more memory
// than kMemory. Credentials are in a file of the folder that only this user may read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/posix/program.hpp"
#include "reconciler/source/fetched.hpp"
#include "reconciler/source/git_source.hpp"
#include "reconciler/source/git_trouble.hpp"

namespace lockstep {

// What a fetch needs beside the settings: read once, so that all of it is of one moment.
struct GitSecrets {
  std::string password{};
  std::string allowed_signers{};
};
Fetched<GitSecrets> read_git_secrets(const GitSettings& settings, const std::string& title);

class GitProgram {
 public:
  // `folder` exists, is empty, and is this object's.
  static Fetched<GitProgram> make(const GitSettings& settings, const GitSecrets& secrets,
                                  const std::string& folder, std::string title);

  // `largest_file` also limits what the command prints.
  Fetched<Ended> run(std::vector<std::string> words, std::uint64_t largest_file, const Call& call,
                     std::string_view input = {}) const;
  // The same for one that fails only if the objects are not as they must be: its output.
  Fetched<std::string> read(std::vector<std::string> words, std::uint64_t largest_output, const Call& call,
                            std::string_view input = {}) const;

  // The repository that is fetched into, a folder's name.
  const std::string& repository() const { return repository_; }
  const GitContext& context() const { return context_; }

 private:
  std::string repository_;
  std::vector<std::string> environment_;
  GitContext context_;
};

}  // namespace lockstep
