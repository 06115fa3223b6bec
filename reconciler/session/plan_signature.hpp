// Signatures of plan files: who approved a plan, by an SSH key (ssh-keygen -Y, OpenSSH 8.2 and later), so
// that a reviewer needs no key but the one that he pushes with. The signature is of the file's bytes, in the
// namespace `lockstep-plan`: one that was made for anything else, such as a git commit, does not pass for it.
//
// Promises: whoever parses the bytes that were verified has what was signed: they are given to ssh-keygen on
// its standard input, never by a file's name. No shell; a child that does not answer is killed after 30 s.
// Refuses: a file that nobody of the allowed signers signed, under that name and now (ssh-keygen(1), ALLOWED
// SIGNERS: namespaces, valid-after, valid-before); a machine without ssh-keygen. A private key that has a
// passphrase is used by ssh-agent, and given here as its public key: nobody can be asked.
#pragma once

#include <string>

#include "specs/model/result.hpp"

namespace lockstep {

// The text of a signature file. `key`: a private key's file, or a public one's whose key ssh-agent has.
Result<std::string> sign_plan(const std::string& bytes, const std::string& key);

// Who signed: the principal, as the allowed signers call that key.
Result<std::string> verify_plan_signature(const std::string& bytes, const std::string& signature_file,
                                          const std::string& allowed_signers);

}  // namespace lockstep
