// The linux driver on ports of our test netdev: from entries to the port and back. The actual state is read
// from the kernel, not from the driver.
#pragma once

#include <map>

#include "drivers/linux/driver.hpp"
#include "drivers/linux/kernel_state.hpp"
#include "specs/model/schema_rows.hpp"
#include "tests/vm/apply_errors.hpp"
#include "tests/vm/nic_lab.hpp"

namespace lockstep {

using Entries = std::map<std::string, Value>;

inline Path path(const std::string& text) {
  const auto parsed = Path::parse(text);
  EXPECT_TRUE(parsed) << text;
  return parsed ? *parsed : Path{};
}

class NicDriver : public NicLab {
 protected:
  void SetUp() override {
    NicLab::SetUp();
    attached_ = make_linux_driver(target());
  }
  static LinuxTarget target() {
    LinuxTarget out;
    out.device = "gpu1";
    out.software_rate = false;
    return out;
  }
  Driver& driver() { return *attached_.driver; }
  Observation observed(const Scope& scope = {}) {
    auto out = driver().observe(scope, "", soon());
    EXPECT_TRUE(out) << out.error().text();
    if (!out) return {};
    for (const Unread& one : out->unread) ADD_FAILURE() << one.why.text();
    return *std::move(out);
  }
  // On ports in owned_, all traffic classes are managed.
  ChangeSet differing(const Entries& wanted) {
    Intent intent;
    for (const std::string& port : owned_) intent.claims.push_back({row("interface[*]/class[*]"), {port}, 0});
    for (const auto& [entry, value] : wanted) intent.want.set(path(entry), value);
    return diff(intent, observed(named_by(wanted))).changes;
  }
  // Named offloads are read in addition to the usual ones.
  static Scope named_by(const Entries& wanted) {
    Scope out;
    for (const auto& [entry, value] : wanted)
      if (path(entry).row() == row("interface[*]/offload[*]")) out.named.push_back(path(entry));
    return out;
  }
  // Every answer that is an error, in order.
  std::vector<Error> apply(const ChangeSet& changes) { return apply_errors(driver(), changes, soon()); }
  void converge(const Entries& wanted) {
    for (const Error& error : apply(differing(wanted))) ADD_FAILURE() << error.text();
    EXPECT_TRUE(differing(wanted).empty());
  }
  std::string refused(const Entries& wanted) {
    const std::vector<Error> errors = apply(differing(wanted));
    EXPECT_EQ(errors.size(), 1U);
    if (errors.empty()) return {};
    EXPECT_EQ(to_string(errors[0].kind), to_string(ErrorKind::refused));
    return errors[0].text();
  }
  // Uses a new driver, because an attached one caches the answers for a boot.
  static std::vector<Incapable> lacks() {
    const Attached fresh = make_linux_driver(target());
    const auto seen = fresh.driver->observe(Scope{}, "", soon());
    EXPECT_TRUE(seen) << seen.error().text();
    return seen ? seen->incapable : std::vector<Incapable>{};
  }
  static std::string why_incapable(RowId row, const std::string& port) {
    for (const Incapable& one : lacks())
      if (one.row == row && one.keys == std::vector{port}) return one.reason;
    return {};
  }

  std::uint32_t index(const std::string& port) {
    const auto links = read_links(*socket_, soon());
    EXPECT_TRUE(links);
    for (const Link& one : *links)
      if (one.name == port) return one.index;
    ADD_FAILURE() << port;
    return 0;
  }

  Attached attached_;
  std::vector<std::string> owned_;
};

}  // namespace lockstep
