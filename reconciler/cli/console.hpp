// Console: where a command prints, and in which form. Results go to standard output, progress to standard
// error and only on a terminal, errors to standard error (with -o json or yaml: as an Error object on
// standard output).
//
// All of it goes through report_text (reconciler/report/escape.hpp): whatever a report forgot, no control
// character but our own colours reaches a terminal, and no line of ours is a command to a workflow runner.
#pragma once

#include <cerrno>
#include <cstdio>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "reconciler/report/terminal.hpp"
#include "specs/model/diagnostic.hpp"
#include "specs/model/result.hpp"

namespace lockstep {

enum class OutputFormat : std::uint8_t { text, json, yaml };

// Exit codes that scripts rely on (shared/design/command-line.md).
inline constexpr int kExitInSync = 0;
inline constexpr int kExitError = 1;
inline constexpr int kExitDifferent = 2;
inline constexpr int kExitIncomplete = 3;
// Of an observation of the cluster. What differs outranks what could not be read: a script that heals has
// something to do.
constexpr int exit_code_of(bool differs, bool whole) {
  return differs ? kExitDifferent : whole ? kExitInSync : kExitIncomplete;
}

class Console {
 public:
  Console() : out_(Terminal::of(1)), progress_(Terminal::of(2)), shows_progress_(progress_.on_terminal) {}

  OutputFormat output = OutputFormat::text;
  std::stop_token stop;  // requested by Ctrl-C or SIGTERM
  int stop_fd = -1;      // readable from then on

  const Terminal& out() const { return out_; }
  const Terminal& progress() const { return progress_; }
  bool is_text() const { return output == OutputFormat::text; }

  void print(std::string_view text) const;
  // What another program reads, and whose own function has escaped it (reconciler/report/escape.hpp): as it
  // is.
  void print_format(std::string_view text) const;
  // One JSON document, as JSON or as YAML.
  void print_document(const nlohmann::json& document) const;
  // Whether a person at the terminal (standard input) says y or yes; cancelled: the stop came first. Any
  // other error: nobody's answer can be had.
  Result<bool> ask(const std::string& question) const;
  // A line that stays (a step done) and one that is overwritten by the next (a step under way).
  void say(std::string_view line) const;
  void say_passing(std::string_view line) const;

  // The exit code of a command that ends with `code`: kExitError, and why on standard error, if something
  // that was printed could not be written (a full disk, a reader that is gone: a cut report must not pass).
  int end(int code) const;
  // Whoever read the output has closed it (`| head`): what is printed from here on reaches nobody.
  bool reader_is_gone() const { return write_error_ == EPIPE; }

  // Prints, and returns kExitError (kExitIncomplete stays the caller's matter).
  int fail(const Error& error) const;
  int fail(const Sources& sources, const Diagnostics& diagnostics) const;
  // Ctrl-C came while the cluster was observed: nothing is concluded from the part that was read. None: it
  // did not.
  std::optional<int> interrupted() const;
  // The command line itself is wrong: its code is "usage".
  int fail_usage(const std::string& mistake) const;
  // How to go on after an error; to standard error, and as text only.
  void note(std::string_view line) const;
  // Warnings: to standard error, as text only.
  void warn(const Sources& sources, const Diagnostics& diagnostics) const;

 private:
  int fail_as(std::string_view code, const std::string& message) const;

  Terminal out_;
  Terminal progress_;
  bool shows_progress_;
  mutable int write_error_ = 0;  // errno of the first write to standard output that failed
};

}  // namespace lockstep
