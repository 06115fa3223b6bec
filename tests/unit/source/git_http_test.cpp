// Smart HTTP: git http-backend behind tests/source/git_server.py. What happened there is read from the
// server's log, what happened here from /proc.
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "drivers/posix/wake_descriptor.hpp"
#include "tests/unit/source/lab.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using Files = std::map<std::string, std::string>;
using Trouble = SourceTrouble;

constexpr const char* kSecret = "s3cr3t-t0k3n";
constexpr const char* kEncoded = "YWRhOnMzY3IzdC10MGszbg==";  // base64 of "ada:s3cr3t-t0k3n"

class GitOverHttp : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    shared_ = std::make_unique<Shared>();
    shared_->port = shared_->server.line();
    ASSERT_NE(shared_->port, "");
    shared_->id = shared_->repository.commit({{"a.yaml", "over http"}});
  }
  static void TearDownTestSuite() { shared_.reset(); }

  std::string address(const std::string& path) const { return "http://127.0.0.1:" + shared_->port + path; }
  GitSettings at(const std::string& path) const {
    return {.address = address(path), .cache = folder / "cache"};
  }
  GitSettings with_password(const std::string& path, const std::string& password = kSecret) const {
    GitSettings out = at(path);
    out.username = "ada";
    out.password_file = write_text(folder / "password", password + "\nthe second line\n");
    return out;
  }
  static std::unique_ptr<Source> source(const GitSettings& settings) { return *make_git_source(settings); }
  static FetchOutcome fetched(const GitSettings& settings) {
    return source(settings)->fetch(within(std::chrono::seconds(20)));
  }
  static std::string log() {
    std::ifstream file(shared_->folder / "log");
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void expect_no_secret(const std::string& text) {
    EXPECT_EQ(text.find(kSecret), text.npos) << text;
    EXPECT_EQ(text.find(kEncoded), text.npos) << text;
  }

  struct Shared {
    TestFolder folder;
    TestRepository repository{folder / "served/fabric"};
    Background server{
        {"python3", LOCKSTEP_SOURCE_DIR "/tests/source/git_server.py", folder / "served", folder / "log"}};
    std::string port;
    std::string id;
  };
  static inline std::unique_ptr<Shared> shared_;
  TestFolder folder;
};

TEST_F(GitOverHttp, Fetches) {
  const auto git = source(at("/fabric/.git"));
  const auto revision = expect_revision(git->fetch(within(std::chrono::seconds(20))));
  ASSERT_TRUE(revision);
  EXPECT_EQ(revision->id, shared_->id);
  EXPECT_EQ(files_in(revision->folder->path()), (Files{{"a.yaml", "over http"}}));
  EXPECT_EQ(expect_revision(git->fetch(within(std::chrono::seconds(20))))->folder, revision->folder);
  GitSettings commit = at("/fabric/.git");
  commit.reference = {GitReference::Kind::commit, shared_->id};
  EXPECT_EQ(expect_revision(fetched(commit))->id, shared_->id);
}

TEST_F(GitOverHttp, LogsInWithThePasswordOfItsFile) {
  const std::string path = std::string("/auth/ada/") + kSecret + "/fabric/.git";
  const auto revision = expect_revision(fetched(with_password(path)));
  ASSERT_TRUE(revision);
  EXPECT_EQ(files_in(revision->folder->path()).size(), 1U);
}

TEST_F(GitOverHttp, ReportsRefusedCredentials) {
  const std::string path = std::string("/auth/ada/") + "other" + "/fabric/.git";
  expect_no_secret(expect_trouble(fetched(with_password(path)), Trouble::denied));
  const std::string text = expect_trouble(fetched(at(path)), Trouble::denied);
  EXPECT_NE(text.find("username and passwordFile"), text.npos) << text;
}

TEST_F(GitOverHttp, RepeatsNoSecretThatAServerRepeats) {
  expect_no_secret(expect_trouble(fetched(with_password("/echo/fabric")), Trouble::denied));
  const std::string text = expect_trouble(fetched(with_password("/error/fabric")), Trouble::unreachable);
  EXPECT_NE(text.find("you sent Basic ***, ada:***"), text.npos) << text;
  expect_no_secret(text);
}

TEST_F(GitOverHttp, KeepsThePasswordOutOfArgumentsAndEnvironments) {
  const GitSettings settings = with_password("/hang/fabric");
  const auto git = source(settings);
  std::stop_source stop;
  const WakeDescriptor wake;
  std::optional<FetchOutcome> outcome;
  std::jthread worker([&] { outcome = git->fetch({.stop = stop.get_token(), .wake_fd = wake.number()}); });
  // The process that has sent the password by now.
  EXPECT_TRUE(becomes_true([&] { return log().find("/hang/fabric") != std::string::npos; }));
  const auto texts = process_texts();
  std::size_t of_the_fetch = 0;
  for (const auto& [name, text] : texts) {
    if (text.find(settings.cache) != text.npos) ++of_the_fetch;
    expect_no_secret(text);
  }
  EXPECT_GE(of_the_fetch, 2U) << "git fetch and git-remote-http";
  for (const auto& entry : fs::recursive_directory_iterator(settings.cache))
    EXPECT_EQ(entry.status().permissions() & (fs::perms::group_all | fs::perms::others_all) &
                  (entry.path().filename() == ".gitconfig" ? fs::perms::all : fs::perms::none),
              fs::perms::none)
        << entry.path();
  stop.request_stop();
  wake.signal();
  worker.join();
  EXPECT_EQ(std::get<SourceError>(*outcome).error.kind, ErrorKind::cancelled);
  EXPECT_EQ(processes_with(settings.cache), std::vector<std::string>{});
  EXPECT_EQ(files_in(settings.cache), Files{}) << "the file with the password is gone";
}

TEST_F(GitOverHttp, EndsWithItsDeadlineIfTheServerHangs) {
  const GitSettings settings = at("/hang/fabric");
  const auto begin = std::chrono::steady_clock::now();
  const std::string text =
      expect_trouble(source(settings)->fetch(within(std::chrono::milliseconds(400))), Trouble::unreachable);
  EXPECT_NE(text.find("did not answer in time"), text.npos) << text;
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  EXPECT_EQ(processes_with(settings.cache), std::vector<std::string>{});
}

TEST_F(GitOverHttp, EndsWithItsDeadlineIfNothingIsAccepted) {
  const int listening = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in local{};
  local.sin_family = AF_INET;
  local.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof local;
  ASSERT_EQ(::bind(listening, reinterpret_cast<sockaddr*>(&local), size), 0);
  ASSERT_EQ(::listen(listening, 1), 0);
  ASSERT_EQ(::getsockname(listening, reinterpret_cast<sockaddr*>(&local), &size), 0);
  GitSettings settings = at("/x");
  settings.address = "http://localhost:" + std::to_string(ntohs(local.sin_port)) + "/x";
  (void)expect_trouble(source(settings)->fetch(within(std::chrono::milliseconds(400))), Trouble::unreachable);
  EXPECT_EQ(processes_with(settings.cache), std::vector<std::string>{});
  ::close(listening);
  const std::string text = expect_trouble(fetched(settings), Trouble::unreachable);
  EXPECT_NE(text.find("unreachable from this machine"), text.npos) << text;
}

TEST_F(GitOverHttp, FollowsNoRedirect) {
  const std::string other = "/moved/localhost:" + shared_->port + "/fabric/.git";
  const std::string text = expect_trouble(fetched(with_password(other)), Trouble::not_found);
  EXPECT_NE(text.find("redirects"), text.npos) << text;
  EXPECT_EQ(log().find("localhost:" + shared_->port + " "), std::string::npos)
      << "the other host was contacted";
}

TEST_F(GitOverHttp, ReportsErrorsOfTheServer) {
  (void)expect_trouble(fetched(at("/none")), Trouble::not_found);
  (void)expect_trouble(fetched(at("/status/404/x")), Trouble::not_found);
  (void)expect_trouble(fetched(at("/status/403/x")), Trouble::denied);
  for (const std::string code : {"429", "500", "502", "503", "504"})
    EXPECT_NE(expect_trouble(fetched(at("/status/" + code + "/x")), Trouble::unreachable).find(code),
              std::string::npos);
  (void)expect_trouble(fetched(at("/status/200/x")), Trouble::not_found);
}

TEST_F(GitOverHttp, RefusesPasswordsThatOthersMayRead) {
  GitSettings settings = with_password("/fabric/.git");
  fs::permissions(settings.password_file, fs::perms::group_read, fs::perm_options::add);
  const std::string text = expect_trouble(fetched(settings), Trouble::local);
  EXPECT_NE(text.find("chmod 600"), text.npos) << text;
  fs::permissions(settings.password_file, fs::perms::owner_read);
  EXPECT_TRUE(expect_revision(fetched(settings)));
  settings.password_file = write_text(folder / "empty", "\n" + std::string(kSecret));
  EXPECT_NE(expect_trouble(fetched(settings), Trouble::local).find("first line is empty"), std::string::npos);
  settings.password_file = folder / "none";
  (void)expect_trouble(fetched(settings), Trouble::local);
}

// The user's credentials are not sent anywhere.
TEST_F(GitOverHttp, UsesNoCredentialsOfTheUser) {
  const std::string path = std::string("/auth/ada/") + kSecret + "/fabric/.git";
  const std::string home = folder / "home";
  write_text(home + "/.netrc", "machine 127.0.0.1 login ada password " + std::string(kSecret) + "\n");
  write_text(home + "/.git-credentials",
             "http://ada:" + std::string(kSecret) + "@127.0.0.1:" + shared_->port + "\n");
  write_text(home + "/.gitconfig", "[credential]\n helper = store\n");
  Variables variables;
  variables.set("HOME", home);
  (void)expect_trouble(fetched(at(path)), Trouble::denied);
}

// RFC 6761, 6.4: no name server has an answer for it.
TEST_F(GitOverHttp, ReportsAHostWhoseNameIsNotKnown) {
  GitSettings settings = at("/fabric");
  settings.address = "https://no-such-host.invalid/fabric.git";
  const std::string text = expect_trouble(fetched(settings), Trouble::unreachable);
  EXPECT_NE(text.find("Could not resolve host: no-such-host.invalid"), text.npos) << text;
}

TEST_F(GitOverHttp, RefusesAnExpiredCertificate) {
  const std::string key = folder / "old.key";
  const std::string old = folder / "old.pem";
  (void)done({"openssl", "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
              "-subj", "/CN=old", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out",
              folder / "old.csr"});
  write_text(folder / "index", "");
  write_text(folder / "ca.conf",
             "[ca]\ndefault_ca=own\n[own]\ndatabase=" + (folder / "index") +
                 "\nnew_certs_dir=" + (folder / "") +
                 "\nrand_serial=yes\ndefault_md=sha256\npolicy=any\ncopy_extensions=copy\n[any]\n"
                 "commonName=supplied\n");
  (void)done({"openssl", "ca", "-batch", "-selfsign", "-notext", "-config", folder / "ca.conf", "-keyfile",
              key, "-in", folder / "old.csr", "-out", old, "-startdate", "20200101000000Z", "-enddate",
              "20200102000000Z"});
  Background server({"python3", LOCKSTEP_SOURCE_DIR "/tests/source/git_server.py", shared_->folder / "served",
                     folder / "tls-log", old, key});
  const std::string port = server.line();
  ASSERT_NE(port, "");
  GitSettings settings = at("/fabric/.git");
  settings.address = "https://127.0.0.1:" + port + "/fabric/.git";
  settings.ca_file = old;
  const std::string text = expect_trouble(fetched(settings), Trouble::denied);
  EXPECT_NE(text.find("its dates"), text.npos) << text;
  EXPECT_FALSE(fs::exists(folder / "tls-log")) << "no request was sent";
}

TEST_F(GitOverHttp, ChecksTheCertificateOfTheServer) {
  const auto certificate = [&](const std::string& name) {
    (void)done({"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-days", "1", "-subj", "/CN=" + name, "-addext", "subjectAltName=IP:127.0.0.1", "-keyout",
                folder / (name + ".key"), "-out", folder / (name + ".pem")});
    return folder / (name + ".pem");
  };
  const std::string right = certificate("right");
  const std::string wrong = certificate("wrong");
  Background server({"python3", LOCKSTEP_SOURCE_DIR "/tests/source/git_server.py", shared_->folder / "served",
                     folder / "tls-log", right, folder / "right.key"});
  const std::string port = server.line();
  ASSERT_NE(port, "");
  GitSettings settings = with_password(std::string("/auth/ada/") + kSecret + "/fabric/.git");
  settings.address = "https://127.0.0.1:" + port + "/auth/ada/" + kSecret + "/fabric/.git";
  settings.ca_file = right;
  EXPECT_TRUE(expect_revision(fetched(settings)));
  fs::remove(folder / "tls-log");
  settings.ca_file = wrong;
  EXPECT_NE(expect_trouble(fetched(settings), Trouble::denied).find("caFile"), std::string::npos);
  settings.ca_file = "";
  (void)expect_trouble(fetched(settings), Trouble::denied);
  settings.ca_file = right;
  settings.address = "https://localhost:" + port + "/fabric/.git";
  (void)expect_trouble(fetched(settings), Trouble::denied);
  EXPECT_FALSE(fs::exists(folder / "tls-log")) << "no request was sent";
  settings.ca_file = folder / "none";
  EXPECT_NE(expect_trouble(fetched(settings), Trouble::local).find("caFile"), std::string::npos);
}

}  // namespace
}  // namespace lockstep
