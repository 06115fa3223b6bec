// Signatures of plan files: who approved a plan, by an SSH key (ssh-keygen -Y, OpenSSH 8.2 and later), so
// that a reviewer needs only the key used for pushing. The signature covers the file's bytes, in the
// namespace `lockstep-plan`: one that was made for anything else, such as a git commit, is not accepted.
//
// Promises: the bytes that were verified are the bytes that the caller parses: they are passed to ssh-keygen
// on its standard input, never by file name. No shell; a child that does not answer is killed after 30 s.
// Refuses: a file that no allowed signer signed, under that name and now (ssh-keygen(1), ALLOWED SIGNERS:
// namespaces, valid-after, valid-before); a machine without ssh-keygen. For a private key with a passphrase,
// ssh-agent must hold it and its public key is passed here: there is no prompt.
#pragma once

#include <string>

#include "specs/model/result.hpp"

namespace lockstep {

// The text of a signature file. `key`: a private key's file, or a public one's whose key ssh-agent has.
Result<std::string> sign_plan(const std::string& bytes, const std::string& key);

// Who signed: the principal listed for that key in the allowed signers.
Result<std::string> verify_plan_signature(const std::string& bytes, const std::string& signature_file,
                                          const std::string& allowed_signers);

}  // namespace lockstep
