#include "reconciler/api/tokens.hpp"

#include <algorithm>

#include "drivers/agent/identity.hpp"
#include "specs/files/file_stamp.hpp"
#include "specs/files/read_file.hpp"
#include "specs/files/secret_file.hpp"
#include "specs/language/words.hpp"
#include "specs/model/printable.hpp"

namespace lockstep::api {
namespace {

// Of kTokensMax lines with the longest names, and comments.
constexpr std::size_t kTokenFileMax = std::size_t{1} << 20;

Result<TokenOwner> owner_in(std::string_view line) {
  const auto wrong = [](const char* what) { return Error{ErrorKind::denied, what}; };
  const std::size_t first = line.find(':');
  const std::size_t second = first == line.npos ? first : line.find(':', first + 1);
  if (second == line.npos) return wrong("is not NAME:ROLE:SHA256");
  TokenOwner out;
  out.name = line.substr(0, first);
  if (!is_identity_name(out.name)) return wrong("has an invalid name: use [A-Za-z0-9._-]");
  const auto role = spelled<Role>(line.substr(first + 1, second - first - 1));
  if (!role) return wrong("has an unknown role: use viewer, operator or admin");
  out.role = *role;
  const auto hash = parse_sha256(line.substr(second + 1));
  if (!hash) return wrong("has no SHA-256 (64 hexadecimal digits)");
  out.hash = *hash;
  return out;
}

std::string_view stripped(std::string_view line) {
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ' || line.back() == '\t'))
    line.remove_suffix(1);
  return line;
}

}  // namespace

ReadTokens parse_tokens(const std::string& file, std::string_view text) {
  ReadTokens out;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = stripped(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.front() == '#') continue;
    const auto problem = [&](const std::string& what) {
      out.problems.push_back(file + ":" + std::to_string(number) + ": the line " + what);
    };
    const Result<TokenOwner> owner = owner_in(line);
    if (!owner)
      problem(owner.error().text());
    else if (std::ranges::find(out.owners, owner->hash, &TokenOwner::hash) != out.owners.end())
      problem("has the hash of another line");
    else if (out.owners.size() == kTokensMax)
      problem("is one of more than " + std::to_string(kTokensMax) + " tokens");
    else
      out.owners.push_back(*owner);
  }
  return out;
}

ReadTokens read_tokens(const std::string& file) {
  if (const auto safe = check_written_by_us(file, "could give tokens to anybody"); !safe)
    return {{}, {safe.error().what}};
  const FileText read = read_named(file, kTokenFileMax);
  if (!read) return {{}, {read.why}};
  return parse_tokens(file, read.text);
}

Result<TokenFile> TokenFile::open(const std::string& file) {
  TokenFile out;
  out.file_ = file;
  if (file.empty()) return out;
  out.stamp_ = file_stamp(file);
  ReadTokens read = read_tokens(file);
  if (!read.problems.empty()) return Error{ErrorKind::denied, read.problems.front()};
  out.owners_ = std::move(read.owners);
  return out;
}

bool TokenFile::refresh(const std::function<void(const std::string&)>& log) {
  if (file_.empty()) return false;
  std::string stamp = file_stamp(file_);
  if (stamp == stamp_) return false;
  stamp_ = std::move(stamp);
  ReadTokens read = read_tokens(file_);
  for (const std::string& one : read.problems) log(printable(one));
  owners_ = std::move(read.owners);
  log("changed tokens are in use: " + std::to_string(owners_.size()));
  return true;
}

std::optional<TokenOwner> TokenFile::find(std::string_view token) const {
  const Sha256 hash = sha256(token);
  std::optional<TokenOwner> out;
  for (const TokenOwner& one : owners_)
    if (is_equal(one.hash, hash)) out = one;
  return out;
}

bool TokenFile::accepts(const TokenOwner& owner) const {
  return std::ranges::find(owners_, owner) != owners_.end();
}

}  // namespace lockstep::api
