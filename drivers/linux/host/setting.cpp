#include "drivers/linux/host/setting.hpp"

#include <map>

namespace lockstep {

Error not_written(const Change& change) {
  return {ErrorKind::unsupported, change.path.text() + " is read here, and not written"};
}

Value in_common(const std::vector<Value>& values) {
  if (values.empty()) return {};
  std::map<std::string, std::size_t> counts;
  for (const Value& one : values) ++counts[one.to_string()];
  if (counts.size() == 1) return values.front();
  std::string text;
  for (const auto& [value, count] : counts)
    text += (text.empty() ? "" : ", ") + value + " (" + std::to_string(count) + " of " +
            std::to_string(values.size()) + ")";
  return Value::text(text);
}

Result<bool> wanted_boolean(const Change& change) {
  if (change.want.kind() == Value::Kind::boolean) return change.want.as_boolean();
  return Error{ErrorKind::invalid_spec, change.path.text() + " takes true or false, and can't be unset"};
}

Result<std::string> wanted_text(const Change& change) {
  if (change.want.kind() == Value::Kind::text) return std::string(change.want.as_text());
  return Error{ErrorKind::invalid_spec, change.path.text() + " takes a text, and can't be unset"};
}

}  // namespace lockstep
