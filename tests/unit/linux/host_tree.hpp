// A recorded machine: the files that host readiness reads, for a server with GPUs and as many 400G NICs (PCI
// ids of a DGX H100; two NUMA nodes; a PCIe switch for each GPU and its NIC). Each test gets a new copy in
// its own folder, with only the files that are read.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace lockstep {

// Configuration space with a PCI Express capability, MaxReadRequest 512, and, for bridges, ACS as Linux turns
// it on with an IOMMU.
inline std::string recorded_config(bool with_acs) {
  std::string out(4096, '\0');
  const auto word = [&out](std::size_t at, unsigned value) {
    out[at] = static_cast<char>(value & 0xFF);
    out[at + 1] = static_cast<char>(value >> 8);
  };
  word(0x00, 0x15b3);
  word(0x06, 0x0010);  // PCI_STATUS_CAP_LIST
  word(0x34, 0x40);
  word(0x40, 0x6001);  // power management, next at 0x60
  word(0x60, 0x0010);  // PCI Express
  word(0x68, 0x2830);  // DEVCTL: MaxReadRequest code 2, other bits arbitrary
  word(0x100, 0x0001);
  word(0x102, 0x1502);  // AER, next at 0x150
  if (!with_acs) return out;
  word(0x150, 0x000d);
  word(0x152, 0x0001);
  word(0x154, 0x005f);  // PCI_ACS_CAP
  word(0x156, 0x001d);  // PCI_ACS_CTRL: SV, RR, CR, UF
  return out;
}

class RecordedHost {
 public:
  explicit RecordedHost(unsigned rails = 2) : rails_(rails) {
    // Prefers memory (/dev/shm): hundreds of small files take a second on a busy disk.
    const std::filesystem::path memory = "/dev/shm";
    std::string name =
        (std::filesystem::is_directory(memory) ? memory : std::filesystem::temp_directory_path()) /
        "lockstep-host-XXXXXX";
    root_ = ::mkdtemp(name.data());
    machine();
    for (unsigned i = 0; i < rails_; ++i) rail(i);
    management();
    system();
  }
  RecordedHost(const RecordedHost&) = delete;
  RecordedHost& operator=(const RecordedHost&) = delete;
  ~RecordedHost() { std::filesystem::remove_all(root_); }

  const std::filesystem::path& root() const { return root_; }

  void file(const std::string& path, const std::string& text) const {
    const std::filesystem::path at = root_ / path;
    std::filesystem::create_directories(at.parent_path());
    std::ofstream(at, std::ios::binary) << text;
  }
  void remove(const std::string& path) const { std::filesystem::remove_all(root_ / path); }
  std::string text(const std::string& path) const {
    std::ostringstream out;
    out << std::ifstream(root_ / path, std::ios::binary).rdbuf();
    return out.str();
  }
  // The PCI address of the NIC or GPU of a rail, such as "0000:13:00.0".
  static std::string nic(unsigned rail) { return on_bus(rail, 3, "00.0"); }
  static std::string gpu(unsigned rail) { return on_bus(rail, 4, "00.0"); }
  // The downstream port of the PCIe switch above the NIC.
  static std::string port_above_nic(unsigned rail) { return on_bus(rail, 2, "00.0"); }
  // The NIC of a rail as an RDMA device under MLNX_OFED as it is after boot, with this port.
  void rdma(unsigned rail, const std::string& port) const {
    const std::string device = "mlx5_" + std::to_string(rail);
    const std::string at = "sys/class/infiniband/" + device;
    file(at + "/fw_ver", "28.39.1002\n");
    std::filesystem::create_symlink("../../../bus/pci/devices/" + nic(rail), root_ / at / "device");
    file(at + "/ports/1/state", "4: ACTIVE\n");
    file(at + "/ports/1/phys_state", "5: LinkUp\n");
    file(at + "/ports/1/link_layer", "Ethernet\n");
    const std::string gids[] = {
        "fe80:0000:0000:0000:0000:00ff:fe00:0007", "fe80:0000:0000:0000:0000:00ff:fe00:0007",
        "0000:0000:0000:0000:0000:ffff:0a40:0001", "0000:0000:0000:0000:0000:ffff:0a40:0001",
        "2001:0db8:0000:0000:0000:0000:0000:0001"};
    for (unsigned i = 0; i < std::size(gids); ++i) {
      const std::string index = "/" + std::to_string(i);
      file(at + "/ports/1/gids" + index, gids[i] + "\n");
      file(at + "/ports/1/gid_attrs/types" + index, i % 2 == 0 && i < 4 ? "IB/RoCE v1\n" : "RoCE v2\n");
      file(at + "/ports/1/gid_attrs/ndevs" + index, port + "\n");
    }
    file(at + "/ports/1/gids/5", "0000:0000:0000:0000:0000:0000:0000:0000\n");
    file(at + "/tc/1/traffic_class", "");
    const std::string configured = "sys/kernel/config/rdma_cm/" + device + "/ports/1/";
    file(configured + "default_roce_tos", "0\n");
    file(configured + "default_roce_mode", "RoCE v2\n");
    const std::string ecn = "sys/class/net/" + port + "/ecn/";
    file(ecn + "roce_np/cnp_dscp", "48\n");
    file(ecn + "roce_np/cnp_802p_prio", "6\n");
    constexpr std::pair<const char*, const char*> kDcqcn[] = {{"roce_np/min_time_between_cnps", "4"},
                                                              {"roce_rp/initial_alpha_value", "1023"},
                                                              {"roce_rp/dce_tcp_g", "1019"},
                                                              {"roce_rp/dce_tcp_rtt", "1"},
                                                              {"roce_rp/rate_reduce_monitor_period", "4"},
                                                              {"roce_rp/rpg_min_dec_fac", "50"},
                                                              {"roce_rp/rpg_gd", "11"},
                                                              {"roce_rp/rpg_min_rate", "1"},
                                                              {"roce_rp/rate_to_set_on_first_cnp", "0"},
                                                              {"roce_rp/clamp_tgt_rate", "0"},
                                                              {"roce_rp/clamp_tgt_rate_after_time_inc", "1"},
                                                              {"roce_rp/rpg_time_reset", "300"},
                                                              {"roce_rp/rpg_byte_reset", "32767"},
                                                              {"roce_rp/rpg_threshold", "1"},
                                                              {"roce_rp/rpg_ai_rate", "5"},
                                                              {"roce_rp/rpg_hai_rate", "50"},
                                                              {"roce_rp/rpg_max_rate", "0"}};
    for (const auto& [name, value] : kDcqcn) file(ecn + name, std::string(value) + "\n");
    for (const char* end : {"roce_np", "roce_rp"})
      for (unsigned priority = 0; priority < 8; ++priority)
        file(ecn + end + "/enable/" + std::to_string(priority), "1\n");
  }
  static std::string sysfs(const std::string& address) { return "sys/bus/pci/devices/" + address; }

 private:
  static std::string on_bus(unsigned rail, unsigned offset, const std::string& function) {
    return std::string("0000:") + "12345678"[rail] + std::to_string(offset) + ":" + function;
  }

  // `above`: the host bridge and the bridges above the function, from the top.
  void function(const std::string& above, const std::string& address, const std::string& ids,
                const std::string& numa, const std::string& link, bool with_acs) const {
    const std::string at = "sys/devices/" + above + "/" + address;
    std::istringstream words(ids + " " + link);
    std::string device_class, vendor, device, speed, width;
    words >> device_class >> vendor >> device >> speed >> width;
    file(at + "/class", device_class + "\n");
    file(at + "/vendor", vendor + "\n");
    file(at + "/device", device + "\n");
    file(at + "/numa_node", numa + "\n");
    file(at + "/local_cpulist", numa == "1" ? "8-15\n" : "0-7\n");
    file(at + "/config", recorded_config(with_acs));
    for (const char* which : {"current", "max"}) {
      file(at + "/" + which + "_link_speed", speed + " GT/s PCIe\n");
      file(at + "/" + which + "_link_width", width + "\n");
    }
    std::filesystem::create_directories(root_ / "sys/bus/pci/devices");
    std::filesystem::create_symlink("../../../devices/" + above + "/" + address, root_ / sysfs(address));
  }
  void driver(const std::string& address, const std::string& name) const {
    std::filesystem::create_symlink("../../../../bus/pci/drivers/" + name, root_ / sysfs(address) / "driver");
  }
  void interrupts(const std::string& address, unsigned first, unsigned count) const {
    for (unsigned i = first; i < first + count; ++i) {
      file(sysfs(address) + "/msi_irqs/" + std::to_string(i), "msix\n");
      file("proc/irq/" + std::to_string(i) + "/smp_affinity_list", "0-15\n");
    }
  }

  void rail(unsigned i) const {
    const std::string numa = i < rails_ / 2 ? "0" : "1";
    const std::string bridge = std::string("pci0000:") + "12345678"[i] + "0";
    const std::string port = on_bus(i, 0, "01.0");
    const std::string up = on_bus(i, 1, "00.0");
    const std::string other = on_bus(i, 2, "01.0");
    const std::string ids = "0x060400 0x1000 0xc030";
    function(bridge, port, ids, numa, "32.0 16", true);
    function(bridge + "/" + port, up, ids, numa, "32.0 16", false);
    const std::string switched = bridge + "/" + port + "/" + up;
    function(switched, port_above_nic(i), ids, numa, "32.0 16", true);
    function(switched, other, ids, numa, "32.0 16", true);
    function(switched + "/" + port_above_nic(i), nic(i), "0x020000 0x15b3 0x1021", numa, "32.0 16", false);
    function(switched + "/" + other, gpu(i), "0x030200 0x10de 0x2330", numa, "32.0 16", false);
    driver(nic(i), "mlx5_core");
    driver(gpu(i), "nvidia");
    file(sysfs(nic(i)) + "/infiniband/mlx5_" + std::to_string(i) + "/fw_ver", "28.39.1002\n");
    interrupts(nic(i), 100 + 8 * i, 4);
  }

  // A 1G port without RDMA and the console's VGA, which do not belong to the fabric.
  void management() const {
    function("pci0000:00", "0000:00:01.0", "0x060400 0x8086 0x352a", "0", "8.0 1", true);
    function("pci0000:00/0000:00:01.0", "0000:02:00.0", "0x020000 0x8086 0x1533", "0", "2.5 1", false);
    function("pci0000:00", "0000:00:02.0", "0x030000 0x1a03 0x2000", "-1", "Unknown 0", false);
    driver("0000:02:00.0", "igb");
    interrupts("0000:02:00.0", 60, 1);
  }

  void machine() const {
    file("sys/devices/system/cpu/online", "0-15\n");
    file("sys/devices/system/node/node0/cpulist", "0-7\n");
    file("sys/devices/system/node/node1/cpulist", "8-15\n");
    for (const char* policy : {"policy0", "policy4", "policy8", "policy12"}) {
      const std::string at = std::string("sys/devices/system/cpu/cpufreq/") + policy;
      file(at + "/scaling_governor", "powersave\n");
      file(at + "/scaling_available_governors", "performance powersave\n");
    }
  }

  void system() const {
    file("proc/cmdline",
         "BOOT_IMAGE=/vmlinuz root=/dev/nvme0n1p2 ro iommu=pt dyndbg=\"file a.c +p\" -- initarg\n");
    file("proc/modules", "nvidia 56750080 8 - Live 0x0 (PO)\nmlx5_core 2441216 0 - Live 0x0\n");
    file("proc/sys/kernel/osrelease", "6.1.0-18-amd64\n");
    file("proc/812/comm", "lldpd\n");
    file("sys/module/nvidia/version", "550.54.15\n");
    file("sys/module/mlx5_core/parameters/prof_sel", "2\n");
    file("sys/module/mlx5_core/parameters/debug", "N\n");
    file("etc/security/limits.conf", "# <domain> <type> <item> <value>\n@hpc hard memlock 1024\n");
    file("etc/modules", "# /etc/modules\nnvidia-peermem\n");
    std::filesystem::create_directories(root_ / "etc/modules-load.d");
    std::filesystem::create_symlink("../modules", root_ / "etc/modules-load.d/modules.conf");
    file("var/lib/dpkg/status",
         "Package: rdma-core\nStatus: install ok installed\nArchitecture: amd64\nVersion: 44.0-2\n"
         "Description: RDMA core userspace\n Package: no-package\n\n"
         "Package: lldpd\nStatus: deinstall ok config-files\nVersion: 1.0.16-1+deb12u1\n\n"
         "Package: libibverbs1\nStatus: install ok installed\nVersion: 1:44.0-2\n");
  }

  unsigned rails_;  // at most 8
  std::filesystem::path root_;
};

}  // namespace lockstep
