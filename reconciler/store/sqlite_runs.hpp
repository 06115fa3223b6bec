// SqliteRuns: the runs of a store in its SQLite file, written on a connection of their own.
#pragma once

#include "reconciler/store/runs.hpp"
#include "reconciler/store/sqlite_file.hpp"

namespace lockstep {

class SqliteRuns final : public Runs {
 public:
  explicit SqliteRuns(SqliteFile& file) : file_(file) {}

  Result<std::uint64_t> record(const FileLock& turn, const MeasuredRun& run) override;
  Result<std::vector<RunHead>> newest(std::size_t count, std::optional<RunPurpose> purpose) const override;
  Result<std::vector<RunHead>> of_change(std::uint64_t change) const override;
  Result<std::optional<MeasuredRun>> find(std::uint64_t number) const override;
  Result<std::vector<FigureOfRun>> figures_of(const std::string& name, Metric metric) const override;
  Result<RunTotals> totals() const override;
  Result<std::vector<std::string>> suites_of(std::uint64_t number) const override;

 private:
  SqliteFile& file_;
};

}  // namespace lockstep
