// What files may be trusted with a secret (a key, a password), or with saying who may do what.
//
// Promises: judged by owner and mode, links followed: a file of this user or root. A credential of systemd (a
// file beneath $CREDENTIALS_DIRECTORY) is root's and shows as 0440 with root's group, because an ACL lets the
// unit's user read it (systemd.exec(5), LoadCredential=). A file that is not there passes: whoever reads it
// says so.
#pragma once

#include <string>
#include <string_view>

#include "specs/model/result.hpp"

namespace lockstep {

// Nobody else may read or write it; root may use any user's, as with sudo. Denied: 'FILE: WHAT is accessible
// to others; run "chmod 600 FILE"'.
Result<Done> check_secret_file(const std::string& file, std::string_view what);

// The one secret of a file, a token or a password, without the line breaks at its end. Errors (denied): it
// can't be read, is empty or longer than 4 KiB, or others may access it.
Result<std::string> read_secret(const std::string& file);

// Nobody else may write it; others may read it. Denied, with what somebody else could do: `danger`, such as
// "could give tokens to anybody".
Result<Done> check_written_by_us(const std::string& file, std::string_view danger);

// Where systemd has put this process's credentials; empty: nowhere.
std::string credentials_folder();

}  // namespace lockstep
