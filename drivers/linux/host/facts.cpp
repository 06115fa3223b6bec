#include "drivers/linux/host/facts.hpp"

#include <map>

#include "drivers/linux/host/host_part.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {

std::vector<HostFact> host_facts(const LinuxTarget& target, const Call& call) {
  const auto part = host_part(target);
  TreeBuilder builder;
  std::vector<Unread> unread;
  part->read(Scope{}, {}, builder, unread, call);
  const Tree tree = builder.build();
  std::map<RowId, HostFact> by_row;
  for (const Entry& entry : tree.entries()) {
    std::string& value = by_row[entry.path.row()].value;
    const std::string key = entry.path.key_count() > 0 ? std::string(entry.path.key(0)) : "";
    const std::string said = entry.value == Value::present() ? "" : entry.value.to_string();
    value += (value.empty() ? "" : ", ") + key + (key.empty() || said.empty() ? "" : " ") + said;
  }
  for (const Unread& one : unread)
    if (by_row[one.row].value.empty()) by_row[one.row].missing = one.why.text();
  for (const Incapable& one : part->incapable({}, {}, call))
    if (by_row[one.row].value.empty()) by_row[one.row].missing = one.reason;
  for (const RowId row : part->reads())
    if (schema_row(row).pattern.find('[') == std::string_view::npos && by_row[row].value.empty() &&
        by_row[row].missing.empty())
      by_row[row].missing = "not set";
  std::vector<HostFact> out;
  for (auto& [row, fact] : by_row) {
    fact.what = schema_row(row).pattern;
    out.push_back(std::move(fact));
  }
  out.push_back({"iommu", iommu_text(HostFiles(target.root)), ""});
  return out;
}

std::string iommu_text(const HostFiles& files) {
  constexpr std::string_view kGroups = "/sys/kernel/iommu_groups";
  std::map<std::string, std::size_t> types;
  for (const std::string& group : files.names(kGroups)) {
    const auto type = files.line(std::string(kGroups) + "/" + group + "/type");
    ++types[type ? *type : "of unknown type"];
  }
  std::string out;
  for (const auto& [type, count] : types)
    out += (out.empty() ? "" : ", ") + type + " (" + std::to_string(count) + " groups)";
  return out.empty() ? "none" : out;
}

}  // namespace lockstep
