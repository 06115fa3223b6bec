// The subcommands that talk to a running service, and their options.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "reconciler/cli/console.hpp"

namespace lockstep {

// Which service, and as whom.
struct ServerOptions {
  std::string context;  // empty: the current one
  std::string server;   // an address, instead of a context; with the files that follow
  std::string ca;
  std::string certificate;
  std::string key;
  std::string token_file;
  bool is_named() const { return !server.empty() || !context.empty(); }
};
// Of a command that can ask one.
inline constexpr const char* kServiceKnowsTwin =
    "--twin: the service knows whether its cluster is a twin; leave it out";

struct GetOptions {
  ServerOptions at;
  std::vector<std::string> words;  // KIND [NAME ...], or KIND/NAME ...
  std::string specs = ".";         // of `get counters`, which asks the device itself
  std::string form = "text";
  std::string labels;
  std::string fields;
  std::size_t limit = 0;
  std::string sort_by;
  bool watch = false;
  bool watch_types = false;
  bool no_headers = false;
};
// Why this is no form of output; empty: it is one.
std::string wrong_object_form(const std::string& form);
int run_get(const GetOptions& options, const Console& console);
// `get counters [DEVICE]`, without a service; no device: this host.
int run_get_counters(const GetOptions& options, const Console& console);

struct EventsOptions {
  GetOptions get;
  std::string of;    // KIND/NAME; empty: all
  std::string type;  // empty: both
};
int run_events(const EventsOptions& options, const Console& console);

struct DescribeOptions {
  ServerOptions at;
  std::vector<std::string> words;  // KIND NAME, or KIND/NAME
};
int run_describe(const DescribeOptions& options, const Console& console);

struct ApproveOptions {
  ServerOptions at;
  std::string revision;
  std::vector<std::string> steps;  // the starts of digests; empty: all that wait
  std::string reason;
  bool yes = false;
};
int run_approve(const ApproveOptions& options, const Console& console);

struct SayOptions {
  ServerOptions at;
  std::vector<std::string> names;  // of a revision or of devices; of the cluster: none
  std::string reason;
};
int run_reject(const SayOptions& options, const Console& console);
int run_on_cluster(const SayOptions& options, const std::string& word, const Console& console);
int run_on_devices(const SayOptions& options, const std::string& word, const Console& console);

int run_context_list(const Console& console);
int run_context_show(const ServerOptions& at, const Console& console);
int run_context_use(const std::string& name, const Console& console);

// Everything that the command line fills for them.
struct ClientArguments {
  GetOptions get;
  EventsOptions events;
  DescribeOptions describe;
  ApproveOptions approve;
  SayOptions say;
  ServerOptions shown;
  std::string used;  // a context
};

}  // namespace lockstep
