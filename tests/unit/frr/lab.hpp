// Lab: real FRR daemons in their own network namespaces (lsfrr-<pid>-<node>), in the foreground, with all
// their files in a temporary folder.
//
// Promises: namespaces, processes and files are removed with the Lab, also when the test program dies earlier
// (a guardian process waits for the end of a pipe).
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "drivers/frr/driver.hpp"
#include "tests/unit/frr/fake_vty.hpp"

namespace lockstep::frr {

// Why real daemons cannot run here; nullopt if they can.
std::optional<std::string> lab_impossible();

// Output of a program (stdout and stderr); a test failure when it does not exit with 0.
std::string run(const std::vector<std::string>& argv);

class Lab {
 public:
  explicit Lab(const std::vector<std::string>& nodes);
  ~Lab();
  Lab(const Lab&) = delete;
  Lab& operator=(const Lab&) = delete;

  // A veth pair between two nodes, up at both ends.
  void link(const std::string& a, const std::string& port_a, const std::string& b, const std::string& port_b);
  // Starts zebra, then the others once zebra listens (bgpd retries a missing zebra after 10 s only). They
  // load nothing, or each loads its own file beside frr.conf ("bgpd.conf").
  enum class Loads { nothing, own_files };
  void start(const std::string& node, Loads loads = Loads::nothing);
  void stop(const std::string& node);
  void signal(const std::string& node, const std::string& daemon, int number);

  // ip(8) in a node's namespace.
  std::string ip(const std::string& node, std::vector<std::string> words) const;
  // Enters lines in vtysh; returns the replies of the daemon. A refused line is a test failure.
  std::string type(const std::string& node, const std::string& daemon,
                   const std::vector<std::string>& lines) const;
  // vtysh -b: FRR itself loads the saved file.
  void load_saved(const std::string& node) const;
  // vtysh -c "write memory": FRR itself saves.
  void save_by_vtysh(const std::string& node) const;

  FrrTarget target(const std::string& node) const;

 private:
  std::string netns(const std::string& node) const;
  pid_t spawn(const std::string& node, const std::string& daemon, Loads loads) const;

  const pid_t owner_;  // names the namespaces, in the guardian too
  Folder folder_;
  std::vector<std::string> nodes_;
  std::map<std::string, std::map<std::string, pid_t>> daemons_;
  pid_t guardian_ = -1;
  int guardian_pipe_ = -1;
};

}  // namespace lockstep::frr
