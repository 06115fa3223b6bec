#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "reconciler/cli/command_words.hpp"
#include "said.hpp"

namespace lockstep {
namespace {

TEST(CommandLine, InvalidOptionValueListsTheValidOnes) {
  const Answer said = say({"topology", ".", "-o", "xml"});
  EXPECT_EQ(said.code, 1);
  EXPECT_NE(said.err.find("'xml' is not one of dot, svg, text"), std::string::npos) << said.err;
}

TEST(CommandLine, NamesAMisspeltCommand) {
  const Answer said = say({"aply"});
  EXPECT_EQ(said.code, 1);
  EXPECT_NE(said.err.find("there is no command 'aply'"), std::string::npos) << said.err;
}

TEST(CommandLine, ListsSubcommandsForAMisspeltOne) {
  const Answer said = say({"twin", "frob"});
  EXPECT_EQ(said.code, 1);
  EXPECT_NE(said.err.find("there is no command 'twin frob'; there are twin up, twin down, "),
            std::string::npos)
      << said.err;
}

TEST(CommandLine, UsageErrorIsAnErrorObjectWithJsonOutput) {
  const Answer said = say({"validate", "-o", "json", "--bogus"});
  EXPECT_EQ(said.code, 1);
  EXPECT_NE(said.out.find("\"kind\": \"Error\""), std::string::npos) << said.out;
  EXPECT_NE(said.out.find("--bogus"), std::string::npos) << said.out;
  EXPECT_NE(said.out.find("\"code\": \"usage\""), std::string::npos) << said.out;
  const std::string pod = LOCKSTEP_SOURCE_DIR "/examples/rail-pod";
  const std::vector<std::vector<std::string>> mistakes{{"plan", pod, "--only", "gpu99"},
                                                       {"explain", "LS9999"},
                                                       {"twin", "break", pod},
                                                       {"drift", pod, "--format", "sarif"}};
  for (std::vector<std::string> words : mistakes) {
    words.insert(words.end(), {"-o", "json"});
    const std::string out = say(words).out;
    EXPECT_NE(out.find("\"code\": \"usage\""), std::string::npos) << words[0] << out;
  }
}

// Before devices are observed, which takes long: these specs do not even exist.
TEST(CommandLine, DriftRefusesReportsThatItCannotWrite) {
  for (const char* const report : {"bogus=x", "sarif", "=x", "sarif=", "sarif=/nonexistent/drift.sarif"}) {
    const Answer said = say({"drift", "/nonexistent", "--report", report});
    EXPECT_EQ(said.code, 1) << report;
    EXPECT_NE(said.err.find("--report"), std::string::npos) << report << ": " << said.err;
  }
}

TEST(CommandLine, UsageErrorHasAPrefixAndASuggestion) {
  const Answer option = say({"validate", "--strct"});
  EXPECT_EQ(option.code, 1);
  EXPECT_TRUE(option.err.starts_with("error: ")) << option.err;
  EXPECT_NE(option.err.find("did you mean --strict?"), std::string::npos) << option.err;
  const Answer command = say({"aply", "--help"});
  EXPECT_EQ(command.code, 1) << "the help of another command is no answer";
  EXPECT_NE(command.err.find("did you mean 'apply'?"), std::string::npos) << command.err;
  EXPECT_EQ(say({"agent", "--help"}).code, 1);
}

TEST(CommandLine, HelpAndVersionWorkAsCommandsAndAsOptions) {
  EXPECT_EQ(say({"help", "plan"}).out, say({"plan", "--help"}).out);
  EXPECT_NE(say({"help"}).out.find("Exit codes:\n  0  in sync"), std::string::npos);
  const std::string version = say({"--version"}).out;
  EXPECT_TRUE(version.starts_with("lockstep 0.")) << version;
  EXPECT_NE(version.find(" (commit "), std::string::npos) << version;
  EXPECT_TRUE(say({"version"}).out.starts_with(version.substr(0, version.find('\n')))) << version;
  EXPECT_NE(say({"version", "-o", "json"}).out.find("\"commit\": "), std::string::npos);
  EXPECT_NE(say({"drift", "--help"}).out.find("Example:\n  lockstep drift"), std::string::npos);
  EXPECT_NE(say({"watch", "--help"}).out.find("Edited specs are loaded"), std::string::npos);
  EXPECT_NE(say({"watch", "--help"}).out.find("Ctrl-C is how it ends: exit code 0"), std::string::npos);
  EXPECT_NE(say({"explain", "--help"}).out.find("[SPECS] DEVICE [PATH] | CODE"), std::string::npos);
}

TEST(CommandLine, EveryCommandHasAnExample) {
  const auto commands = [](const std::string& help) {
    std::vector<std::string> out;
    constexpr std::string_view kTitle = "\nSubcommands:\n";
    const std::size_t begin = help.find(kTitle);
    std::istringstream lines(begin == std::string::npos ? "" : help.substr(begin + kTitle.size()));
    for (std::string line; std::getline(lines, line) && line.starts_with("  ");)
      if (line[2] != ' ') out.push_back(line.substr(2, line.find(' ', 2) - 2));
    return out;
  };
  const std::vector<std::string> all = commands(say({"--help"}).out);
  EXPECT_GT(all.size(), 20U) << say({"--help"}).out;
  for (const std::string& one : all) {
    const std::string help = say({one, "--help"}).out;
    EXPECT_NE(help.find("Example:\n  "), std::string::npos) << one;
    for (const std::string& below : commands(help))
      EXPECT_NE(say({one, below, "--help"}).out.find("Example:\n  "), std::string::npos) << one << below;
  }
}

TEST(CommandLine, GenerateCommandIsHidden) {
  EXPECT_EQ(say({"generate", "--help"}).code, 0);
  EXPECT_EQ(say({"--help"}).out.find("generate"), std::string::npos);
  EXPECT_EQ(say({"frob"}).err.find("generate"), std::string::npos);
  EXPECT_EQ(say({"completion", "bash"}).out.find("generate"), std::string::npos);
}

TEST(CommandLine, LinkRateRequiresTwin) {
  const Answer said = say({"plan", "--link-rate", "5Gbps"});
  EXPECT_EQ(said.code, 1);
  EXPECT_NE(said.err.find("--twin"), std::string::npos) << said.err;
}

TEST(CommandLine, TooLowFileLimitIsRefusedAtStart) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit few = before;
  few.rlim_cur = 100;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  const Answer said = say({"drift", LOCKSTEP_SOURCE_DIR "/examples/rail-pod"});
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(said.code, 1);
  EXPECT_EQ(said.err, "error: this process may have 100 files open, and needs 256 (ulimit -n 256)\n");
}

// Errors about option values that only the session detects, not the parser.
TEST(CommandLine, ValueRefusedByTheSessionIsReported) {
  const std::string pod = LOCKSTEP_SOURCE_DIR "/examples/rail-pod";
  const std::vector<std::pair<std::vector<std::string>, std::string>> mistakes{
      {{"plan", pod, "--only", "gpu99"}, "error: --only: no device is called 'gpu99'\n"},
      {{"plan", pod, "--twin", "--link-rate", "0bps"}, "error: a link rate of 0bps carries nothing\n"}};
  for (const auto& [words, text] : mistakes) {
    const Answer said = say(words);
    EXPECT_EQ(said.code, 1) << said.out;
    EXPECT_TRUE(said.err.ends_with(text)) << said.err;
  }
}

TEST(CommandLine, RefusesPlanFileNamesThatApplyTakesForSpecs) {
  const std::string file = ::testing::TempDir() + "lockstep-plan-without-a-suffix";
  const Answer said = say({"plan", LOCKSTEP_SOURCE_DIR "/examples/rail-pod", "--out", file});
  EXPECT_EQ(said.code, 1);
  EXPECT_NE(said.err.find("--out: a plan file's name ends in .json"), std::string::npos) << said.err;
  EXPECT_FALSE(std::filesystem::exists(file));
}

// An unset shell variable must not widen a command's scope.
TEST(CommandLine, RefusesEmptyValues) {
  const std::string pod = "/nowhere/at/all";  // harmless if an empty value is accepted
  const std::vector<std::pair<std::vector<std::string>, std::string>> mistakes{
      {{"twin", "down", "--name", ""}, "--name"},
      {{"twin", "down", "--name=", pod}, "--name"},
      {{"twin", "down", ""}, "SPECS"},
      {{"apply", "--only", "", pod}, "--only"},
      {{"plan", pod, "--only="}, "--only"},
      {{"plan", pod, "--out", ""}, "--out"},
      {{"drift", pod, "--only", ""}, "--only"},
      {{"bench", pod, "--suite", ""}, "--suite"},
      {{"bench", pod, "--only", ""}, "--only"},
      {{"bench", pod, "--report", ""}, "--report"},
      {{"topology", pod, "-o", "svg", "--drift", ""}, "--drift"},
      {{"explain", pod, "gpu1", ""}, "WORDS"},
      {{"validate", pod, ""}, "SPECS"},
      {{"schema", ""}, "KIND"},
      {{"completion", ""}, "SHELL"},
      {{"twin", "break", pod, "mtu", "gpu1", "rail0", ""}, "ARGUMENTS"}};
  for (const auto& [words, name] : mistakes) {
    const Answer said = say(words);
    EXPECT_EQ(said.code, 1) << said.out;
    EXPECT_NE(said.err.find(name + ": the value is empty"), std::string::npos) << name << said.err;
  }
  EXPECT_NE(say({"schema", "", "-o", "json"}).out.find("\"code\": \"usage\""), std::string::npos);
}

TEST(CommandLine, TwinExecPassesOptionsAfterTheDeviceToItsCommand) {
  const auto words = [](std::vector<const char*> given) {
    return command_words(static_cast<int>(given.size()), given.data());
  };
  const std::vector<std::string> want{"lockstep", "twin", "exec", ".", "leaf0", "--", "ip", "-br", "link"};
  EXPECT_EQ(words({"lockstep", "twin", "exec", ".", "leaf0", "ip", "-br", "link"}), want);
  EXPECT_EQ(words({"lockstep", "twin", "exec", ".", "leaf0", "--", "ip", "-br", "link"}), want);
  const std::vector<std::string> emptied{"lockstep", "twin",   "exec", ".",   "leaf0",
                                         "--",       "printf", "",     "--a="};
  EXPECT_EQ(words({"lockstep", "twin", "exec", ".", "leaf0", "printf", "", "--a="}), emptied);
}

TEST(Topology, SortsDevicesByNumber) {
  const Answer said = say({"topology", LOCKSTEP_SOURCE_DIR "/examples/big-pod"});
  EXPECT_NE(said.out.find("  gpu[1-64]  "), std::string::npos) << said.out;
  EXPECT_EQ(said.out.find("gpu[1,10"), std::string::npos) << said.out;
}

TEST(Discover, ObservesThisMachineWithoutSpecs) {
  const Answer said = say({"discover", "-o", "json"});
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_NE(said.out.find("\"name\": \"lo\""), std::string::npos) << said.out;
  EXPECT_EQ(said.out.find("\"cluster\""), std::string::npos) << said.out;
}

TEST(Discover, ReportsTheDevicesOfSpecsThatAreUnreachable) {
  const Answer said = say({"discover", LOCKSTEP_SOURCE_DIR "/examples/rail-pod"});
  EXPECT_EQ(said.code, 3);
  EXPECT_NE(said.err.find("not observed: gpu[1-4],leaf[0-1],spine[0-1]: unreachable from this machine"),
            std::string::npos)
      << said.err;
}

TEST(Discover, RefusesOptionsOfOtherCommands) {
  for (const char* const option : {"--renumber", "--link-rate=5Gbps"}) {
    const Answer said = say({"discover", "--twin", "/nowhere/at/all", option});
    EXPECT_EQ(said.code, 1);
    EXPECT_NE(said.err.find("not expected: " + std::string(option)), std::string::npos) << said.err;
  }
}

TEST(TwinBreak, ListsFaultsOrMakesOne) {
  const std::string pod = LOCKSTEP_SOURCE_DIR "/examples/rail-pod";
  const Answer both = say({"twin", "break", "--list", pod, "mtu", "gpu1", "rail0"});
  EXPECT_EQ(both.code, 1);
  EXPECT_NE(both.err.find("FAULT excludes --list"), std::string::npos) << both.err;
  EXPECT_EQ(say({"twin", "break", pod, "--list"}).out, say({"twin", "break", "--list"}).out);
}

TEST(Discover, DraftIsYaml) {
  const Answer said = say({"discover", "--draft", "-o", "json"});
  EXPECT_EQ(said.code, 1);
  EXPECT_NE(said.out.find("\"code\": \"usage\""), std::string::npos) << said.out;
  EXPECT_EQ(say({"discover", "--draft", "-o", "yaml"}).code, 0);
}

TEST(Discover, ReportsAMissingTwinAsPlanDoes) {
  const std::string pod = LOCKSTEP_SOURCE_DIR "/tests/cases/compile/inventory";
  const Answer said = say({"discover", "--twin", pod});
  EXPECT_EQ(said.code, 1);
  EXPECT_NE(said.err.find("the twin of "), std::string::npos) << said.err;
  EXPECT_EQ(said.err, say({"plan", "--twin", pod}).err);
}

class NoDevices : public ::testing::Test {
 protected:
  NoDevices() {
    std::string pattern = (std::filesystem::temp_directory_path() / "lockstep-none-XXXXXX").string();
    folder = mkdtemp(pattern.data());
    std::ofstream(folder + "/cluster.yaml")
        << "apiVersion: lockstep.dev/v1alpha1\nkind: Cluster\nmetadata: {name: bare}\nspec: {}\n";
  }
  ~NoDevices() override { std::filesystem::remove_all(folder); }

  std::string folder;
  const std::string none = "the specs name no device: there is no DeviceSet\n";
};

TEST_F(NoDevices, IsReportedByEveryCommandThatReadsSpecs) {
  const Answer validated = say({"validate", folder});
  EXPECT_EQ(validated.code, 0);
  EXPECT_EQ(validated.out, "bare: valid; " + none);
  for (const char* const picture : {"text", "dot", "svg"}) {
    const Answer drawn = say({"topology", "-o", picture, folder});
    EXPECT_EQ(drawn.code, 1);
    EXPECT_EQ(drawn.err, "error: " + none);
    EXPECT_EQ(drawn.out, "");
  }
  EXPECT_EQ(say({"discover", "--twin", folder}).err, "error: " + none);
  EXPECT_EQ(say({"plan", folder}).err, "error: " + none);
}

TEST(VerbsProbe, AnswersHelp) {
  const Answer said = say({"verbs-probe", "--help"});
  EXPECT_EQ(said.code, 0);
  EXPECT_NE(said.out.find("Usage: lockstep verbs-probe ORDER"), std::string::npos) << said.out;
}

TEST(TwinDown, WithoutSpecsPointsToTwinList) {
  const Answer said = say({"twin", "down", "/nowhere/at/all"});
  EXPECT_EQ(said.code, 1);
  EXPECT_NE(said.err.find("`lockstep twin list` names the twins"), std::string::npos) << said.err;
}

TEST(TwinDown, UnknownTwinNameIsAnError) {
  const Answer said = say({"twin", "down", "--name", "nosuchtwin000000"});
  EXPECT_EQ(said.code, 1);
  EXPECT_NE(said.err.find(geteuid() == 0 ? "no twin is called nosuchtwin000000" : "by root"),
            std::string::npos)
      << said.err;
  EXPECT_EQ(say({"twin", "down", "--name", "../../etc"}).code, 1);
}

// Runs in its own process, because a failed write to standard output is reported when the process ends.
[[noreturn]] void run_with_output(const char* file, std::vector<std::string> words) {
  words.insert(words.begin(), "lockstep");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  close(STDOUT_FILENO);
  if (file != nullptr) open(file, O_WRONLY);
  std::exit(run_command_line(static_cast<int>(argv.size()), argv.data()));
}

TEST(CommandLineDeathTest, FailedWriteOfOutputIsAnError) {
  const std::string pod = LOCKSTEP_SOURCE_DIR "/examples/rail-pod";
  const char* const full = "error: can't write the output: No space left on device";
  const auto failed = testing::ExitedWithCode(1);
  EXPECT_EXIT(run_with_output("/dev/full", {"schema"}), failed, full);
  EXPECT_EXIT(run_with_output("/dev/full", {"validate", pod}), failed, full);
  EXPECT_EXIT(run_with_output("/dev/full", {"topology", pod, "-o", "svg"}), failed, full);
  EXPECT_EXIT(run_with_output("/dev/full", {"--help"}), failed, full);
  EXPECT_EXIT(run_with_output(nullptr, {"validate", pod}), failed, "error: can't write the output: Bad file");
}

// As in `| head -1`, after head has read its line and ended.
[[noreturn]] void run_without_reader(std::vector<std::string> words) {
  int ends[2];
  if (pipe(ends) != 0) std::abort();
  close(ends[0]);
  run_with_output(("/proc/self/fd/" + std::to_string(ends[1])).c_str(), std::move(words));
}

TEST(CommandLineDeathTest, BrokenPipeEndsSilentlyAndByNoSignal) {
  const std::string pod = LOCKSTEP_SOURCE_DIR "/examples/rail-pod";
  const auto silent = testing::ExitedWithCode(128 + SIGPIPE);
  EXPECT_EXIT(run_without_reader({"schema"}), silent, "^$");
  EXPECT_EXIT(run_without_reader({"topology", pod}), silent, "^$");
  EXPECT_EXIT(run_without_reader({"twin", "break", "--list"}), silent, "^$");
}

TEST(CommandLineDeathTest, WatchEndsOnABrokenPipe) {
  const std::string host = LOCKSTEP_SOURCE_DIR "/examples/one-host";
  const auto ended = testing::ExitedWithCode(128 + SIGPIPE);
  EXPECT_EXIT(run_without_reader({"watch", host}), ended, "");
  EXPECT_EXIT(run_without_reader({"watch", "-o", "json", host}), ended, "");
}

}  // namespace
}  // namespace lockstep
