#include "specs/compile/wanted_traffic_class.hpp"

#include "specs/model/schema_rows.hpp"

namespace lockstep {

std::optional<std::uint8_t> wanted_traffic_class(const Intent& intent, const std::string& port) {
  const Entry* const tos = intent.want.find(Path(row("interface[*]/roce-tos"), {port}));
  if (tos == nullptr || tos->value.kind() != Value::Kind::integer) return std::nullopt;
  return static_cast<std::uint8_t>(tos->value.as_integer());
}

}  // namespace lockstep
