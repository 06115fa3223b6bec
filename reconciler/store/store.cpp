#include "reconciler/store/store.hpp"

#include <nlohmann/json.hpp>

#include "reconciler/store/sqlite_file.hpp"
#include "reconciler/store/sqlite_history.hpp"
#include "reconciler/store/sqlite_runs.hpp"
#include "reconciler/store/utc_text.hpp"

namespace lockstep {
namespace {

class FileLeadership final : public Leadership {
 public:
  explicit FileLeadership(SqliteFile& file) : file_(file) {}
  Result<std::uint64_t> take(const std::string& command) override { return file_.lead(command); }
  Result<std::uint64_t> raise_above(std::uint64_t epoch) override { return file_.raise_above(epoch); }
  void resign() override { file_.resign(); }
  std::uint64_t epoch() const override { return file_.epoch(); }
  std::optional<std::string> holder() const override { return writer_of(file_.directory()); }

 private:
  SqliteFile& file_;
};

class SqliteBlobs final : public Blobs {
 public:
  explicit SqliteBlobs(SqliteFile& file) : file_(file) {}

  Result<Done> keep(const std::string& key, const nlohmann::json& blob) override {
    TRY(Transaction whole, file_.write());
    TRY_DONE(Statement(file_.database(),
                       "INSERT INTO kept(key, value, written) VALUES(?, ?, ?) "
                       "ON CONFLICT(key) DO UPDATE SET value = excluded.value, written = excluded.written")
                 .bind(key)
                 .bind(stored_text(blob))
                 .bind(utc_text(file_.now()))
                 .run());
    return whole.commit();
  }

  Result<std::optional<nlohmann::json>> kept(const std::string& key) const override {
    TRY(const SqliteFile::Reading from, file_.read());
    std::optional<std::string> text;
    TRY_DONE(Statement(from.database, "SELECT value FROM kept WHERE key = ?")
                 .bind(key)
                 .each([&text](const Statement& row) { text = row.text(0); }));
    if (!text) return std::optional<nlohmann::json>();
    nlohmann::json json = nlohmann::json::parse(*text, nullptr, false);
    if (json.is_discarded())
      return Error{ErrorKind::refused,
                   from.database.file() + ": what is kept under '" + key + "' is no JSON; remove that row"};
    return std::optional<nlohmann::json>(std::move(json));
  }

  Result<std::vector<BlobEntry>> list() const override {
    TRY(const SqliteFile::Reading from, file_.read());
    std::vector<BlobEntry> all;
    TRY_DONE(
        Statement(from.database, "SELECT key, written, LENGTH(CAST(value AS BLOB)) FROM kept ORDER BY key")
            .each([&all](const Statement& row) {
              all.push_back({row.text(0), row.text(1), row.number(2)});
            }));
    return all;
  }

 private:
  SqliteFile& file_;
};

class SqliteStore final : public Store {
 public:
  SqliteStore(const std::string& directory, const StoreOptions& options) : file_(directory, options) {}
  Leadership& leadership() override { return leadership_; }
  History& history() override { return history_; }
  Blobs& blobs() override { return blobs_; }
  Runs& runs() override { return runs_; }
  SqliteFile& file() { return file_; }

 private:
  SqliteFile file_;
  FileLeadership leadership_{file_};
  SqliteHistory history_{file_};
  SqliteBlobs blobs_{file_};
  SqliteRuns runs_{file_};
};

}  // namespace

Result<std::unique_ptr<Store>> open_store(const std::string& directory, const StoreOptions& options) {
  auto store = std::make_unique<SqliteStore>(directory, options);
  TRY([[maybe_unused]] const SqliteFile::Reading readable, store->file().read());
  return std::unique_ptr<Store>(std::move(store));
}

}  // namespace lockstep
