// TokenFile: who may come with which bearer token: a file of lines NAME:ROLE:SHA256, where SHA256 is that of
// the token ("printf %s TOKEN | sha256sum"). A token must be random, of 128 bits at least: the hash of a word
// can be guessed.
//
// Promises: the file holds no token. refresh() reads it again when it has changed: a token whose line is
// gone, changed or invalid is accepted no more, and if the file can't be read, none is. All hashes are
// compared, in constant time. Refused at open (denied): a file of another user than root and this one, or
// that others may write; an invalid line; two lines with one hash; more than kTokensMax. Empty lines and
// comments (#) are ignored. For one thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reconciler/api/role.hpp"
#include "reconciler/api/sha256.hpp"
#include "specs/model/result.hpp"

namespace lockstep::api {

// A choice: more than the people and programs of one cluster; all are compared for each request.
inline constexpr std::size_t kTokensMax = 1000;

struct TokenOwner {
  std::string name;  // 1 to 253 characters of [A-Za-z0-9._-], as in certificates
  Role role = Role::viewer;
  Sha256 hash{};
  bool operator==(const TokenOwner&) const = default;
};

struct ReadTokens {
  std::vector<TokenOwner> owners;
  std::vector<std::string> problems;  // "tokens:3: ...", or why the file can't be read
};
ReadTokens read_tokens(const std::string& file);
// Of the text of a file that is called `file`.
ReadTokens parse_tokens(const std::string& file, std::string_view text);

class TokenFile {
 public:
  // Empty: there are no tokens.
  static Result<TokenFile> open(const std::string& file);
  // Whether it was read again; each problem goes to `log`.
  bool refresh(const std::function<void(const std::string&)>& log);

  std::optional<TokenOwner> find(std::string_view token) const;
  // Whether this one is still accepted, with the same name and role.
  bool accepts(const TokenOwner& owner) const;

 private:
  std::string file_;
  std::string stamp_;
  std::vector<TokenOwner> owners_;
};

}  // namespace lockstep::api
