// SwitchDatabases: the stand-in's side of the switch's Redis: it makes CONFIG_DB what a switch begins with,
// reads it, and keeps APPL_DB and STATE_DB as it reports.
//
// Promises: an empty CONFIG_DB is filled in one transaction, with CONFIG_DB_INITIALIZED; one that has rows is
// left as it is, but that each port of the hardware has a row of PORT. A Redis that was started again has
// what was reported written anew. Refuses (transient) to read a CONFIG_DB that others are filling.
#pragma once

#include <string>
#include <vector>

#include "drivers/sonic/config_store.hpp"
#include "reconciler/sonic_stand_in/first_config.hpp"
#include "reconciler/sonic_stand_in/reported_rows.hpp"

namespace lockstep::sonic {

class SwitchDatabases {
 public:
  SwitchDatabases(const RedisServer& server, SwitchIdentity identity);

  // `ports`: of the hardware.
  Result<ConfigDb> read(const std::vector<std::string>& ports, std::vector<std::string>& notes,
                        const Call& call);
  Result<Done> report_appl(const ReportedRows& rows, const Call& call);
  Result<Done> report_state(const ReportedRows& rows, const Call& call);

 private:
  // A database that only the stand-in writes, and what it has written.
  struct Reporting {
    RedisConnection connection;
    ReportedRows rows{};
  };
  Result<Done> fill_if_empty(const std::vector<std::string>& ports, std::vector<std::string>& notes,
                             const Call& call);
  Result<Done> add_ports(ConfigDb& config, const std::vector<std::string>& ports, const Call& call);
  Result<Done> begin_reports(const Call& call);
  static Result<Done> report(Reporting& reporting, const ReportedRows& rows, const Call& call);

  SwitchIdentity identity_;
  RedisConnection config_;
  ConfigStore store_;
  Reporting appl_;
  Reporting state_;
  std::string run_id_;  // of the Redis that the reports are in
};

}  // namespace lockstep::sonic
