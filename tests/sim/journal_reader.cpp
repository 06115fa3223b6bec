#include "journal_reader.hpp"

#include <sqlite3.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "reconciler/engine/ledger.hpp"
#include "specs/model/value_json.hpp"

namespace lockstep::simulation {
namespace {

// The number of rows written to any database of this process, which is single-threaded.
std::uint64_t writes = 0;

// The current commit check; empty: none.
std::function<bool()> refuses_commit;

// Called for every connection opened from now on (sqlite3_auto_extension(3)).
int follow_connection(sqlite3* database, char**, const sqlite3_api_routines*) {
  sqlite3_commit_hook(
      database, [](void*) { return refuses_commit && refuses_commit() ? 1 : 0; }, nullptr);
  sqlite3_update_hook(
      database, [](void*, int, const char*, const char*, sqlite3_int64) { ++writes; }, nullptr);
  return SQLITE_OK;
}

std::string state_text(TicketState state) { return std::to_string(static_cast<int>(state)); }

ChangeSet changes_of(const std::string& text) {
  ChangeSet changes;
  for (const nlohmann::json& one : nlohmann::json::parse(text)) {
    const Path path = *Path::parse(one.at("path").get<std::string>());
    changes.push_back(
        {path, *value_from_json(path.row(), one.at("was")), *value_from_json(path.row(), one.at("want")), 0});
  }
  return changes;
}

}  // namespace

class JournalReader::Query {
 public:
  Query(sqlite3* database, const char* text) {
    if (sqlite3_prepare_v2(database, text, -1, &statement_, nullptr) != SQLITE_OK)
      throw std::runtime_error(std::string("the journal: ") + sqlite3_errmsg(database));
  }
  ~Query() { sqlite3_finalize(statement_); }
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;

  Query& with(std::uint64_t number) {
    sqlite3_bind_int64(statement_, 1, static_cast<sqlite3_int64>(number));
    return *this;
  }
  Query& with(const std::string& text) {
    sqlite3_bind_text(statement_, 1, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
    return *this;
  }
  template <class Row>
  void each(Row row) {
    while (sqlite3_step(statement_) == SQLITE_ROW) row(*this);
    sqlite3_reset(statement_);
  }
  std::uint64_t one() {
    std::uint64_t answer = 0;
    each([&answer](const Query& row) { answer = row.number(0); });
    return answer;
  }
  std::uint64_t number(int column) const {
    return static_cast<std::uint64_t>(sqlite3_column_int64(statement_, column));
  }
  std::string text(int column) const {
    const auto* const bytes = sqlite3_column_text(statement_, column);
    return bytes == nullptr ? std::string() : std::string(reinterpret_cast<const char*>(bytes));
  }

 private:
  sqlite3_stmt* statement_ = nullptr;
};

void JournalReader::Closer::operator()(sqlite3* database) const { sqlite3_close(database); }

JournalReader::JournalReader(const std::string& directory, std::function<bool()> refuses)
    : file_(directory + "/journal.sqlite"), writes_seen_(writes) {
  static const int counts = sqlite3_auto_extension(reinterpret_cast<void (*)()>(&follow_connection));
  if (counts != SQLITE_OK) throw std::runtime_error("the writes to journals can't be counted");
  refuses_commit = std::move(refuses);
}

JournalReader::~JournalReader() { refuses_commit = {}; }

bool JournalReader::moved() { return std::exchange(writes_seen_, writes) != writes; }

JournalReader::Query& JournalReader::query(const char* text) {
  if (!database_) {
    sqlite3* database = nullptr;
    const int opened = sqlite3_open_v2(file_.c_str(), &database, SQLITE_OPEN_READONLY, nullptr);
    database_.reset(database);
    if (opened != SQLITE_OK) throw std::runtime_error(file_ + ": " + sqlite3_errmsg(database));
  }
  std::unique_ptr<Query>& known = queries_[text];
  if (!known) known = std::make_unique<Query>(database_.get(), text);
  return *known;
}

std::uint64_t JournalReader::epoch() { return query("SELECT MAX(epoch) FROM epochs").one(); }

std::vector<NotedChange> JournalReader::changes_after(std::uint64_t id) {
  std::vector<NotedChange> all;
  query("SELECT id, epoch, reason FROM changes WHERE id > ? ORDER BY id")
      .with(id)
      .each([&](const Query& row) {
        all.push_back({row.number(0), row.number(1), row.text(2)});
      });
  return all;
}

std::vector<NotedTicket> JournalReader::tickets_after(std::uint64_t place) {
  std::vector<NotedTicket> all;
  query("SELECT rowid, ticket, change, device FROM tickets WHERE rowid > ? ORDER BY rowid")
      .with(place)
      .each([&](const Query& row) {
        all.push_back({row.number(0), row.text(1), row.number(2), row.text(3)});
      });
  return all;
}

std::uint64_t JournalReader::ended() {
  return query("SELECT COUNT(*) FROM changes WHERE ended IS NOT NULL").one();
}

std::uint64_t JournalReader::not_ended() {
  return query("SELECT COUNT(*) FROM changes WHERE ended IS NULL").one();
}

std::string JournalReader::outcome(std::uint64_t change) {
  std::string out;
  query("SELECT outcome FROM changes WHERE id = ?").with(change).each([&out](const Query& row) {
    out = row.text(0);
  });
  return out;
}

bool JournalReader::is_open(const std::string& ticket) {
  static const std::string text =
      "SELECT COUNT(*) FROM tickets WHERE ticket = ? AND state = " + state_text(TicketState::begun);
  return query(text.c_str()).with(ticket).one() != 0;
}

std::vector<std::string> JournalReader::open_tickets(std::uint64_t epoch) {
  static const std::string text =
      "SELECT ticket FROM tickets JOIN changes ON changes.id = tickets.change "
      "WHERE changes.epoch = ? AND changes.ended IS NOT NULL AND tickets.state = " +
      state_text(TicketState::begun);
  std::vector<std::string> all;
  query(text.c_str()).with(epoch).each([&all](const Query& row) { all.push_back(row.text(0)); });
  return all;
}

std::vector<std::pair<std::string, ChangeSet>> JournalReader::writes_of(std::uint64_t change) {
  static const std::string text = "SELECT device, writes FROM tickets WHERE change = ? AND state <> " +
                                  state_text(TicketState::undone) + " ORDER BY rowid";
  std::vector<std::pair<std::string, ChangeSet>> all;
  query(text.c_str()).with(change).each([&all](const Query& row) {
    all.emplace_back(row.text(0), changes_of(row.text(1)));
  });
  return all;
}

}  // namespace lockstep::simulation
