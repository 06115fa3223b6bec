#include "specs/files/secret_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>

#include "specs/files/read_file.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kSecretMax = 4096;  // a choice: tokens and keys have some hundred bytes

std::optional<struct stat> status_of(const std::string& file) {
  struct stat out {};
  if (::stat(file.c_str(), &out) != 0) return std::nullopt;
  return out;
}

bool is_trusted(uid_t owner) { return owner == ::geteuid() || owner == 0; }

// Whoever may set the variable runs this process. systemd has no folders within that one.
bool is_credential(const std::string& file, const struct stat& found) {
  const std::string folder = credentials_folder();
  if (folder.empty() || found.st_uid != 0 || found.st_gid != 0) return false;
  std::error_code code;
  const fs::path holds = fs::canonical(folder, code);
  return !code && fs::canonical(file, code).parent_path() == holds && !code;
}

}  // namespace

Result<Done> check_secret_file(const std::string& file, std::string_view what) {
  const std::optional<struct stat> found = status_of(file);
  if (!found) return Done{};
  const auto denied = [&](const std::string& why) {
    return Error{ErrorKind::denied, file + ": " + std::string(what) + " " + why};
  };
  if (!is_trusted(found->st_uid) && ::geteuid() != 0)
    return denied("belongs to another user; it must be this user's or root's");
  const mode_t others = is_credential(file, *found) ? S_IWGRP | S_IXGRP | S_IRWXO : S_IRWXG | S_IRWXO;
  if ((found->st_mode & others) != 0)
    return denied("is accessible to others; run \"chmod 600 " + file + "\"");
  return Done{};
}

Result<std::string> read_secret(const std::string& file) {
  TRY_DONE(check_secret_file(file, "secret"));
  FileText read = read_named(file, kSecretMax);
  if (!read) return Error{ErrorKind::denied, read.why};
  while (!read.text.empty() && (read.text.back() == '\n' || read.text.back() == '\r')) read.text.pop_back();
  if (read.text.empty()) return Error{ErrorKind::denied, file + ": is empty"};
  return read.text;
}

Result<Done> check_written_by_us(const std::string& file, std::string_view danger) {
  const std::optional<struct stat> found = status_of(file);
  if (!found) return Done{};
  const auto denied = [&](const std::string& why) { return Error{ErrorKind::denied, file + ": " + why}; };
  if (!is_trusted(found->st_uid)) return denied("belongs to another user, who " + std::string(danger));
  if ((found->st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return denied("others may write it; run \"chmod go-w " + file + "\"");
  return Done{};
}

std::string credentials_folder() {
  const char* const folder = std::getenv("CREDENTIALS_DIRECTORY");
  return folder == nullptr ? "" : folder;
}

}  // namespace lockstep
