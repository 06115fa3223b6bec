// What a fetch returns, from repositories of this machine: branches, tags, commits, folders, and what happens
// when they change.
#include <unistd.h>

#include <filesystem>
#include <set>

#include "tests/needs.hpp"
#include "tests/unit/source/lab.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using Files = std::map<std::string, std::string>;
using enum GitReference::Kind;

class GitFetch : public GitSourceTest {
 protected:
  GitSettings of(GitReference::Kind kind, const std::string& name) const {
    GitSettings out = settings();
    out.reference = {kind, name};
    return out;
  }
  // The folders in the cache.
  std::set<std::string> cached() const {
    std::set<std::string> out;
    for (const auto& entry : fs::directory_iterator(folder / "cache")) out.insert(entry.path().string());
    return out;
  }
};

TEST_F(GitFetch, ReturnsExactlyTheFilesOfTheCommit) {
  const Files files{{"cluster.yaml", "a: 1\r\nb\n"},
                    {"empty.yaml", ""},
                    {"deep/er/inventory.csv", std::string("\0\xff\n", 3)},
                    {"with space/\xc3\xa9.yaml", "no newline"},
                    {".gitattributes", "* text eol=crlf ident export-ignore\n"},
                    {"id.txt", "$Id$\n"},
                    {"allocations.lock", "{}\n"}};
  const std::string id = repository.commit_as_they_are(files, "First line\nsecond\n\nbody");
  const auto revision = expect_revision(fetched());
  ASSERT_TRUE(revision);
  EXPECT_EQ(revision->id, id);
  EXPECT_EQ(revision->author, "Ada <ada@example.org>");
  EXPECT_EQ(revision->subject, "First line");
  EXPECT_EQ(revision->signer, "");
  EXPECT_EQ(revision->made, done({"date", "-u", "-d", "@" + repository.git({"log", "-1", "--format=%ct"}),
                                  "+%Y-%m-%dT%H:%M:%SZ"})
                                .substr(0, 20));
  EXPECT_EQ(files_in(revision->folder->path()), files);
  for (const auto& entry : fs::recursive_directory_iterator(revision->folder->path()))
    EXPECT_EQ(entry.status().permissions() & (fs::perms::group_all | fs::perms::others_all), fs::perms::none);
}

TEST_F(GitFetch, AuthorAndSubjectAreSafeToShow) {
  (void)repository.commit({{"a", "1"}}, "red \x1b[31m \xe2\x80\xae flipped " + std::string(3000, 'x'),
                          {"--author=Eve\x1b]0; <e\x07@example.org>"});
  const auto revision = expect_revision(fetched());
  ASSERT_TRUE(revision);
  EXPECT_EQ(revision->author, "Eve\\x1b]0 <e\\x07@example.org>");
  EXPECT_TRUE(revision->subject.starts_with("red \\x1b[31m \\u{202e} flipped xxx")) << revision->subject;
  EXPECT_LT(revision->subject.size(), 1000U);
}

TEST_F(GitFetch, ReturnsTheFolderOfTheSpecsAlone) {
  (void)repository.commit(
      {{"specs/a.yaml", "a"}, {"specs/sub/b.yaml", "b"}, {"specs-old/c.yaml", "c"}, {"d", "d"}});
  GitSettings in = settings();
  in.path = "specs";
  const auto revision = expect_revision(fetched(in));
  ASSERT_TRUE(revision);
  EXPECT_EQ(files_in(revision->folder->path()), (Files{{"a.yaml", "a"}, {"sub/b.yaml", "b"}}));
  in.path = "specs/sub";
  EXPECT_EQ(files_in(expect_revision(fetched(in))->folder->path()), (Files{{"b.yaml", "b"}}));
  for (const std::string missing : {"spec", "sp*", ":(glob)**", "d/x"}) {
    in.path = missing;
    EXPECT_NE(expect_trouble(fetched(in), SourceTrouble::not_found).find("is not in commit"),
              std::string::npos);
  }
  in.path = "d";
  EXPECT_NE(expect_trouble(fetched(in), SourceTrouble::not_found).find("is a file"), std::string::npos);
}

TEST_F(GitFetch, FindsBranchesTagsAndCommitsByTheirExactName) {
  const std::string first = repository.commit({{"a", "first"}});
  (void)repository.git({"tag", "light"});
  (void)repository.git({"tag", "-a", "-m", "annotated", "heavy"});
  (void)repository.git({"tag", "-a", "-m", "a tag of a tag", "nested", "heavy"});
  const std::string second = repository.commit({{"a", "second"}});
  (void)repository.git({"branch", "heavy"});
  (void)repository.git({"branch", "x/refs/heads/gone"});
  for (const auto& [reference, id] :
       std::map<std::string, std::string>{{"main", second}, {"heavy", second}, {"x/refs/heads/gone", second}})
    EXPECT_EQ(expect_revision(fetched(of(branch, reference)))->id, id) << reference;
  for (const std::string name : {"light", "heavy", "nested"})
    EXPECT_EQ(expect_revision(fetched(of(tag, name)))->id, first) << name;
  for (const std::string& id : {first, second}) EXPECT_EQ(expect_revision(fetched(of(commit, id)))->id, id);
  for (const auto& [kind, name] : {std::pair{branch, "light"}, std::pair{branch, "gone"},
                                   std::pair{branch, "HEAD"}, std::pair{tag, "main"}})
    (void)expect_trouble(fetched(of(kind, name)), SourceTrouble::not_found);
  (void)expect_trouble(fetched(of(commit, std::string(40, '1'))), SourceTrouble::not_found);
}

TEST_F(GitFetch, RefusesWhatIsNoCommit) {
  const std::string id = repository.commit({{"a", "1"}});
  const std::string tree = repository.git({"rev-parse", id + "^{tree}"});
  const std::string blob = repository.git({"rev-parse", id + ":a"});
  (void)repository.git({"tag", "of-tree", tree});
  (void)repository.git({"tag", "-a", "-m", "x", "of-blob", blob});
  (void)repository.git({"tag", "-a", "-m", "x", "of-commit", id});
  const std::string tag_object = repository.git({"rev-parse", "of-commit"});
  for (const GitSettings& one :
       {of(tag, "of-tree"), of(tag, "of-blob"), of(commit, tree), of(commit, blob), of(commit, tag_object)})
    EXPECT_NE(expect_trouble(fetched(one), SourceTrouble::not_found), "");
}

TEST_F(GitFetch, ReturnsAnUnchangedCommitFromTheCache) {
  (void)repository.commit({{"a", "1"}});
  const auto git = source(settings());
  const auto first = expect_revision(git->fetch(within(kPatience)));
  ASSERT_TRUE(first);
  EXPECT_EQ(cached(), (std::set<std::string>{first->folder->path()})) << "only the revision is left";
  const auto again = expect_revision(git->fetch(within(kPatience)));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->folder, first->folder);
  EXPECT_EQ(again->subject, first->subject);
}

TEST_F(GitFetch, KnowsAnUnchangedTag) {
  (void)repository.commit({{"a", "1"}});
  (void)repository.git({"tag", "-a", "-m", "annotated", "v1"});
  const auto git = source(of(tag, "v1"));
  const auto first = expect_revision(git->fetch(within(kPatience)));
  EXPECT_EQ(expect_revision(git->fetch(within(kPatience)))->folder, first->folder);
  const std::string second = repository.commit({{"a", "2"}});
  (void)repository.git({"tag", "-a", "-f", "-m", "moved", "v1"});
  EXPECT_EQ(expect_revision(git->fetch(within(kPatience)))->id, second);
}

TEST_F(GitFetch, FollowsABranchThatWasForced) {
  const std::string base = repository.commit({{"a", "1"}});
  (void)repository.commit({{"a", "2"}, {"b", "2"}});
  const auto git = source(settings());
  const auto before = expect_revision(git->fetch(within(kPatience)));
  (void)repository.git({"reset", "--quiet", "--hard", base});
  const std::string other = repository.commit({{"a", "3"}});
  const auto after = expect_revision(git->fetch(within(kPatience)));
  ASSERT_TRUE(before && after);
  EXPECT_EQ(after->id, other);
  EXPECT_EQ(files_in(after->folder->path()), (Files{{"a", "3"}}));
  EXPECT_EQ(files_in(before->folder->path()), (Files{{"a", "2"}, {"b", "2"}})) << "what was returned stays";
  (void)repository.git({"reset", "--quiet", "--hard", base});
  EXPECT_EQ(expect_revision(git->fetch(within(kPatience)))->id, base) << "also back";
}

TEST_F(GitFetch, ReportsADeletedBranchAndKeepsWhatWasReturned) {
  const std::string id = repository.commit({{"a", "1"}});
  (void)repository.git({"branch", "live"});
  const auto git = source(of(branch, "live"));
  const auto before = expect_revision(git->fetch(within(kPatience)));
  ASSERT_TRUE(before);
  (void)repository.git({"branch", "-D", "live"});
  const std::string text = expect_trouble(git->fetch(within(kPatience)), SourceTrouble::not_found);
  EXPECT_NE(text.find("branch live"), text.npos) << text;
  EXPECT_EQ(files_in(before->folder->path()), (Files{{"a", "1"}}));
  (void)repository.git({"branch", "live"});
  EXPECT_EQ(expect_revision(git->fetch(within(kPatience)))->id, id);
}

TEST_F(GitFetch, RemovesAFolderWithTheLastOfItsOwners) {
  (void)repository.commit({{"a", "1"}});
  auto git = source(settings());
  auto first = expect_revision(git->fetch(within(kPatience)));
  const std::string path = first->folder->path();
  (void)repository.commit({{"a", "2"}});
  auto second = expect_revision(git->fetch(within(kPatience)));
  EXPECT_TRUE(fs::exists(path));
  first.reset();
  EXPECT_FALSE(fs::exists(path));
  git.reset();
  EXPECT_EQ(files_in(second->folder->path()), (Files{{"a", "2"}})) << "a revision outlives its source";
  second.reset();
  EXPECT_EQ(cached(), std::set<std::string>{});
}

TEST_F(GitFetch, AnotherSourceOnTheSameCacheRemovesNothingInUse) {
  (void)repository.commit({{"a", "1"}});
  const auto git = source(settings());
  const auto revision = expect_revision(git->fetch(within(kPatience)));
  const std::string leftover = folder / "cache/fetched-aaaaaa";
  write_text(leftover + "/repository/objects/x.lock", "left by a process that was killed");
  const std::string foreign = write_text(folder / "cache/notes.txt", "not ours");
  const auto other = source(settings());
  EXPECT_FALSE(fs::exists(leftover));
  EXPECT_TRUE(fs::exists(foreign));
  EXPECT_EQ(files_in(revision->folder->path()), (Files{{"a", "1"}}));
}

TEST_F(GitFetch, ReadsRepositoriesOfSha256) {
  const TestRepository longer(folder / "longer", {"--object-format=sha256"});
  const std::string id = longer.commit({{"a", "1"}});
  ASSERT_EQ(id.size(), 64U);
  GitSettings from = settings();
  from.address = longer.path();
  EXPECT_EQ(expect_revision(fetched(from))->id, id);
  from.reference = {commit, id};
  EXPECT_EQ(expect_revision(fetched(from))->id, id);
}

TEST_F(GitFetch, FetchesOneCommitAndNotItsHistory) {
  // Without depth 1 the history would be more than the limit.
  const std::string large = done({"head", "-c", "300000", "/dev/urandom"});
  (void)repository.commit({{"a", large}});
  (void)repository.commit({{"a", "small"}});
  GitSettings limited = settings();
  limited.max_bytes = 100'000;
  EXPECT_EQ(files_in(expect_revision(fetched(limited))->folder->path()), (Files{{"a", "small"}}));
}

TEST_F(GitFetch, ReportsWhatIsNoRepository) {
  GitSettings other = settings();
  other.address = folder / "nothing";
  EXPECT_NE(expect_trouble(fetched(other), SourceTrouble::not_found).find("repository was not found"),
            std::string::npos);
  fs::create_directories(folder / "plain");
  other.address = folder / "plain";
  (void)expect_trouble(fetched(other), SourceTrouble::not_found);
  other.address = write_text(folder / "file", "text");
  (void)expect_trouble(fetched(other), SourceTrouble::not_found);
  EXPECT_NE(expect_trouble(fetched(), SourceTrouble::not_found).find("branch main"), std::string::npos)
      << "a repository without commits";
}

TEST_F(GitFetch, ReportsARepositoryThatCanNotBeRead) {
  const std::string id = repository.commit({{"a", "1"}, {"b", std::string(5000, 'x')}});
  const std::string blob = repository.git({"rev-parse", id + ":b"});
  const std::string file = repository.path() + "/.git/objects/" + blob.substr(0, 2) + "/" + blob.substr(2);
  fs::permissions(file, fs::perms::owner_write, fs::perm_options::add);
  write_text(file, "not an object");
  const auto outcome = fetched();
  ASSERT_TRUE(std::holds_alternative<SourceError>(outcome));
  fs::remove(file);
  ASSERT_TRUE(std::holds_alternative<SourceError>(fetched()));
}

TEST_F(GitFetch, ReportsWhatIsWrongOnThisMachine) {
  (void)repository.commit({{"a", "1"}});
  GitSettings no_cache = settings();
  no_cache.cache = write_text(folder / "file", "") + "/cache";
  (void)expect_trouble(fetched(no_cache), SourceTrouble::local);
  GitSettings no_signers = settings();
  no_signers.allowed_signers_file = folder / "none";
  EXPECT_NE(expect_trouble(fetched(no_signers), SourceTrouble::local).find("signersFile"), std::string::npos);
  Variables variables;
  fs::create_directories(folder / "bin");
  fs::create_symlink("/usr/bin/prlimit", folder / "bin/prlimit");
  variables.set("PATH", folder / "bin");
  const std::string text = expect_trouble(fetched(), SourceTrouble::local);
  EXPECT_NE(text.find("install git"), text.npos) << text;
}

TEST_F(GitFetch, NeedsSshAndSshKeygenOnlyWhereTheyAreUsed) {
  (void)repository.commit({{"a", "1"}});
  GitSettings over_ssh{.address = "ssh://git.invalid/x", .cache = folder / "cache"};
  over_ssh.ssh_key_file = write_text(folder / "key", "");
  over_ssh.ssh_known_hosts_file = write_text(folder / "known_hosts", "");
  GitSettings with_signers = settings();
  with_signers.allowed_signers_file = write_text(folder / "signers", "");
  std::string signed_commit = repository.git({"cat-file", "commit", "HEAD"}) + "\n";
  signed_commit.insert(signed_commit.find("\n\n"),
                       "\ngpgsig -----BEGIN SSH SIGNATURE-----\n AAAA\n -----END SSH SIGNATURE-----");
  const std::string id = repository.git({"hash-object", "-w", "-t", "commit", "--stdin"}, signed_commit);
  (void)repository.git({"update-ref", "refs/heads/main", id});
  fs::create_directories(folder / "bin");
  for (const std::string name : {"git", "prlimit", "sh"})
    fs::create_symlink("/usr/bin/" + name, folder / ("bin/" + name));
  Variables variables;
  variables.set("PATH", folder / "bin");
  EXPECT_TRUE(expect_revision(fetched()));
  for (const GitSettings& one : {over_ssh, with_signers}) {
    const std::string text = expect_trouble(fetched(one), SourceTrouble::local);
    EXPECT_NE(text.find("install openssh-client"), text.npos) << text;
  }
}

// As a forge signs its merges.
TEST_F(GitFetch, SaysThatOnlySshSignaturesAreVerified) {
  (void)repository.commit({{"a", "1"}});
  GitSettings with = settings();
  with.allowed_signers_file = write_text(folder / "signers", "");
  EXPECT_NE(expect_trouble(fetched(with), SourceTrouble::not_verified).find("is not signed"),
            std::string::npos);
  for (const std::string kind : {"PGP SIGNATURE", "PGP MESSAGE", "SIGNED MESSAGE"}) {
    std::string commit = repository.git({"cat-file", "commit", "HEAD"}) + "\n";
    commit.insert(commit.find("\n\n"),
                  "\ngpgsig -----BEGIN " + kind + "-----\n AAAA\n -----END " + kind + "-----");
    const std::string id = repository.git({"hash-object", "-w", "-t", "commit", "--stdin"}, commit);
    (void)repository.git({"update-ref", "refs/heads/foreign", id});
    with.reference.name = "foreign";
    const std::string text = expect_trouble(fetched(with), SourceTrouble::not_verified);
    EXPECT_NE(text.find("only SSH signatures are verified"), text.npos) << text;
  }
}

TEST_F(GitFetch, RefusesALocalRepositoryOfAnotherUser) {
  LOCKSTEP_NEEDS_ROOT("gives a folder to another user");
  (void)repository.commit({{"a", "1"}});
  ASSERT_EQ(::chown(repository.path().c_str(), 65534, 65534), 0);
  ASSERT_EQ(::chown((repository.path() + "/.git").c_str(), 65534, 65534), 0);
  EXPECT_NE(expect_trouble(fetched(), SourceTrouble::denied).find("belongs to another user"),
            std::string::npos);
}

TEST_F(GitFetch, ACallThatHasEndedFetchesNothing) {
  (void)repository.commit({{"a", "1"}});
  const auto git = source(settings());
  (void)expect_trouble(git->fetch(within(std::chrono::seconds(-1))), SourceTrouble::unreachable);
  std::stop_source stop;
  stop.request_stop();
  const auto outcome = git->fetch({.stop = stop.get_token()});
  (void)expect_trouble(outcome, SourceTrouble::unreachable);
  EXPECT_EQ(std::get<SourceError>(outcome).error.kind, ErrorKind::cancelled);
  EXPECT_FALSE(fs::exists(folder / "cache"));
}

}  // namespace
}  // namespace lockstep
