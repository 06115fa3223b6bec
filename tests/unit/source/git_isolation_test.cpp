// Nothing of the user's configuration, the environment and the repository is run or followed. Each trap
// creates a file, or leads to another repository; a plain git command shows that they work.
#include <filesystem>
#include <thread>

#include "drivers/posix/program.hpp"
#include "tests/needs.hpp"
#include "tests/unit/source/lab.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using Files = std::map<std::string, std::string>;

class GitIsolation : public GitSourceTest {
 protected:
  GitIsolation() {
    fs::create_directories(traps);
    (void)other.commit({{"a.yaml", "of another repository"}});
    (void)repository.commit(
        {{"a.yaml", "right"}, {".gitattributes", "* filter=trap diff=trap text eol=crlf ident\n"}});
  }

  // A program that leaves a trace.
  std::string trap(const std::string& name) const {
    const std::string file =
        write_text(folder / ("trap-" + name), "#!/bin/sh\ntouch " + traps + "/" + name + "\nexec \"$@\"\n");
    fs::permissions(file, fs::perms::owner_all);
    return file;
  }
  std::string hooks(const std::string& where) const {
    for (const std::string name :
         {"reference-transaction", "post-checkout", "pre-receive", "update", "post-receive", "post-update",
          "post-merge", "pre-auto-gc", "post-index-change", "fsmonitor-watchman"}) {
      write_text(where + "/" + name, "#!/bin/sh\ntouch " + traps + "/hook-" + name + "\n");
      fs::permissions(where + "/" + name, fs::perms::owner_all);
    }
    return where;
  }
  std::string hostile_config() const {
    const std::string templates = folder / "templates";
    (void)hooks(templates + "/hooks");
    return "[core]\n hooksPath = " + hooks(folder / "hooks") + "\n fsmonitor = " + trap("fsmonitor") +
           "\n sshCommand = " + trap("ssh") + "\n askPass = " + trap("askpass") +
           "\n pager = " + trap("pager") +
           "\n attributesFile = " + write_text(folder / "attributes", "* filter=trap\n") +
           "\n alternateRefsCommand = " + trap("alternates") + "\n gitProxy = " + trap("gitproxy") +
           "\n[filter \"trap\"]\n smudge = " + trap("smudge") + " cat\n clean = " + trap("clean") +
           " cat\n process = " + trap("process") + "\n required = true\n[url \"" + other.path() +
           "\"]\n insteadOf = " + repository.path() +
           "\n[uploadpack]\n packObjectsHook = " + trap("packobjects") +
           "\n[credential]\n helper = " + trap("credential") + "\n[init]\n templateDir = " + templates +
           "\n[gpg]\n program = " + trap("gpg") + "\n[gpg \"ssh\"]\n program = " + trap("ssh-keygen") +
           "\n[diff \"trap\"]\n textconv = " + trap("textconv") + "\n command = " + trap("diff") +
           "\n[http]\n proxy = http://127.0.0.1:1\n sslVerify = false\n[log]\n showSignature = true\n";
  }
  void set_hostile_variables() {
    const std::string home = folder / "home";
    write_text(home + "/.gitconfig", hostile_config());
    write_text(home + "/.config/git/config", hostile_config());
    write_text(home + "/.config/git/attributes", "* filter=trap\n");
    for (const auto& [name, value] : std::map<std::string, std::string>{
             {"HOME", home},
             {"XDG_CONFIG_HOME", home + "/.config"},
             {"GIT_CONFIG_SYSTEM", home + "/.gitconfig"},
             {"GIT_CONFIG_GLOBAL", home + "/.gitconfig"},
             {"GIT_CONFIG", home + "/.gitconfig"},
             {"GIT_CONFIG_COUNT", "1"},
             {"GIT_CONFIG_KEY_0", "url." + other.path() + ".insteadOf"},
             {"GIT_CONFIG_VALUE_0", repository.path()},
             {"GIT_CONFIG_PARAMETERS", "'core.hooksPath=" + (folder / "hooks") + "'"},
             {"GIT_DIR", other.path() + "/.git"},
             {"GIT_WORK_TREE", other.path()},
             {"GIT_COMMON_DIR", other.path() + "/.git"},
             {"GIT_INDEX_FILE", folder / "index"},
             {"GIT_OBJECT_DIRECTORY", folder / "objects"},
             {"GIT_ALTERNATE_OBJECT_DIRECTORIES", other.path() + "/.git/objects"},
             {"GIT_NAMESPACE", "none"},
             {"GIT_EXEC_PATH", folder / "hooks"},
             {"GIT_TEMPLATE_DIR", folder / "templates"},
             {"GIT_SSH", trap("git-ssh")},
             {"GIT_SSH_COMMAND", trap("git-ssh-command")},
             {"GIT_ASKPASS", trap("git-askpass")},
             {"SSH_ASKPASS", trap("ssh-askpass")},
             {"GIT_PAGER", trap("git-pager")},
             {"GIT_EDITOR", trap("git-editor")},
             {"GIT_EXTERNAL_DIFF", trap("git-external-diff")},
             {"GIT_PROXY_COMMAND", trap("git-proxy")},
             {"GIT_TRACE", traps + "/trace"},
             {"GIT_TRACE_CURL", traps + "/trace-curl"},
             {"GIT_TRACE2_EVENT", traps + "/trace2"},
             {"GIT_DEFAULT_HASH", "sha256"},
             {"GIT_ALLOW_PROTOCOL", "ext"},
             {"GIT_SHALLOW_FILE", folder / "shallow"},
             {"GIT_REPLACE_REF_BASE", "refs/heads/"},
             {"GIT_SSL_NO_VERIFY", "1"},
             {"LC_ALL", "de_DE.UTF-8"},
             {"http_proxy", "http://127.0.0.1:1"},
             {"ALL_PROXY", "http://127.0.0.1:1"}})
      variables.set(name, value);
  }
  void expect_right() {
    const auto revision = expect_revision(fetched());
    ASSERT_TRUE(revision);
    EXPECT_EQ(files_in(revision->folder->path()).at("a.yaml"), "right");
    EXPECT_EQ(files_in(traps), Files{});
  }

  const std::string traps = folder / "traps";
  const TestRepository other{folder / "other"};
  Variables variables;
};

TEST_F(GitIsolation, TheTrapsWork) {
  const std::string config = write_text(folder / "gitconfig", hostile_config());
  const auto with_traps = [&](std::vector<std::string> words) {
    return run({.name = "git",
                .package = {},
                .words = std::move(words),
                .patience = std::chrono::seconds(20),
                .environment = std::vector<std::string>{"PATH=/usr/bin:/bin", "GIT_CONFIG_GLOBAL=" + config,
                                                        "GIT_CONFIG_NOSYSTEM=1"}});
  };
  (void)with_traps({"clone", "--quiet", "--no-local", repository.path(), folder / "clone"});
  const auto led_to = with_traps({"ls-remote", repository.path(), "refs/heads/main"});
  ASSERT_TRUE(led_to);
  EXPECT_TRUE(led_to->out.starts_with(other.git({"rev-parse", "HEAD"}))) << led_to->out;
  const Files sprung = files_in(traps);
  for (const std::string name : {"packobjects", "hook-reference-transaction"})
    EXPECT_TRUE(sprung.contains(name)) << name << " of " << sprung.size();
}

TEST_F(GitIsolation, FromTheUsersConfigurationAndTheEnvironment) {
  set_hostile_variables();
  expect_right();
}

TEST_F(GitIsolation, FromTheRepository) {
  const std::string git = repository.path() + "/.git";
  (void)hooks(git + "/hooks");
  write_text(git + "/config", "[core]\n repositoryformatversion = 0\n" + hostile_config());
  write_text(git + "/info/attributes", "* filter=trap\n");
  expect_right();
}

// /etc/gitconfig and /etc/gitattributes, in a mount namespace with another /etc.
TEST_F(GitIsolation, FromTheMachinesConfiguration) {
  LOCKSTEP_NEEDS_ROOT("mounts another /etc");
  const std::string etc = folder / "etc";
  write_text(etc + "/gitconfig", hostile_config());
  write_text(etc + "/gitattributes", "* filter=trap\n");
  const auto right = with_other_etc(etc, [&] {
    const auto plain = run({.name = "git",
                            .package = {},
                            .words = {"ls-remote", repository.path(), "refs/heads/main"},
                            .patience = std::chrono::seconds(20)});
    const bool trapped = plain && plain->out.starts_with(other.git({"rev-parse", "HEAD"}));
    const auto outcome = fetched();
    const auto* const revision = std::get_if<Revision>(&outcome);
    return trapped && revision != nullptr && files_in(revision->folder->path()).at("a.yaml") == "right";
  });
  if (!right) LOCKSTEP_NOT_TESTED("the kernel mounts no overlay over /etc here");
  EXPECT_TRUE(*right);
  EXPECT_EQ(files_in(traps), Files{});
}

TEST_F(GitIsolation, ABranchNamedLikeAnOptionIsOnlyABranch) {
  (void)repository.git({"update-ref", "refs/heads/--upload-pack=touch", "HEAD"});
  (void)repository.git({"update-ref", "refs/heads/x/--upload-pack=touch", "HEAD"});
  GitSettings with = settings();
  with.reference.name = "x/--upload-pack=touch";
  EXPECT_TRUE(expect_revision(fetched(with)));
}

// git-replace(1): another object in place of one, wherever it is named.
TEST_F(GitIsolation, ReplacedObjectsAreNotFollowed) {
  const std::string wrong = other.git({"rev-parse", "HEAD"});
  (void)repository.git({"fetch", "--quiet", other.path(), "main"});
  (void)repository.git({"replace", "HEAD", wrong});
  expect_right();
}

TEST_F(GitIsolation, FetchesOnAWorkerThreadWhileOthersStartPrograms) {
  const auto git = source(settings());
  std::optional<Revision> revision;
  {
    std::jthread worker([&] { revision = expect_revision(git->fetch(within(kPatience))); });
    for (int i = 0; i < 20; ++i) EXPECT_EQ(done({"echo", "x"}), "x\n");
  }
  ASSERT_TRUE(revision);
  EXPECT_EQ(processes_with(folder / "cache"), std::vector<std::string>{});
}

}  // namespace
}  // namespace lockstep
