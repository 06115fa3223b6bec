// Console: where a command prints, and in which form. Results go to standard output, progress to standard
// error and only on a terminal, errors to standard error (with -o json or yaml: as an Error object on
// standard output).
//
// All output passes through report_text (reconciler/report/escape.hpp): even if a report fails to escape a
// text, no control character except lockstep's own colours gets to a terminal, and no line of output is a
// command to a workflow runner.
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

// Exit codes that scripts rely on (docs/operations.md, "Exit codes").
inline constexpr int kExitInSync = 0;
inline constexpr int kExitError = 1;
inline constexpr int kExitDifferent = 2;
inline constexpr int kExitIncomplete = 3;
// For an observation of the cluster. A difference takes precedence over an incomplete observation, so that a
// script that remedies differences acts on it.
constexpr int exit_code_of(bool differs, bool whole) {
  return differs ? kExitDifferent : whole ? kExitInSync : kExitIncomplete;
}

// Version of the documents that commands print (docs/schemas): it increases when a field is removed or
// changes its meaning.
inline constexpr int kDocumentSchema = 1;

class Console {
 public:
  Console() : out_(Terminal::of(1)), progress_(Terminal::of(2)), shows_progress_(progress_.on_terminal) {}

  OutputFormat output = OutputFormat::text;
  std::stop_token stop;  // requested by Ctrl-C or SIGTERM
  int stop_fd = -1;      // readable once a stop is requested

  const Terminal& out() const { return out_; }
  const Terminal& progress() const { return progress_; }
  bool is_text() const { return output == OutputFormat::text; }

  void print(std::string_view text) const;
  // Prints text for another program unchanged: its own function has already escaped it
  // (reconciler/report/escape.hpp).
  void print_format(std::string_view text) const;
  // Adds what every document has: its API and schema versions, and its creation time (UTC).
  nlohmann::json whole(nlohmann::json document) const;
  // One JSON document, whole, as JSON or as YAML.
  void print_document(const nlohmann::json& document) const;
  // Whether the user at the terminal (standard input) answers y or yes; cancelled: a stop was requested
  // first. Any other error: no answer can be read.
  Result<bool> ask(const std::string& question) const;
  // A line that stays (a finished step), and one that the next line overwrites (a step in progress).
  void say(std::string_view line) const;
  void say_passing(std::string_view line) const;

  // The exit code of a command that ends with `code`: kExitError, with the reason on standard error, if some
  // output could not be written (a full disk, a closed pipe), because truncated output must not look like
  // success.
  int end(int code) const;
  // The reader has closed the output (`| head`): further output is discarded.
  bool reader_is_gone() const { return write_error_ == EPIPE; }

  // Prints the error and returns kExitError (kExitIncomplete is up to the caller).
  int fail(const Error& error) const;
  int fail(const Sources& sources, const Diagnostics& diagnostics) const;
  // Ctrl-C came during the observation: no conclusion is drawn from the part that was read. None: it did not.
  std::optional<int> interrupted() const;
  // The command line is invalid: the error's code is "usage".
  int fail_usage(const std::string& mistake) const;
  // Advice after an error; to standard error, as text only.
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

// A closed descriptor 0, 1 or 2 (`>&-`) would be reused for the next opened file, and output would go into
// that file. Replaces each by one that can be neither written nor read.
void hold_standard_descriptors();

}  // namespace lockstep
