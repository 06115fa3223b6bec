// Whose files may hold secrets, and say who may do what. As root, which can make files of several users.
#include "specs/files/secret_file.hpp"

#include <gtest/gtest.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "specs/files/read_file.hpp"
#include "tests/needs.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kService = 4711;
constexpr uid_t kStranger = 4712;
constexpr auto kNobody = static_cast<__u32>(ACL_UNDEFINED_ID);

class SecretFile : public testing::Test {
 protected:
  void SetUp() override {
    LOCKSTEP_NEEDS_ROOT("makes files of several users");
    std::string made = (fs::temp_directory_path() / "lockstep-secret-XXXXXX").string();
    ASSERT_NE(::mkdtemp(made.data()), nullptr);
    folder_ = made;
    credentials_ = folder_ + "/credentials";
    fs::create_directory(credentials_);
    for (const std::string& one : {folder_, credentials_}) ASSERT_EQ(::chmod(one.c_str(), 0755), 0);
    ::unsetenv("CREDENTIALS_DIRECTORY");
  }
  void TearDown() override {
    ::unsetenv("CREDENTIALS_DIRECTORY");
    if (!folder_.empty()) fs::remove_all(folder_);
  }

  std::string made(const std::string& path, uid_t owner, mode_t mode, gid_t group = 0) const {
    std::ofstream(path, std::ios::trunc) << "s3cr3t";
    EXPECT_EQ(::chown(path.c_str(), owner, group), 0);
    EXPECT_EQ(::chmod(path.c_str(), mode), 0);
    return path;
  }
  // As systemd makes them (write_credential() of its exec-credential.c): root's, mode 0400, and an entry of
  // an ACL for the unit's user.
  std::string credential(const std::string& name) const {
    std::string path = made(credentials_ + "/" + name, 0, 0400);
    // acl(5), as the kernel keeps it.
    struct {
      posix_acl_xattr_header head{POSIX_ACL_XATTR_VERSION};
      posix_acl_xattr_entry entries[5];
    } acl{.entries = {{ACL_USER_OBJ, ACL_READ, kNobody},
                      {ACL_USER, ACL_READ, kService},
                      {ACL_GROUP_OBJ, 0, kNobody},
                      {ACL_MASK, ACL_READ, kNobody},
                      {ACL_OTHER, 0, kNobody}}};
    EXPECT_EQ(::setxattr(path.c_str(), "system.posix_acl_access", &acl, sizeof acl, 0), 0);
    return path;
  }
  void systemd_hands_over() const { ::setenv("CREDENTIALS_DIRECTORY", credentials_.c_str(), 1); }

  std::string folder_;
  std::string credentials_;
};

// This process as another user, for a while.
class As {
 public:
  explicit As(uid_t user) { EXPECT_EQ(::seteuid(user), 0); }
  ~As() { EXPECT_EQ(::seteuid(0), 0); }
};

// Empty: it is accepted.
std::string why_not(const std::string& file, uid_t user = kService) {
  const As other(user);
  const auto checked = check_secret_file(file, "private key");
  return checked ? "" : checked.error().text();
}

TEST_F(SecretFile, IsItsOwnersAlone) {
  for (const mode_t mode : {0400U, 0600U}) EXPECT_EQ(why_not(made(folder_ + "/key", kService, mode)), "");
  for (const mode_t mode : {0440U, 0420U, 0410U, 0404U, 0402U, 0401U}) {
    for (const uid_t owner : {kService, uid_t{0}}) {
      const std::string file = made(folder_ + "/key", owner, mode);
      EXPECT_EQ(why_not(file), file + ": private key is accessible to others; run \"chmod 600 " + file + "\"")
          << std::oct << mode;
    }
  }
  EXPECT_EQ(why_not(folder_ + "/none"), "") << "whoever reads it says so";
}

TEST_F(SecretFile, OfAnotherUserIsForRootAlone) {
  const std::string file = made(folder_ + "/key", kStranger, 0600);
  EXPECT_NE(why_not(file).find("belongs to another user"), std::string::npos);
  EXPECT_EQ(why_not(file, 0), "");
}

TEST_F(SecretFile, MayBeACredentialOfSystemd) {
  const std::string file = credential("key");
  struct stat found {};
  ASSERT_EQ(::stat(file.c_str(), &found), 0);
  ASSERT_EQ(found.st_mode & 07777, 0440U) << "what the ACL makes of it";
  EXPECT_NE(why_not(file).find("accessible to others"), std::string::npos) << "nothing says it is one";
  systemd_hands_over();
  EXPECT_EQ(why_not(file), "");
  {
    const As service(kService);
    EXPECT_EQ(read_named(file, 100).text, "s3cr3t");
  }
  fs::create_symlink(file, folder_ + "/link");
  EXPECT_EQ(why_not(folder_ + "/link"), "");
}

TEST_F(SecretFile, IsNoCredentialIfOthersHaveIt) {
  systemd_hands_over();
  for (const mode_t mode : {0460U, 0450U, 0444U, 0442U, 0441U})
    EXPECT_NE(why_not(made(credentials_ + "/key", 0, mode)).find("accessible"), std::string::npos)
        << std::oct << mode;
  EXPECT_NE(why_not(made(credentials_ + "/key", 0, 0440, kStranger)).find("accessible"), std::string::npos);
  EXPECT_NE(why_not(made(credentials_ + "/key", kService, 0440)).find("accessible"), std::string::npos);
  EXPECT_NE(why_not(made(credentials_ + "/key", kStranger, 0440)).find("another user"), std::string::npos);
  // Where its name begins with the folder's, but leads elsewhere.
  const std::string outside = made(folder_ + "/key", 0, 0440);
  EXPECT_NE(why_not(credentials_ + "/../key").find("accessible"), std::string::npos);
  fs::create_symlink(outside, credentials_ + "/link");
  EXPECT_NE(why_not(credentials_ + "/link").find("accessible"), std::string::npos);
  ::setenv("CREDENTIALS_DIRECTORY", "", 1);
  EXPECT_NE(why_not(outside).find("accessible"), std::string::npos);
}

TEST_F(SecretFile, OrOneThatOnlyWeWrite) {
  const auto why = [&](uid_t owner, mode_t mode) {
    const std::string file = made(folder_ + "/tokens", owner, mode);
    const As service(kService);
    const auto checked = check_written_by_us(file, "could give tokens to anybody");
    return checked ? "" : checked.error().text();
  };
  EXPECT_EQ(why(kService, 0644), "");
  EXPECT_EQ(why(0, 0444), "");
  EXPECT_NE(why(0, 0464).find("chmod go-w"), std::string::npos);
  EXPECT_NE(why(kService, 0602).find("chmod go-w"), std::string::npos);
  EXPECT_NE(why(kStranger, 0600).find("another user, who could give tokens to anybody"), std::string::npos);
}

}  // namespace
}  // namespace lockstep
