// The contexts of a user: the services that they talk to, by name, and with which credentials:
//
//   apiVersion: lockstep.dev/v1alpha1
//   kind: Contexts
//   spec:
//     current: pod1
//     contexts:
//       - name: pod1
//         server: https://pod1.example.org:7445   # or unix:/PATH, or http:// on loopback
//         ca: pod1-ca.crt                         # default: the system's authorities
//         certificate: ann.crt                    # with key: who one is
//         key: ann.key
//         tokenFile: pod1-token                   # or this: its first line is the token
//
// Promises: errors name file, line and column. Files are relative to the folder of this one; credentials are
// names of files, never values. A file that others may write is refused: it says whom credentials are sent.
#pragma once

#include <string>
#include <vector>

#include "specs/model/result.hpp"

namespace lockstep::client {

inline constexpr std::size_t kContextsMax = 256 << 10;  // bytes: some thousand contexts

struct Context {
  std::string name;
  std::string server;
  // Files, absolute; empty: none.
  std::string ca;
  std::string certificate;
  std::string key;
  std::string token_file;
  bool operator==(const Context&) const = default;
};
struct Contexts {
  std::string current;  // empty: none
  std::vector<Context> all;
  const Context* find(const std::string& name) const;  // null: there is none
};

// $LOCKSTEP_CONTEXT_FILE, else contexts.yaml in $XDG_CONFIG_HOME/lockstep or ~/.config/lockstep.
std::string contexts_file();
Result<Contexts> parse_contexts(const std::string& file, std::string text);
// A file that is not there has no contexts.
Result<Contexts> read_contexts(const std::string& file);
// Makes it the current one, in its line of the file alone.
Result<Done> use_context(const std::string& file, const std::string& name);

}  // namespace lockstep::client
