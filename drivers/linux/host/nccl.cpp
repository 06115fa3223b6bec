// nccl: what NCCL is told of the RoCE network in /etc/nccl.conf, a variable a line.
//
// Of several lines of one variable the first counts, as a process's own environment counts before the file
// (NCCL's setEnvFile: setenv(3) without overwriting; NCCL user guide, "Environment Variables"). Of other
// variables nothing is read or written. NCCL_IB_HCA names RDMA devices, specs name interfaces: what names
// ports exactly (=mlx5_0:1,mlx5_3) is told as their interfaces; what does not (a prefix, an exclusion, a
// device that is not here) as the line that is there, which equals no interface. Such a line, and a traffic
// class that is no number, can be put back as it was.
#include <algorithm>
#include <charconv>
#include <optional>
#include <sstream>

#include "drivers/linux/host/map.hpp"
#include "drivers/linux/rdma/inventory.hpp"

namespace lockstep {
namespace {

using host_map::kNcclHca;
using host_map::kNcclTrafficClass;

constexpr std::string_view kFile = "/etc/nccl.conf";
constexpr std::string_view kHca = "NCCL_IB_HCA";
constexpr std::string_view kTrafficClass = "NCCL_IB_TC";
constexpr std::int64_t kTrafficClassMax = 255;  // the byte of an IP header

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) out.push_back(line);
  return out;
}

bool sets(std::string_view line, std::string_view variable) {
  return line.starts_with(variable) && line.substr(variable.size()).starts_with('=');
}

// "mlx5_0:1" where it is that port, "mlx5_0" where it is the only one.
bool names(std::string_view word, const rdma::DeviceFacts& device, const rdma::PortFacts& port) {
  if (word == device.name) return device.ports.size() == 1;
  return word == device.name + ":" + std::to_string(port.number);
}

class Nccl final : public HostSetting {
 public:
  explicit Nccl(HostFiles files) : files_(std::move(files)) {}

  std::vector<Incapable> incapable(const Scope&, const Call& call) override {
    const auto devices = rdma::read_rdma(files_, call);
    if (!devices) return {{kNcclHca, {}, devices.error().text()}};
    if (devices->empty()) return {{kNcclHca, {}, "no RDMA device is here"}};
    return {};
  }

  void read(HostReading& out, const Call& call) override {
    const auto text = whole();
    if (!text) {
      for (const RowId row : {kNcclHca, kNcclTrafficClass}) out.fails(row, text.error());
      return;
    }
    if (const auto said = value_in(*text, kTrafficClass)) out.add(kNcclTrafficClass, traffic_class(*said));
    const auto said = value_in(*text, kHca);
    if (!said || !out.scope.wants(kNcclHca)) return;
    const auto devices = rdma::read_rdma(files_, call);
    if (!devices) return out.fails(kNcclHca, devices.error());
    out.add(kNcclHca, Value::set(interfaces(*said, *devices)));
  }

  Result<Done> set(const Change& change, const Call& call) override {
    const bool is_hca = change.path.row() == kNcclHca;
    std::optional<std::string> value;
    if (change.want && is_hca) {
      TRY(value, devices_of(change.want.as_list(), call));
    } else if (change.want.kind() == Value::Kind::text) {
      value = change.want.to_string();
    } else if (change.want) {
      if (change.want.as_integer() < 0 || change.want.as_integer() > kTrafficClassMax)
        return Error{ErrorKind::invalid_spec, "nccl/traffic-class is a byte: 0 to 255"};
      value = std::to_string(change.want.as_integer());
    }
    return put(is_hca ? kHca : kTrafficClass, value);
  }

 private:
  // Empty where there is no such file.
  Result<std::string> whole() const {
    auto text = files_.read(kFile);
    if (!text && text.error().kind == ErrorKind::unsupported) return std::string();
    return text;
  }

  static std::optional<std::string> value_in(const std::string& text, std::string_view variable) {
    for (const std::string& line : lines_of(text))
      if (sets(line, variable)) return line.substr(variable.size() + 1);
    return std::nullopt;
  }

  static Value traffic_class(const std::string& said) {
    std::int64_t number = 0;
    const auto [end, code] = std::from_chars(said.data(), said.data() + said.size(), number);
    if (code != std::errc{} || end != said.data() + said.size()) return Value::text(said);
    return Value::integer(number);
  }

  static std::vector<std::string> interfaces(const std::string& said,
                                             const std::vector<rdma::DeviceFacts>& devices) {
    std::vector<std::string> as_written{std::string(kHca) + "=" + said};
    if (!said.starts_with('=')) return as_written;
    std::vector<std::string> out;
    std::istringstream words(said.substr(1));
    for (std::string word; std::getline(words, word, ',');) {
      std::string interface;
      for (const rdma::DeviceFacts& device : devices)
        for (const rdma::PortFacts& port : device.ports)
          if (names(word, device, port) && !port.netdev.empty()) interface = port.netdev;
      if (interface.empty()) return as_written;
      out.push_back(std::move(interface));
    }
    return out;
  }

  Result<std::string> devices_of(const std::vector<std::string_view>& wanted, const Call& call) const {
    if (wanted.size() == 1 && sets(wanted[0], kHca)) return std::string(wanted[0].substr(kHca.size() + 1));
    TRY(const auto devices, rdma::read_rdma(files_, call));
    std::string out;
    for (const std::string_view interface : wanted) {
      std::string found;
      for (const rdma::DeviceFacts& device : devices)
        for (const rdma::PortFacts& port : device.ports)
          if (port.netdev == interface) found = device.name + ":" + std::to_string(port.number);
      if (found.empty())
        return Error{ErrorKind::refused, "no RDMA device here is on interface " + std::string(interface)};
      out += (out.empty() ? "=" : ",") + found;
    }
    return out;
  }

  // The first line of the variable, or a new one at the end; none: all its lines go.
  Result<Done> put(std::string_view variable, const std::optional<std::string>& value) const {
    TRY(const std::string before, whole());
    std::string after;
    bool is_there = false;
    for (const std::string& line : lines_of(before)) {
      const bool first = sets(line, variable) && !is_there && value;
      if (first) after += std::string(variable) + "=" + *value + "\n";
      if (!sets(line, variable)) after += line + "\n";
      is_there = is_there || first;
    }
    if (value && !is_there) after += std::string(variable) + "=" + *value + "\n";
    if (after == before) return Done{};
    return after.empty() ? files_.remove(kFile) : files_.replace(kFile, after);
  }

  HostFiles files_;
};

}  // namespace

std::string nccl_words(const Change& change) {
  const bool is_hca = change.path.row() == kNcclHca;
  const std::string variable(is_hca ? kHca : kTrafficClass);
  if (!change.want) return "sed -i '/^" + variable + "=/d' " + std::string(kFile);
  const std::string value = change.want.to_string();
  const std::string line = variable + (is_hca ? "==DEVICE:PORT,..." : "=" + value);
  return (change.was ? "sed -i 's/^" + variable + "=.*/" + line + "/' " : "echo '" + line + "' >> ") +
         std::string(kFile) + (is_hca ? "  # the RDMA devices of " + value : "");
}

OneSetting nccl_setting(const LinuxTarget& target, const SharedPci&) {
  return std::make_unique<Nccl>(HostFiles(target.root));
}

}  // namespace lockstep
