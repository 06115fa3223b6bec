#include "reconciler/session/specs_commit.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "drivers/posix/program.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

// A repository on a slow network file system must not delay a command for long.
constexpr std::chrono::seconds kGitPatience{5};
constexpr std::size_t kSha1Digits = 40;  // else SHA-256 (git-hash-object(1), extensions.objectFormat)

std::optional<std::string> git(const std::string& folder, std::vector<std::string> words) {
  Program program{.name = "git",
                  .package = "git",
                  .words = {"--no-pager", "-C", folder, "-c", "safe.bareRepository=explicit", "-c",
                            "protocol.allow=never", "-c", "core.fsmonitor=false", "--no-optional-locks"},
                  .patience = kGitPatience};
  program.words.insert(program.words.end(), words.begin(), words.end());
  const Result<Ended> ended = run(program);
  if (!ended || !ended->well) return std::nullopt;
  return ended->out;
}

// The name that git gives the content of a file: the hash of "blob SIZE\0" and the bytes.
std::string blob_name(const std::string& text, bool is_sha1) {
  const std::string whole = "blob " + std::to_string(text.size()) + std::string(1, '\0') + text;
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (EVP_Digest(whole.data(), whole.size(), digest.data(), &size, is_sha1 ? EVP_sha1() : EVP_sha256(),
                 nullptr) != 1)
    return "";
  std::string out;
  for (unsigned i = 0; i < size; ++i) out += fmt::format("{:02x}", digest[i]);
  return out;
}

// By path below the folder: "MODE blob NAME\tPATH" of git-ls-tree(1), each ended by a zero byte.
std::map<std::string, std::string> blobs_of(const std::string& listing) {
  std::map<std::string, std::string> out;
  for (std::size_t from = 0; from < listing.size();) {
    const std::size_t end = std::min(listing.find('\0', from), listing.size());
    const std::string line = listing.substr(from, end - from);
    from = end + 1;
    const std::size_t tab = line.find('\t');
    const std::size_t name = tab == std::string::npos ? tab : line.rfind(' ', tab);
    if (name != std::string::npos) out[line.substr(tab + 1)] = line.substr(name + 1, tab - name - 1);
  }
  return out;
}

bool is_committed(const std::string& folder, const Sources& sources,
                  const std::map<std::string, std::string>& blobs, bool is_sha1) {
  std::error_code none;
  const fs::path top = fs::weakly_canonical(folder, none);
  const bool is_all = std::ranges::all_of(sources.files, [&](const SourceFile& file) {
    if (file.name.empty()) return true;
    const auto found = blobs.find(fs::weakly_canonical(file.name, none).lexically_relative(top).string());
    return found != blobs.end() && found->second == blob_name(file.text, is_sha1);
  });
  return is_all && std::ranges::all_of(blobs, [&](const auto& one) {
           const fs::path name = one.first;
           return (name.extension() != ".yaml" && name.extension() != ".yml") || fs::exists(top / name, none);
         });
}

}  // namespace

std::string specs_commit(const std::string& folder, const Sources& sources) {
  std::optional<std::string> commit = git(folder, {"rev-parse", "--verify", "HEAD"});
  if (!commit) return "";
  while (!commit->empty() && commit->back() == '\n') commit->pop_back();
  const auto listing = git(folder, {"ls-tree", "-r", "-z", *commit, "--", "."});
  if (!listing) return "";
  const bool is_sha1 = commit->size() == kSha1Digits;
  return is_committed(folder, sources, blobs_of(*listing), is_sha1) ? *commit : *commit + "-dirty";
}

}  // namespace lockstep
