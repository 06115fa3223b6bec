// SqliteHistory: the history of a store in its SQLite file.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "reconciler/store/history.hpp"
#include "reconciler/store/sqlite_file.hpp"

namespace lockstep {

class SqliteHistory final : public History {
 public:
  explicit SqliteHistory(SqliteFile& file) : file_(file) {}

  std::uint64_t epoch() const override { return file_.epoch(); }
  Result<std::uint64_t> begin(const Plan& plan, const std::string& author,
                              const std::string& reason) override;
  Result<Done> ticket(std::uint64_t change, const LedgerTicket& ticket) override;
  Result<Done> receipt(const std::string& ticket, TicketState state, const std::string& note) override;
  Result<Done> gate(std::uint64_t change, GateState state) override;
  Result<Done> owe(std::uint64_t change, const std::set<std::string>& subjects) override;
  Result<Done> keep_before(std::uint64_t change, const GateMeasurement& measured) override;
  Result<Done> refuse(const std::vector<RefusedWrite>& steps) override;
  Result<Done> accept(const std::vector<std::string>& digests) override;
  Result<std::vector<RefusedWrite>> refused() const override;
  Result<Done> end(std::uint64_t change, const std::string& outcome) override;
  Result<Done> cure(const std::string& device, const std::string& remedy, WallTime at) override;
  Result<std::size_t> cures(const std::string& device, const std::string& remedy,
                            WallTime since) const override;
  Result<std::vector<InFlight>> in_flight() const override;
  Result<std::vector<OwedChange>> owed() const override;
  Result<std::optional<GateMeasurement>> kept_before(std::uint64_t change) const override;
  Result<std::vector<ChangeRecord>> changes(std::size_t newest) const override;
  Result<std::optional<ChangeRecord>> change(std::uint64_t number) const override;
  Result<TouchedDevices> touched(std::uint64_t change) const override;
  Result<std::vector<RecordedTicket>> tickets(std::uint64_t change) const override;
  Result<HistoryTotals> totals() const override;
  Result<std::vector<WrittenEntry>> written() const override;
  Result<Done> note(const std::vector<WrittenEntry>& entries) override;
  Result<Done> forget(const std::vector<WrittenEntry>& entries) override;

 private:
  // Called within a transaction.
  Result<Done> forget_old() const;
  Result<Done> remember_tried(const std::string& device, const ChangeSet& changes) const;
  Result<Done> remember_outcome(const std::string& ticket, TicketState state) const;

  SqliteFile& file_;
};

// The tickets of a change, in the order of the writes.
Result<std::vector<RecordedTicket>> tickets_of(const Database& database, std::uint64_t change);
// Runs an update; it is an error if no row matches.
Result<Done> update(const Database& database, Statement& statement, const std::string& what);

// JSON as it is stored. Bytes from a device that are not UTF-8 are stored as U+FFFD: JSON can't express them.
std::string stored_text(const nlohmann::json& json);

}  // namespace lockstep
