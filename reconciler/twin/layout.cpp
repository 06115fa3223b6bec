#include "reconciler/twin/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

namespace lockstep {
namespace {

constexpr std::size_t kKernelName = 15;  // IFNAMSIZ - 1, linux/if.h
constexpr std::size_t kAltName = 127;    // ALTIFNAMSIZ - 1, linux/if.h
// With these two, "/run/lockstep/twin/<cluster>/<device>/lldpd.sock" stays under the 108 bytes of a unix
// socket path (unix(7)); the kernel's limit on host names, 64, is higher.
constexpr std::size_t kHostName = 48;
constexpr std::size_t kClusterName = 24;

// FNV-1a, 64 bit: equality of layouts on one machine, not security.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3U;
  }
  return hash;
}

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

Error wrong(std::string what) { return Error{ErrorKind::invalid_spec, "twin: " + std::move(what)}; }

Result<Done> validate_device_name(std::string_view name) {
  const bool fits = !name.empty() && name.size() <= kHostName && is_letter_or_digit(name.front()) &&
                    std::all_of(name.begin(), name.end(), [](char c) {
                      return is_letter_or_digit(c) || c == '-' || c == '.' || c == '_';
                    });
  if (fits) return Done{};
  return wrong(fmt::format("device name '{}' is not a host name of at most {} letters, digits, '-', '.', '_'",
                           name, kHostName));
}

Result<Done> validate_port_name(std::string_view device, std::string_view port) {
  // "all" and "default" are entries of net.*.conf, "lo" already exists.
  if (port.empty() || port == "lo" || port == "all" || port == "default" || port == "." || port == "..")
    return wrong(fmt::format("{}: a port can't be named '{}'", device, port));
  if (port.size() > kAltName)
    return wrong(fmt::format("{}: port name '{}...' is longer than {} characters", device, port.substr(0, 20),
                             kAltName));
  if (std::any_of(port.begin(), port.end(), [](unsigned char c) { return c <= ' ' || c == 0x7f; }))
    return wrong(fmt::format("{}: port name '{}' has a space or control character", device, port));
  return Done{};
}

std::set<std::string> pieces_of(const TwinRecord& record) {
  std::set<std::string> out;
  for (const TwinDevice& one : record.layout.devices) out.insert(piece_text(one));
  for (const TwinCable& one : record.layout.cables) out.insert(piece_text(one));
  out.insert(record.lldp ? "LLDP on" : "LLDP off");
  out.insert(record.agents ? "agents" : "no agents");
  out.insert("FRR profile " + record.frr_profile);
  return out;
}

}  // namespace

std::string twin_cluster_id(std::string_view cluster_name, std::string_view folder) {
  constexpr std::size_t kReadable = 8;
  std::string out;
  for (const char c : cluster_name)
    if (is_letter_or_digit(c) && out.size() < kReadable) out.push_back(c);
  const std::uint64_t hash = hash_of(std::string(cluster_name) + '\n' + std::string(folder));
  return out + fmt::format("{:06x}", hash & 0xffffffU);
}

Result<Done> validate_cluster_id(std::string_view cluster) {
  const bool fits =
      !cluster.empty() && cluster.size() <= kClusterName &&
      std::all_of(cluster.begin(), cluster.end(), [](char c) { return is_letter_or_digit(c) || c == '_'; });
  if (fits) return Done{};
  return wrong(fmt::format("cluster id '{}' is not 1 to {} letters, digits or '_'", cluster, kClusterName));
}

Result<Done> validate(const TwinLayout& layout) {
  TRY_DONE(validate_cluster_id(layout.cluster));
  std::set<std::string_view> devices;
  std::set<std::string_view> sonic;
  for (const TwinDevice& one : layout.devices) {
    TRY_DONE(validate_device_name(one.name));
    if (!devices.insert(one.name).second) return wrong("device " + one.name + " is there twice");
    if (!one.sonic_type.empty()) sonic.insert(one.name);
  }
  // Keyed by the kernel's name, so that two spec names with the same short form are detected too.
  std::map<std::pair<std::string_view, std::string>, std::string_view> ports;
  for (const TwinCable& cable : layout.cables) {
    for (const auto& [device, port] :
         {std::pair<std::string_view, std::string_view>(cable.device_a, cable.port_a),
          std::pair<std::string_view, std::string_view>(cable.device_b, cable.port_b)}) {
      if (!devices.contains(device))
        return wrong("a cable ends at " + std::string(device) + ", which is no device");
      TRY_DONE(validate_port_name(device, port));
      // SONiC's names of ports are the kernel's.
      if (sonic.contains(device) && kernel_port_name(port) != port)
        return wrong(
            fmt::format("{}: SONiC can't have a port '{}': the kernel takes no such name", device, port));
      const auto [at, fresh] = ports.try_emplace({device, kernel_port_name(port)}, port);
      if (fresh) continue;
      if (at->second == port) return wrong(fmt::format("port {}:{} is cabled twice", device, port));
      return wrong(fmt::format("ports {} and {} of {} have one kernel name, {}", at->second, port, device,
                               kernel_port_name(port)));
    }
  }
  return Done{};
}

std::string kernel_port_name(std::string_view port) {
  if (port.size() <= kKernelName && port.find_first_of("/:") == std::string_view::npos)
    return std::string(port);
  constexpr std::size_t kReadable = 8;
  std::string out;
  for (const char c : port) {
    if (out.size() == kReadable) break;
    if (is_letter_or_digit(c) || c == '_') out.push_back(c);
  }
  return out + fmt::format("~{:06x}", hash_of(port) & 0xffffffU);
}

std::string to_text(const TwinRecord& record) {
  nlohmann::json out;
  out["cluster"] = record.layout.cluster;
  out["lldp"] = record.lldp;
  if (record.agents) out["agents"] = true;
  out["frrProfile"] = record.frr_profile;
  out["name"] = record.name;
  out["folder"] = record.folder;
  out["linkRate"] = record.link_rate;
  out["devices"] = nlohmann::json::array();
  for (const TwinDevice& one : record.layout.devices) {
    out["devices"].push_back({{"name", one.name},
                              {"role", one.role == TwinRole::host ? "host" : "switch"},
                              {"routing", one.routing}});
    if (!one.sonic_type.empty()) out["devices"].back()["sonicType"] = one.sonic_type;
  }
  out["cables"] = nlohmann::json::array();
  for (const TwinCable& one : record.layout.cables)
    out["cables"].push_back({one.device_a, one.port_a, one.device_b, one.port_b, one.segmentation_offload});
  return out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<TwinRecord> from_text(std::string_view text) {
  const nlohmann::json in = nlohmann::json::parse(text, nullptr, false);
  const Error broken{ErrorKind::refused, "twin: the record is not a layout"};
  if (!in.is_object()) return broken;
  TwinRecord out;
  // nlohmann's typed reads throw on a wrong type; the record is a file, so wrong types are input.
  try {
    out.layout.cluster = in.at("cluster").get<std::string>();
    out.lldp = in.at("lldp").get<bool>();
    out.agents = in.value("agents", false);
    out.frr_profile = in.at("frrProfile").get<std::string>();
    out.name = in.value("name", "");
    out.folder = in.value("folder", "");
    out.link_rate = in.value("linkRate", kTwinLinkRate);
    for (const auto& one : in.at("devices"))
      out.layout.devices.push_back({one.at("name").get<std::string>(),
                                    one.at("role") == "host" ? TwinRole::host : TwinRole::device_switch,
                                    one.at("routing").get<bool>(), one.value("sonicType", "")});
    for (const auto& one : in.at("cables"))
      out.layout.cables.push_back({one.at(0).get<std::string>(), one.at(1).get<std::string>(),
                                   one.at(2).get<std::string>(), one.at(3).get<std::string>(),
                                   one.at(4).get<bool>()});
  } catch (const nlohmann::json::exception&) {
    return broken;
  }
  TRY_DONE(validate(out.layout));
  return out;
}

std::string digest_of(const TwinRecord& record) { return fmt::format("{:016x}", hash_of(to_text(record))); }

std::vector<std::string> differences(const TwinRecord& running, const TwinRecord& asked, std::size_t limit) {
  const std::set<std::string> have = pieces_of(running);
  const std::set<std::string> want = pieces_of(asked);
  std::vector<std::string> out;
  for (const std::string& one : want)
    if (!have.contains(one)) out.push_back("asked for, not running: " + one);
  for (const std::string& one : have)
    if (!want.contains(one)) out.push_back("running, not asked for: " + one);
  if (out.size() > limit) {
    const std::size_t more = out.size() - limit;
    out.resize(limit);
    out.push_back(fmt::format("and {} more", more));
  }
  return out;
}

std::string piece_text(const TwinDevice& device) {
  return fmt::format("{} {}{}{}", device.role == TwinRole::host ? "host" : "switch", device.name,
                     device.routing ? " (routing)" : "",
                     device.sonic_type.empty() ? "" : " (SONiC " + device.sonic_type + ")");
}

std::string piece_text(const TwinCable& cable) {
  std::string a = cable.device_a + ":" + cable.port_a;
  std::string b = cable.device_b + ":" + cable.port_b;
  if (b < a) std::swap(a, b);
  return fmt::format("cable {} -- {}{}", a, b, cable.segmentation_offload ? "" : " (no offload)");
}

TwinChange change_between(const TwinLayout& has, const TwinLayout& stands, const TwinLayout& asked) {
  const auto pieces = [](const TwinLayout& layout) {
    std::set<std::string> out;
    for (const TwinDevice& one : layout.devices) out.insert(piece_text(one));
    for (const TwinCable& one : layout.cables) out.insert(piece_text(one));
    return out;
  };
  const std::set<std::string> had = pieces(has);
  const std::set<std::string> standing = pieces(stands);
  const std::set<std::string> wanted = pieces(asked);
  const auto stays = [&](const std::string& piece) {
    return had.contains(piece) && standing.contains(piece) && wanted.contains(piece);
  };
  TwinChange out;
  std::set<std::string_view> fresh;  // devices whose cables can't be kept
  for (const TwinDevice& one : has.devices) {
    if (stays(piece_text(one))) continue;
    fresh.insert(one.name);
    out.devices_gone.push_back(one);
  }
  for (const TwinDevice& one : asked.devices) {
    if (stays(piece_text(one))) continue;
    fresh.insert(one.name);
    out.devices_made.push_back(one);
  }
  const auto cable_stays = [&](const TwinCable& cable) {
    return !fresh.contains(cable.device_a) && !fresh.contains(cable.device_b) && stays(piece_text(cable));
  };
  for (const TwinCable& one : has.cables)
    if (!cable_stays(one)) out.cables_gone.push_back(one);
  for (const TwinCable& one : asked.cables)
    if (!cable_stays(one)) out.cables_made.push_back(one);
  return out;
}

}  // namespace lockstep
