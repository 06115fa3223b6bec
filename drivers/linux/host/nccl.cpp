// nccl: NCCL's settings for the RoCE network in /etc/nccl.conf, one variable per line.
//
// If a variable has several lines the first one counts, and a process's own environment takes precedence over
// the file (NCCL's setEnvFile: setenv(3) without overwriting; NCCL user guide, "Environment Variables").
// Other variables are neither read nor written. NCCL_IB_HCA names RDMA devices, specs name interfaces: a
// value that names ports exactly (=mlx5_0:1,mlx5_3) is reported as their interfaces; any other (a prefix, an
// exclusion, a missing device) as the text of the line, which equals no interface. Such a line, and an
// invalid value of a variable, can be restored as it was.
#include <algorithm>
#include <charconv>
#include <optional>
#include <sstream>

#include "drivers/linux/host/map.hpp"
#include "drivers/linux/rdma/inventory.hpp"

namespace lockstep {
namespace {

constexpr std::string_view kFile = "/etc/nccl.conf";
constexpr std::string_view kHca = "NCCL_IB_HCA";
constexpr std::string_view kCrossNic[] = {"never", "allow", "avoid"};  // 0, 1, 2

// Variables and ranges: NCCL user guide, "Environment Variables"; specs/language/nccl.cpp has more of them.
struct Variable {
  RowId row;
  std::string_view name;
  enum class Form : std::uint8_t { interfaces, number, on_off, cross_nic } form;
  std::int64_t least = 0;  // of a number
  std::int64_t most = 0;
};
using Form = Variable::Form;
constexpr Variable kVariables[] = {
    {host_map::kNcclAdaptiveRouting, "NCCL_IB_ADAPTIVE_ROUTING", Form::on_off},
    {host_map::kNcclCrossNic, "NCCL_CROSS_NIC", Form::cross_nic},
    {host_map::kNcclGidIndex, "NCCL_IB_GID_INDEX", Form::number, -1, 255},
    {host_map::kNcclHca, kHca, Form::interfaces},
    {host_map::kNcclQps, "NCCL_IB_QPS_PER_CONNECTION", Form::number, 1, 128},
    {host_map::kNcclServiceLevel, "NCCL_IB_SL", Form::number, 0, 15},
    {host_map::kNcclSplit, "NCCL_IB_SPLIT_DATA_ON_QPS", Form::on_off},
    {host_map::kNcclTrafficClass, "NCCL_IB_TC", Form::number, 0, 255},  // the byte of an IP header
};

const Variable& variable_of(RowId row) {
  return *std::find_if(std::begin(kVariables), std::end(kVariables),
                       [row](const Variable& one) { return one.row == row; });
}

std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || code != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// The text itself if it is not a valid value of the variable.
Value value_of(const Variable& one, const std::string& said) {
  const auto number = number_in(said);
  if (!number) return Value::text(said);
  if (one.form == Form::number && *number >= one.least && *number <= one.most) return Value::integer(*number);
  if (one.form == Form::on_off && (*number == 0 || *number == 1)) return Value::boolean(*number == 1);
  if (one.form == Form::cross_nic && *number >= 0 && *number < std::ssize(kCrossNic))
    return Value::text(kCrossNic[*number]);
  return Value::text(said);
}

// In the form of its line.
Result<std::string> text_of(const Variable& one, Value want) {
  if (want.kind() == Value::Kind::boolean) return std::string(want.as_boolean() ? "1" : "0");
  if (want.kind() == Value::Kind::integer) {
    if (want.as_integer() >= one.least && want.as_integer() <= one.most) return want.to_string();
    return Error{ErrorKind::invalid_spec, std::string(one.name) + " is a number of " +
                                              std::to_string(one.least) + " to " + std::to_string(one.most)};
  }
  const auto* const word = std::find(std::begin(kCrossNic), std::end(kCrossNic), want.to_string());
  if (one.form != Form::cross_nic || word == std::end(kCrossNic)) return want.to_string();
  return std::to_string(word - std::begin(kCrossNic));
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) out.push_back(line);
  return out;
}

bool sets(std::string_view line, std::string_view variable) {
  return line.starts_with(variable) && line.substr(variable.size()).starts_with('=');
}

// "mlx5_0:1" for exactly that port, "mlx5_0" if it is the only one.
bool names(std::string_view word, const rdma::DeviceFacts& device, const rdma::PortFacts& port) {
  if (word == device.name) return device.ports.size() == 1;
  return word == device.name + ":" + std::to_string(port.number);
}

class NcclFile final : public HostSetting {
 public:
  explicit NcclFile(HostFiles files) : files_(std::move(files)) {}

  std::vector<Incapable> incapable(const Scope&, const Call& call) override {
    const auto devices = rdma::read_rdma(files_, call);
    if (!devices) return {{host_map::kNcclHca, {}, devices.error().text()}};
    if (devices->empty()) return {{host_map::kNcclHca, {}, "no RDMA device is here"}};
    return {};
  }

  void read(HostReading& out, const Call& call) override {
    const auto text = whole();
    for (const Variable& one : kVariables) {
      if (!out.scope.wants(one.row)) continue;
      if (!text) {
        out.fails(one.row, text.error());
        continue;
      }
      const auto said = value_in(*text, one.name);
      if (!said) continue;
      if (one.form != Form::interfaces) {
        out.add(one.row, value_of(one, *said));
      } else if (const auto devices = rdma::read_rdma(files_, call)) {
        out.add(one.row, Value::set(interfaces(*said, *devices)));
      } else {
        out.fails(one.row, devices.error());
      }
    }
  }

  Result<Done> set(const Change& change, const Call& call) override {
    const Variable& one = variable_of(change.path.row());
    if (!change.want) return put(one.name, std::nullopt);
    if (one.form == Form::interfaces) {
      TRY(const std::string devices, devices_of(change.want.as_list(), call));
      return put(one.name, devices);
    }
    TRY(const std::string text, text_of(one, change.want));
    return put(one.name, text);
  }

 private:
  // Empty if the file does not exist.
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

  // Sets the variable's first line, or appends one; none: removes all its lines.
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
  const Variable& one = variable_of(change.path.row());
  const bool is_hca = one.form == Form::interfaces;
  const std::string variable(one.name);
  if (!change.want) return "sed -i '/^" + variable + "=/d' " + std::string(kFile);
  const std::string value = change.want.to_string();
  const Result<std::string> text = is_hca ? Result<std::string>(std::string()) : text_of(one, change.want);
  const std::string line = variable + "=" + (is_hca ? "=DEVICE:PORT,..." : text ? *text : value);
  return (change.was ? "sed -i 's/^" + variable + "=.*/" + line + "/' " : "echo '" + line + "' >> ") +
         std::string(kFile) + (is_hca ? "  # the RDMA devices of " + value : "");
}

OneSetting nccl_setting(const LinuxTarget& target, const SharedPci&) {
  return std::make_unique<NcclFile>(HostFiles(target.root));
}

}  // namespace lockstep
