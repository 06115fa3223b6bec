#include "drivers/linux/capabilities.hpp"

#include <algorithm>
#include <set>

#include "drivers/linux/ecn_marker.hpp"
#include "drivers/linux/kernel_state.hpp"
#include "drivers/linux/map.hpp"
#include "drivers/linux/queueing/carrier.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

using linux_map::Given;

constexpr std::string_view kOwnSpeed =
    "this machine's ports have a speed of their own; none is made by software here";
constexpr std::string_view kOwnQueues =
    "this machine's ports have queues of their own, whose depth RED does not see";

// Loads a program once per process and releases it: nothing is attached. Empty: it works.
const std::string& marker_reason() {
  static const std::string reason = [] {
    const auto program = load_ecn_marker(0);
    return program ? std::string() : program.error().text();
  }();
  return reason;
}

}  // namespace

std::vector<Incapable> absent_ports(const Scope& scope, const std::vector<Link>& ports,
                                    const std::vector<RowId>& rows) {
  std::set<std::string> absent = scope.names(linux_map::kPort);
  std::string there;
  for (const Link& port : ports) {
    absent.erase(port.name);
    there += (there.empty() ? "" : ", ") + port.name;
  }
  std::vector<Incapable> out;
  for (const std::string& name : absent) {
    const std::string why = "no interface is called " + name + " here (there are " + there + ")";
    for (const RowId row : rows)
      if (schema_row(row).is_of_port() && scope.wants(row)) out.push_back({row, {name}, why, true});
  }
  return out;
}

std::string why_not_given(RowId row, Carrier carrier) {
  const Given given = linux_map::given_of(row);
  if (carrier == Carrier::htb && given == Given::not_by_htb)
    return "an untagged packet carries no 802.1p priority, and HTB does not use it";
  if (carrier == Carrier::mqprio && given == Given::not_by_mqprio)
    return "mqprio gives a class transmit queues of the port, which serves them as it does";
  return {};
}

std::vector<Incapable> not_given(Carrier carrier, const std::vector<std::string>& keys) {
  std::vector<Incapable> out;
  for (const RowId one : linux_map::scheduler_rows())
    if (std::string why = why_not_given(one, carrier); !why.empty())
      out.push_back(Incapable{one, keys, std::move(why)});
  return out;
}

std::string why_not_on_own_queues(RowId row) {
  const Given given = linux_map::given_of(row);
  if (given == Given::by_software) return std::string(kOwnSpeed);
  return given == Given::by_red ? std::string(kOwnQueues) : std::string();
}

Result<std::string> why_no_marking(RowId row, bool software_rate, const Call& call) {
  const Given given = linux_map::given_of(row);
  if (given != Given::by_red && given != Given::by_marker) return std::string();
  const bool by_class = given == Given::by_red;
  if (!software_rate) return by_class ? why_not_on_own_queues(row) : marker_reason();
  TRY(std::string no_red, why_no_red(call));
  if (by_class) return no_red;
  return no_red.empty() ? std::string("RED marks here, each class by its own thresholds") : marker_reason();
}

std::vector<Incapable> probe_capabilities(bool software_rate, const Call& call) {
  std::vector<Incapable> out;
  if (software_rate)
    if (const auto carrier = software_carrier(call)) out = not_given(*carrier, {});
  for (const RowId one : linux_map::rows_written()) {
    if (!software_rate && linux_map::given_of(one) == Given::by_software)
      out.push_back({one, {}, why_not_on_own_queues(one)});
    if (const auto why = why_no_marking(one, software_rate, call); why && !why->empty())
      out.push_back(Incapable{one, {}, *why});
  }
  return out;
}

}  // namespace lockstep
