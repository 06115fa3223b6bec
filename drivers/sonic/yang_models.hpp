// YangModels: SONiC's own YANG models, by which a configuration is translated and validated with libyang.
//
// Promises: models are loaded once, and checks leave nothing behind. The translation follows SONiC's
// (sonic_yang_ext.py), and only the models say which tables there are; what no model says is listed in
// yang_exceptions.hpp. libyang's verdict holds. Of a configuration that is not valid, every value of a wrong
// type, every dangling reference, every missing field and every broken rule (must) is a fault; of other kinds
// the first that libyang finds is. Numbers and booleans may be texts, as SONiC writes them: "9100" and 9100
// are the same. libyang writes nothing to standard error. Use an object in one thread at a time.
// libyang 2.1.30 itself loses memory where a rule compares a union: some 50 KB for each check of SONiC's
// sample of 198 tables. A process that checks for days does so in a child. Refuses (invalid_spec): folders
// without models, and models that libyang does not accept. An import that the folder does not have is an
// error, wherever else it may be on this machine.
#pragma once

#include <cstddef>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "drivers/sonic/config_db.hpp"
#include "drivers/sonic/findings.hpp"
#include "specs/model/result.hpp"

namespace lockstep::sonic {

struct YangRules;
struct YangSchema;

// Why libyang can't be called here, in dlopen(3)'s words; empty: it can.
std::string why_no_libyang();

class YangModels {
 public:
  // The .yang files of the folder, and of the folders in it.
  static Result<YangModels> load(const std::string& folder);

  ConfigFindings check(const ConfigDb& config) const;
  // Data that is in the form of the models already: {"sonic-port:sonic-port": {...}}.
  ConfigFindings check_yang(const nlohmann::json& data) const;

  const YangSchema& schema() const;
  // The same, compiled to be judged row by row; an error where a model has what can't be.
  const Result<YangRules>& rules() const;

  std::size_t models() const;
  std::size_t tables() const;

  ~YangModels();
  YangModels(YangModels&&) noexcept;
  YangModels& operator=(YangModels&&) noexcept;

 private:
  struct Loaded;
  explicit YangModels(std::unique_ptr<Loaded> loaded);
  std::unique_ptr<Loaded> loaded_;
};

}  // namespace lockstep::sonic
