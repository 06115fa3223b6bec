#include "reconciler/twin/sonic_device.hpp"

#include <nlohmann/json.hpp>

#include "specs/files/read_file.hpp"
#include "specs/files/replace_file.hpp"

namespace lockstep {
namespace {

constexpr const char* kOrdersFile = "sonic-orders.json";
constexpr std::size_t kOrdersMax = std::size_t{1} << 20;  // chosen: thousands of rows

std::string in_folder(std::string_view run_dir, std::string_view file) {
  return std::string(run_dir) + "/" + std::string(file);
}

}  // namespace

// No longer than lldpd.sock, whose path fits (layout.cpp, kHostName).
std::string sonic_redis_socket(std::string_view run_dir) { return in_folder(run_dir, "redis.sock"); }
std::string sonic_ready_file(std::string_view run_dir) { return in_folder(run_dir, "sonic-ready"); }

std::string order_text(const SonicOrders& orders) {
  const nlohmann::json out{
      {"ignores", orders.ignores}, {"reportsUp", orders.reports_up}, {"dies", orders.dies}};
  return out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<SonicOrders> orders_from_text(std::string_view text) {
  const nlohmann::json in = nlohmann::json::parse(text, nullptr, false);
  // nlohmann's typed reads throw on a wrong type; the file is input.
  try {
    return SonicOrders{.ignores = in.at("ignores").get<std::set<std::string>>(),
                       .reports_up = in.at("reportsUp").get<std::set<std::string>>(),
                       .dies = in.at("dies").get<bool>()};
  } catch (const nlohmann::json::exception&) {
    return Error{ErrorKind::refused, std::string(kOrdersFile) + " has no orders of a stand-in"};
  }
}

Result<SonicOrders> read_orders(const std::string& run_dir) {
  const FileText file = read_beneath(run_dir, kOrdersFile, kOrdersMax);
  if (file.outcome == FileText::Outcome::missing) return SonicOrders{};
  if (!file) return Error{ErrorKind::refused, file.why};
  return orders_from_text(file.text);
}

Result<Done> write_orders(const std::string& run_dir, const SonicOrders& orders) {
  return replace_file(in_folder(run_dir, kOrdersFile), order_text(orders) + "\n", {.mode = 0600});
}

}  // namespace lockstep
