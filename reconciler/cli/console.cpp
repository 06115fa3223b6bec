#include "reconciler/cli/console.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>
#include <system_error>

#include "drivers/posix/wait.hpp"
#include "reconciler/report/escape.hpp"
#include "reconciler/store/utc_text.hpp"
#include "specs/language/api_version.hpp"
#include "specs/language/excerpt.hpp"
#include "specs/model/printable.hpp"

namespace lockstep {
namespace {

void write_error(const std::string& text) {
  const std::string safe = report_text(text);
  std::fwrite(safe.data(), 1, safe.size(), stderr);
}

// Overwrites the current line: "\r\x1b[K" goes to its beginning and clears it (ECMA-48, 8.3.41).
void write_progress(std::string_view line) {
  const std::string text = "\r\x1b[K" + report_text(line);
  std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace

void Console::print(std::string_view text) const { print_format(report_text(text)); }

void Console::print_format(std::string_view text) const {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return;
  if (write_error_ == 0) write_error_ = errno;
}

int Console::end(int code) const {
  if (write_error_ == 0) return code;
  // As `| head` expects: no message, and the status that a shell gives a program that ends by SIGPIPE.
  constexpr int kEndedBySignal = 128;
  if (reader_is_gone()) return kEndedBySignal + SIGPIPE;
  const std::string text = progress_.paint(Ink::red, "error: ") +
                           "can't write the output: " + std::generic_category().message(write_error_) + "\n";
  write_error(text);
  return kExitError;
}

nlohmann::json Console::whole(nlohmann::json document) const {
  if (!document.contains("kind")) return document;  // a JSON Schema
  document["apiVersion"] = api_version;
  document["schemaVersion"] = kDocumentSchema;
  document["time"] = utc_text(std::chrono::system_clock::now());
  return document;
}

void Console::print_document(const nlohmann::json& document) const {
  const nlohmann::json printed = whole(document);
  print_format(output == OutputFormat::yaml ? yaml_text(printed) : json_text(printed, 2));
}

Result<bool> Console::ask(const std::string& question) const {
  print(question + " [y/N] ");
  if (Result<Done> answered = wait_for(STDIN_FILENO, POLLIN, Call{.stop = stop, .wake_fd = stop_fd});
      !answered) {
    print("\n");
    if (answered.error().kind == ErrorKind::cancelled)
      return Error{ErrorKind::cancelled, "interrupted at the question"};
    return wrap("can't wait for the answer", std::move(answered.error()));
  }
  // A terminal delivers a whole line (termios(3), canonical mode), or nothing at its end.
  std::array<char, 256> room{};
  const ssize_t got = ::read(STDIN_FILENO, room.data(), room.size());
  if (got < 0)
    return Error{ErrorKind::refused, "can't read the answer: " + std::generic_category().message(errno)};
  std::string_view answer(room.data(), static_cast<std::size_t>(got));
  if (answer.ends_with('\n')) answer.remove_suffix(1);
  return answer == "y" || answer == "yes";
}

void Console::say(std::string_view line) const {
  if (!shows_progress_) return;
  write_progress(line);
  write_error("\n");
}

void Console::say_passing(std::string_view line) const {
  if (!shows_progress_) return;
  write_progress(line);
  std::fflush(stderr);
}

int Console::fail_as(std::string_view code, const std::string& message) const {
  if (is_text()) {
    write_error(progress_.paint(Ink::red, "error: ") + message + "\n");
  } else {
    print_document(nlohmann::json{{"kind", "Error"}, {"errors", {{{"code", code}, {"message", message}}}}});
  }
  return kExitError;
}

int Console::fail(const Error& error) const {
  return fail_as(to_string(error.kind), printable(error.text()));
}

std::optional<int> Console::interrupted() const {
  if (!stop.stop_requested()) return std::nullopt;
  return fail(Error{ErrorKind::cancelled, "interrupted while observing: what was read so far is discarded"});
}

int Console::fail_usage(const std::string& mistake) const { return fail_as("usage", mistake); }

int Console::fail(const Sources& sources, const Diagnostics& diagnostics) const {
  if (is_text()) {
    const std::string text = excerpts(diagnostics, sources, progress_.colour ? Colour::on : Colour::off);
    write_error(text);
  } else {
    print_document(error_report(diagnostics, sources));
  }
  return kExitError;
}

void Console::note(std::string_view line) const {
  if (!is_text()) return;
  write_error(std::string(line) + "\n");
}

void Console::warn(const Sources& sources, const Diagnostics& diagnostics) const {
  if (!is_text() || diagnostics.empty()) return;
  const std::string text = excerpts(diagnostics, sources, progress_.colour ? Colour::on : Colour::off);
  write_error(text);
}

void hold_standard_descriptors() {
  for (const int descriptor : {0, 1, 2}) {
    if (fcntl(descriptor, F_GETFD) >= 0) continue;
    // open() uses the lowest free descriptor (open(2)), which is this one; without /dev/null it stays closed.
    [[maybe_unused]] const int held = open("/dev/null", descriptor == 1 ? O_RDONLY : O_WRONLY);
  }
}

}  // namespace lockstep
