#include "tests/contract/subjects.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "drivers/linux/driver.hpp"
#include "drivers/sim/simulated_device.hpp"
#include "examples/driver/driver.hpp"
#include "specs/model/schema_rows.hpp"
#include "tests/contract/agent_subject.hpp"
#include "tests/contract/relay.hpp"
#include "tests/contract/sonic_subject.hpp"
#include "tests/needs.hpp"
#include "tests/unit/frr/lab.hpp"
#include "tests/unit/linux/host_nvml.hpp"
#include "tests/unit/linux/host_systemd.hpp"
#include "tests/unit/linux/host_tree.hpp"

namespace lockstep::contract {
namespace {

class Simulated final : public Subject {
 public:
  explicit Simulated(bool dead_man) {
    auto device = std::make_unique<SimulatedDevice>("sw1", 1);
    device->set(Path(row("interface[*]/mtu"), {"rail9"}), Value::integer(1400));
    device->set(Path(row("vlan[*]"), {"99"}), Value::present());
    device->undoes_itself = dead_man;
    device->clock = [this] { return now_; };
    device_ = device.get();
    attached = attach_simulated(std::move(device));
    is_real = false;
  }
  std::string foreign() override {
    return device_->truth().value(Path(row("interface[*]/mtu"), {"rail9"})).to_string() +
           device_->truth().value(Path(row("vlan[*]"), {"99"})).to_string();
  }
  void touch() override {
    device_->set(Path(row("interface[*]/mtu"), {"rail8"}), Value::integer(1400 + ++touches_));
  }
  bool lose_replies(bool on) override {
    device_->faults.lost_reply = on ? 1 : 0;
    return true;
  }
  void pass(std::chrono::milliseconds time) override { now_ += time; }

 private:
  SimulatedDevice* device_;
  int touches_ = 0;
  Time now_{};
};

// Runs many ip(8) commands in one process: in an emulated machine (tests/vm), a process takes 0.1 s.
std::string ip(std::vector<std::string> options, const std::string& commands) {
  const auto file = std::filesystem::temp_directory_path() / ("lscontract-ip-" + std::to_string(::getpid()));
  std::ofstream(file) << commands;
  options.insert(options.begin(), "ip");
  options.insert(options.end(), {"-batch", file});
  std::string out = frr::run(options);
  std::filesystem::remove(file);
  return out;
}

// Host-wide settings are those of a recorded host, with stubs of NVML and systemd; the initial contents of
// its /etc are foreign. rail0 is managed; rail1, with an address, a route and a qdisc, and a policy rule are
// foreign. Both ports are veths, with schedulers in software, or NICs (test_nic of tests/vm), with schedulers
// in hardware.
class Namespaced final : public Subject {
 public:
  explicit Namespaced(bool nics) {
    static int count = 0;
    name_ = "lscontract-" + std::to_string(::getpid()) + "-" + std::to_string(++count);
    std::string links = "netns add " + name_ + "\nnetns add " + name_ + "p\n";
    for (const std::string port : {"rail0", "rail1"}) {
      const std::string near = port + " netns " + name_ + " mtu 1500";
      const std::string far = port + " netns " + name_ + "p mtu 9216";
      links += nics ? "link add " + near + " type test_nic\nlink add " + far + " type test_nic\n"
                    : "link add " + near + " type veth peer name " + far + "\n";
    }
    ip({}, links);
    ip({"-n", name_ + "p"}, "link set rail0 up\nlink set rail1 up\n");
    ip({"-n", name_},
       "link set lo up\n"
       "link set rail1 up\n"
       "address add 192.0.2.1/24 dev rail1\n"
       "route add 198.51.100.0/24 via 192.0.2.2\n"
       "rule add from 192.0.2.1 lookup 77 priority 1000\n");
    frr::run({"tc", "-n", name_, "qdisc", "add", "dev", "rail1", "root", "pfifo", "limit", "77"});
    LinuxTarget target;
    target.device = "gpu1";
    target.netns_path = "/run/netns/" + name_;
    target.software_rate = !nics;
    target.restart_lldpd = [](const Call&) { return Done{}; };
    target.root = host_.root();
    host_.rdma(0, "rail0");
    host_.rdma(1, "rail1");
    host_.remove(RecordedHost::sysfs("0000:02:00.0") + "/msi_irqs");  // one interrupt cannot be spread
    if (nvml_stub* const stub = load_nvml_stub(LOCKSTEP_NVML_STUB)) stub->resets_at_once = 1;
    target.nvml_library = LOCKSTEP_NVML_STUB;
    if (const std::string why = StubSystemd::impossible(); !why.empty()) {
      if (on_ci()) ADD_FAILURE() << "this must run on CI: services: " << why;
    } else {
      systemd_ = std::make_unique<StubSystemd>(host_.root());
      systemd_->set("lldpd.service", {"inactive", "disabled"});
    }
    attached = make_linux_driver(target);
    never_unset = {
        "interface[*]/admin", "interface[*]/mtu", "interface[*]/offload[*]", "sysctl[*]", "cpu/governor",
        "cpu/irq-affinity", "gpu/ecc", "gpu/persistence", "pcie/acs", "pcie/max-read-request", "service[*]",
        // RED needs all three or none.
        "interface[*]/class[*]/ecn-max", "interface[*]/class[*]/ecn-min",
        "interface[*]/class[*]/ecn-probability",
        // These exist as long as the port exists.
        "interface[*]/dcbx", "interface[*]/pause", "interface[*]/pfc", "interface[*]/trust",
        "interface[*]/autoneg", "interface[*]/channels[*]", "interface[*]/coalescing/adaptive[*]",
        "interface[*]/coalescing/frames[*]", "interface[*]/coalescing/time[*]", "interface[*]/fec",
        "interface[*]/ring[*]", "interface[*]/speed", "interface[*]/cnp-dscp", "interface[*]/cnp-priority",
        "interface[*]/congestion-control", "interface[*]/roce-tos", "interface[*]/cable-length",
        "interface[*]/dcqcn/additive-increase", "interface[*]/dcqcn/alpha-gain",
        "interface[*]/dcqcn/alpha-timer", "interface[*]/dcqcn/byte-reset",
        "interface[*]/dcqcn/clamp-target-rate", "interface[*]/dcqcn/clamp-target-rate-after-timer",
        "interface[*]/dcqcn/cnp-interval", "interface[*]/dcqcn/fast-recovery-steps",
        "interface[*]/dcqcn/hyper-increase", "interface[*]/dcqcn/initial-alpha",
        "interface[*]/dcqcn/max-rate", "interface[*]/dcqcn/min-decrease", "interface[*]/dcqcn/min-rate",
        "interface[*]/dcqcn/rate-on-first-cnp", "interface[*]/dcqcn/rate-reduce-period",
        "interface[*]/dcqcn/reduction-shift", "interface[*]/dcqcn/time-reset"};
    // The shares add up to 100 %, and a class exists by its priorities.
    if (nics) never_unset.insert({"interface[*]/class[*]/share", "interface[*]/class[*]/priority"});
    keeps_a_default = {"interface[*]/class[*]/strict"};  // a class is strict or not
  }
  const std::string& netns() const { return name_; }
  ~Namespaced() override { ip({}, "netns del " + name_ + "\nnetns del " + name_ + "p\n"); }
  void touch() override {
    ip({"-n", name_}, "link set rail0 mtu " + std::to_string(1400 + ++touches_) + "\n");
  }
  std::vector<Change> break_effects() override {
    return {{Path(row("lldp-agent"), {}), Value::text("dead"), Value::text("running"), 0}};
  }
  std::string foreign() override {
    // One line per address (-o), without the state of the link, which the kernel updates asynchronously.
    std::istringstream lines(ip({"-n", name_, "-4", "-o"},
                                "address show dev rail1\nroute show dev rail1\nrule show from 192.0.2.1\n") +
                             frr::run({"tc", "-n", name_, "qdisc", "show", "dev", "rail1"}));
    std::string out = host_.text("etc/security/limits.conf") + host_.text("etc/modules") +
                      host_.text(RecordedHost::sysfs("0000:02:00.0") + "/config");
    // ip(8) searches all namespaces for the name of a peer and complains about removed ones.
    for (std::string line; std::getline(lines, line);)
      if (!line.starts_with("Error: Peer netns")) out += line + "\n";
    return out;
  }

 private:
  std::string name_;
  int touches_ = 0;
  RecordedHost host_{1};
  std::unique_ptr<StubSystemd> systemd_;
};

std::unique_ptr<frr::Lab> daemons;

constexpr WriteCommands kVtyWrite{'\0', "configure terminal", "end"};

class Routing final : public Subject {
 public:
  Routing() {
    if (!daemons) {
      daemons = std::make_unique<frr::Lab>(std::vector<std::string>{"solo"});
      daemons->start("solo");
    }
    daemons->type("solo", "bgpd",
                  {"configure terminal", "ip prefix-list hand seq 5 permit 10.0.0.0/8 le 32",
                   "route-map RM permit 10", "match ip address prefix-list hand", "end"});
    attached = make_frr_driver(daemons->target("solo"));
    const Call call{.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5), .stop = {}};
    auto have = driver().observe(Scope{}, "", call);
    EXPECT_TRUE(have);
    ChangeSet all;
    if (have)
      for (const Entry& entry : have->have.entries())
        if (schema_row(entry.path.row()).facet == Facet::config)
          all.push_back({entry.path, entry.value, Value{}, 0});
    EXPECT_TRUE(driver().apply(all, Guard{}, call));
    // They cannot be removed alone, without the speaker or the neighbour; what is saved stays saved.
    never_unset = {"bgp/asn", "bgp/neighbor[*]/remote-as", "routing-config/saved"};
    keeps_a_default = {"bfd-profile[*]/multiplier",
                       "bfd-profile[*]/receive-interval",
                       "bfd-profile[*]/transmit-interval",
                       "bgp/graceful-shutdown",
                       "bgp/max-paths",
                       "bgp/multipath-relax",
                       "bgp/neighbor[*]/hold",
                       "bgp/neighbor[*]/keepalive",
                       "bgp/neighbor[*]/shutdown",
                       "bgp/router-id"};
  }
  ~Routing() override { hang(false); }
  void touch() override {
    daemons->type("solo", "bfdd",
                  {"configure terminal", "bfd", "profile hand",
                   "detect-multiplier " + std::to_string(4 + ++touches_), "end"});
  }
  // The same daemons, over relays that can lose their answers.
  bool lose_replies(bool on) override {
    if (relays_.empty()) {
      FrrTarget target = daemons->target("solo");
      for (const auto& one : std::filesystem::directory_iterator(target.run_dir)) {
        const std::string daemon = one.path().stem();
        if (one.path().extension() == ".vty" && (daemon == "bgpd" || daemon == "bfdd"))
          relays_.push_back(
              std::make_unique<Relay>(relay_folder_.name() + "/" + daemon + ".vty", one.path(), kVtyWrite));
        else
          std::filesystem::create_symlink(one.path(),
                                          relay_folder_.name() + "/" + one.path().filename().string());
      }
      target.run_dir = relay_folder_.name();
      attached = make_frr_driver(target);
    }
    for (const auto& relay : relays_) relay->lose(on);
    return true;
  }
  bool hang(bool on) override {
    if (on == hangs_) return true;
    hangs_ = on;
    for (const char* const daemon : {"bgpd", "bfdd"}) daemons->signal("solo", daemon, on ? SIGSTOP : SIGCONT);
    return true;
  }
  // A neighbour whose cable has no peer.
  std::vector<Change> break_effects() override {
    daemons->type(
        "solo", "bgpd",
        {"configure terminal", "router bgp 65001", "neighbor up0 interface remote-as external", "end"});
    const Call call{.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5), .stop = {}};
    EXPECT_TRUE(driver().observe(Scope{}, "", call));
    return {
        {Path(row("bgp/neighbor[*]/session"), {"up0"}), Value::text("idle"), Value::text("established"), 0}};
  }
  std::string foreign() override {
    std::istringstream lines(daemons->type("solo", "bgpd", {"show running-config"}));
    std::string out;
    for (std::string line; std::getline(lines, line);)
      if (line.find("hand") != line.npos || line.find("RM") != line.npos) out += line + "\n";
    return out;
  }

 private:
  frr::Folder relay_folder_;
  std::vector<std::unique_ptr<Relay>> relays_;
  bool hangs_ = false;
  int touches_ = 0;
};

class Example final : public Subject {
 public:
  Example() {
    std::string name = std::filesystem::temp_directory_path() / "lscontract-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
    folder_ = name;
    std::ofstream(folder_ / "config") << "# made by hand\nport.rail9.mtu 1400\nbanner hello there\n";
    attached = make_example_driver("box1", folder_);
    is_real = false;
  }
  ~Example() override { std::filesystem::remove_all(folder_); }
  void touch() override {
    std::ofstream(folder_ / "config", std::ios::app) << "port.rail" << 10 + ++touches_ << ".mtu 1400\n";
  }
  std::string foreign() override {
    std::ifstream in(folder_ / "config");
    std::string out;
    for (std::string line; std::getline(in, line);)
      if (!line.starts_with("port.rail0.") && !line.starts_with("service.lldpd ")) out += line + "\n";
    return out;
  }

 private:
  std::filesystem::path folder_;
  int touches_ = 0;
};

}  // namespace

std::vector<std::string> subject_names() {
  std::vector<std::string> out = {"sim", "sim_dead_man", "linux", "agent",
                                  "frr", "example",      "sonic", "sonic_patch"};
  if (std::filesystem::exists("/sys/module/test_nic")) out.push_back("nic");
  return out;
}

std::string impossible(const std::string& name) {
  const bool has_netns = name == "linux" || name == "nic" || name == "agent";
  if (has_netns && ::geteuid() != 0) return "needs root: makes network namespaces";
  if (name == "frr") return frr::lab_impossible().value_or("");
  if (name == "sonic") return sonic_impossible();
  return {};
}

std::unique_ptr<Subject> make_subject(const std::string& name) {
  if (name == "sim" || name == "sim_dead_man") return std::make_unique<Simulated>(name != "sim");
  if (name == "linux" || name == "nic") return std::make_unique<Namespaced>(name == "nic");
  if (name == "frr") return std::make_unique<Routing>();
  if (name == "sonic") return make_sonic_subject();
  if (name == "sonic_patch") return make_sonic_patch_subject();
  if (name == "agent") {
    auto machine = std::make_unique<Namespaced>(false);
    std::string netns = machine->netns();
    return make_agent_subject(std::move(machine), std::move(netns));
  }
  return std::make_unique<Example>();
}

void end_subjects() { daemons.reset(); }

}  // namespace lockstep::contract
