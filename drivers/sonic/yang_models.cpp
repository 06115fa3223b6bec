#include "drivers/sonic/yang_models.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "drivers/sonic/yang_rules.hpp"
#include "drivers/sonic/yang_translation.hpp"
#include "drivers/sonic/yang_validation.hpp"

namespace lockstep::sonic {

namespace {

// By table and row: libyang's own order is that of its models.
ConfigFindings in_order(ConfigFindings findings) {
  std::ranges::stable_sort(findings.faults, {},
                           [](const ConfigFault& one) { return std::tie(one.table, one.key, one.field); });
  return findings;
}

}  // namespace

struct YangModels::Loaded {
  YangSchema schema;
  Result<YangRules> rules;
};

YangModels::YangModels(std::unique_ptr<Loaded> loaded) : loaded_(std::move(loaded)) {}
YangModels::~YangModels() = default;
YangModels::YangModels(YangModels&&) noexcept = default;
YangModels& YangModels::operator=(YangModels&&) noexcept = default;

Result<YangModels> YangModels::load(const std::string& folder) {
  if (const std::string why = why_no_libyang(); !why.empty())
    return Error{ErrorKind::unsupported, "SONiC's models need libyang 2: " + why};
  TRY(YangSchema schema, load_yang_schema(folder));
  Result<YangRules> rules = compile_yang_rules(schema);
  return YangModels(std::make_unique<Loaded>(Loaded{std::move(schema), std::move(rules)}));
}

ConfigFindings YangModels::check(const ConfigDb& config) const {
  ConfigFindings findings;
  for (const auto& [name, rows] : config.tables)
    if (!loaded_->schema.tables.contains(name)) findings.without_model.push_back(name);
  YangData data(loaded_->schema, findings);
  translate(config, data);
  validate(data);
  findings.partial = data.lacks_rows();
  return in_order(std::move(findings));
}

ConfigFindings YangModels::check_yang(const nlohmann::json& json) const {
  ConfigFindings findings;
  YangData data(loaded_->schema, findings);
  translate_yang(json, data);
  validate(data);
  findings.partial = data.lacks_rows();
  return in_order(std::move(findings));
}

const YangSchema& YangModels::schema() const { return loaded_->schema; }
const Result<YangRules>& YangModels::rules() const { return loaded_->rules; }
std::size_t YangModels::models() const { return loaded_->schema.modules.size(); }
std::size_t YangModels::tables() const { return loaded_->schema.tables.size(); }

}  // namespace lockstep::sonic
