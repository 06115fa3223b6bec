// What a terminal receives of hostile text: a pseudo-terminal replaces standard output and error, and the
// test reads what arrives at its other end.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <regex>
#include <stdexcept>

#include "reconciler/cli/console.hpp"
#include "reconciler/report/plan_text.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

// Erases its line and the one above, conceals text, returns the carriage, rings the bell, sets the title, and
// starts a workflow command.
const std::string kHostile =
    "1\x1b[1A\x1b[2K\x1b[8m\r\n::error::forged\x07\x1b]0;x\x07\xc2\x9b"
    "2J\xe2\x80\xae\xff\x7f##[error]x";

class OnATerminal : public ::testing::Test {
 protected:
  OnATerminal() : person_(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
    if (person_ < 0 || ::grantpt(person_) != 0 || ::unlockpt(person_) != 0)
      throw std::runtime_error("no pseudo-terminal");
    const int terminal = ::open(::ptsname(person_), O_RDWR | O_NOCTTY | O_CLOEXEC);
    termios raw{};
    ::tcgetattr(terminal, &raw);
    ::cfmakeraw(&raw);
    ::tcsetattr(terminal, TCSANOW, &raw);
    std::fflush(stdout);
    for (const int number : {STDOUT_FILENO, STDERR_FILENO}) {
      before_[number] = ::dup(number);
      ::dup2(terminal, number);
    }
    ::close(terminal);
    ::setenv("TERM", "xterm", 1);
    ::unsetenv("NO_COLOR");
  }
  ~OnATerminal() override {
    restore();
    ::close(person_);
  }
  void restore() {
    std::fflush(stdout);
    for (const int number : {STDOUT_FILENO, STDERR_FILENO}) {
      if (before_[number] < 0) continue;
      ::dup2(before_[number], number);
      ::close(before_[number]);
      before_[number] = -1;
    }
  }
  // Restores the standard descriptors, and returns all that was printed.
  std::string printed() {
    std::fputs("END", stdout);
    restore();
    std::string all;
    std::array<char, 4096> room{};
    while (!all.ends_with("END")) {
      const ssize_t got = ::read(person_, room.data(), room.size());
      if (got <= 0) break;
      all.append(room.data(), static_cast<std::size_t>(got));
    }
    return all.substr(0, all.size() - 3);
  }

  int person_;
  int before_[3] = {-1, -1, -1};
};

// Allows printable ASCII, line breaks, the few symbols of reports (arrow, ellipsis, check mark, cross), the
// program's colours and clearing of a progress line; everything else is a failure.
void expect_only_ours(const std::string& text) {
  const std::regex ours("\x1b\\[(0|1|2|31|32|33|34|36)m|\r\x1b\\[K|→|…|✓|×");
  const std::string rest = std::regex_replace(text, ours, "");
  for (const char c : rest)
    EXPECT_TRUE((c >= 0x20 && c < 0x7f) || c == '\n')
        << static_cast<int>(static_cast<unsigned char>(c)) << " in " << rest;
  EXPECT_FALSE(std::regex_search(rest, std::regex("(^|\n)\\s*::"))) << rest;
  EXPECT_EQ(rest.find("##["), std::string::npos) << rest;
}

Plan plan_with(const std::string& observed) {
  Plan plan;
  Step step;
  step.id = 1;
  step.device = "gpu1";
  step.driver = "linux";
  for (const char* const sysctl : {"net.core.bpf_jit_harden", "net.ipv4.ip_forward"})
    step.changes.push_back({Path(row("sysctl[*]"), {sysctl}), Value::text(observed),
                            Value::text(sysctl[4] == 'c' ? "0" : "1"), 0});
  plan.steps.push_back(std::move(step));
  return plan;
}

TEST_F(OnATerminal, ObservedValueCannotHideARowOfThePlan) {
  const Console console;
  ASSERT_TRUE(console.out().colour);
  console.print(plan_text(plan_with(kHostile), console.out()));
  console.print("pod: " + plan_summary(plan_with(kHostile)) + "\n");
  const std::string text = printed();
  expect_only_ours(text);
  for (const char* const row : {"sysctl[net.core.bpf_jit_harden]", "sysctl[net.ipv4.ip_forward]"}) {
    const std::size_t at = text.find(row);
    ASSERT_NE(at, std::string::npos) << text;
    const std::string line = text.substr(at, text.find('\n', at) - at);
    EXPECT_NE(line.find("1\\x1b[1A\\x1b[2K"), std::string::npos) << line;
    EXPECT_TRUE(std::regex_search(line, std::regex("→ [01]  .*gpu1"))) << line;
  }
}

TEST_F(OnATerminal, ErrorsNotesAndProgressAreEscaped) {
  const Console console;
  console.fail(Error{ErrorKind::refused, kHostile});
  console.fail(wrap(kHostile, Error{ErrorKind::refused, kHostile}));
  console.fail_usage("no such file: " + kHostile);
  console.note(kHostile);
  console.say(kHostile);
  console.say_passing(kHostile);
  console.print(kHostile);
  Sources sources;
  Diagnostic wrong;
  wrong.code = "LS0001";
  wrong.at = {sources.add(kHostile, kHostile + "\n"), 1, 3};
  wrong.message = kHostile;
  wrong.hint = kHostile;
  wrong.related.push_back({wrong.at, kHostile});
  console.fail(sources, {wrong});
  expect_only_ours(printed());
}

TEST_F(OnATerminal, DocumentsAreEscaped) {
  Console console;
  for (const OutputFormat form : {OutputFormat::json, OutputFormat::yaml}) {
    console.output = form;
    console.fail(Error{ErrorKind::refused, kHostile});
    console.print_document({{kHostile, {kHostile, {{kHostile, kHostile}}}}});
  }
  expect_only_ours(printed());
}

}  // namespace
}  // namespace lockstep
