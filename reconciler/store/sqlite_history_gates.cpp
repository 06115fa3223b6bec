// The gates in a store's history: changes that they have not judged yet, and steps that were rolled back
// because of them.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "reconciler/engine/gate_json.hpp"
#include "reconciler/store/layout.hpp"
#include "reconciler/store/sqlite_history.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::json;

constexpr const char* kRefuse =
    "INSERT INTO refused(digest, change, why, cleared, times) VALUES(?, ?, ?, ?, 1) "
    "ON CONFLICT(digest) DO UPDATE SET times = times + 1, change = excluded.change, why = excluded.why, "
    "cleared = excluded.cleared";

std::set<std::string> subjects_of(const std::string& text) {
  std::set<std::string> out;
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_array())
    for (const Json& one : json)
      if (one.is_string()) out.insert(one.get<std::string>());
  return out;
}

}  // namespace

Result<Done> SqliteHistory::gate(std::uint64_t change, GateState state) {
  TRY(Transaction whole, file_.write());
  TRY_DONE(update(file_.database(),
                  Statement(file_.database(),
                            "UPDATE changes SET gate = ?1, subjects = NULL, measured_before = CASE ?1 WHEN 1 "
                            "THEN measured_before END WHERE id = ?2")
                      .bind(static_cast<std::uint64_t>(state))
                      .bind(change),
                  "change " + std::to_string(change)));
  return whole.commit();
}

Result<Done> SqliteHistory::keep_before(std::uint64_t change, const GateMeasurement& measured) {
  TRY(Transaction whole, file_.write());
  TRY_DONE(update(file_.database(),
                  Statement(file_.database(), "UPDATE changes SET measured_before = ? WHERE id = ?")
                      .bind(text_of(measured))
                      .bind(change),
                  "change " + std::to_string(change)));
  return whole.commit();
}

Result<std::optional<GateMeasurement>> SqliteHistory::kept_before(std::uint64_t change) const {
  TRY(const SqliteFile::Reading from, file_.read());
  std::optional<GateMeasurement> none;
  if (from.layout < kLayoutOfBefore) return none;
  std::string text;
  TRY_DONE(Statement(from.database, "SELECT measured_before FROM changes WHERE id = ?")
               .bind(change)
               .each([&text](const Statement& row) { text = row.text(0); }));
  if (text.empty()) return none;
  Result<GateMeasurement> kept = measurement_of(text);
  if (kept) return std::optional(*std::move(kept));
  return wrap(fmt::format("{}: what was measured before change {} is damaged", from.database.file(), change),
              std::move(kept.error()));
}

Result<Done> SqliteHistory::owe(std::uint64_t change, const std::set<std::string>& subjects) {
  if (subjects.empty()) return gate(change, GateState::owed);
  TRY(Transaction whole, file_.write());
  TRY_DONE(update(file_.database(),
                  Statement(file_.database(), "UPDATE changes SET gate = ?, subjects = ? WHERE id = ?")
                      .bind(static_cast<std::uint64_t>(GateState::owed))
                      .bind(stored_text(Json(subjects)))
                      .bind(change),
                  "change " + std::to_string(change)));
  return whole.commit();
}

Result<std::vector<OwedChange>> SqliteHistory::owed() const {
  TRY(const SqliteFile::Reading from, file_.read());
  std::vector<OwedChange> all;
  if (from.layout < kLayoutOfGates) return all;
  const std::string text = std::string("SELECT id, begun, author, ") +
                           (from.layout < kLayoutOfRefused ? "NULL" : "subjects") +
                           " FROM changes WHERE gate = 1 ORDER BY id";
  TRY_DONE(Statement(from.database, text).each([&all](const Statement& row) {
    all.push_back({row.number(0), row.text(1), row.text(2), {}, subjects_of(row.text(3))});
  }));
  for (OwedChange& one : all) {
    TRY(auto tickets, tickets_of(from.database, one.change));
    for (RecordedTicket& each : tickets)
      if (each.state != TicketState::undone) one.tickets.push_back(std::move(each.ticket));
  }
  std::erase_if(all, [](const OwedChange& one) { return one.tickets.empty(); });
  return all;
}

Result<Done> SqliteHistory::refuse(const std::vector<RefusedWrite>& steps) {
  TRY(Transaction whole, file_.write());
  for (const RefusedWrite& one : steps)
    TRY_DONE(Statement(file_.database(), kRefuse)
                 .bind(one.digest)
                 .bind(one.change)
                 .bind(one.why)
                 .bind(std::uint64_t{one.cleared})
                 .run());
  return whole.commit();
}

Result<Done> SqliteHistory::accept(const std::vector<std::string>& digests) {
  TRY(Transaction whole, file_.write());
  for (const std::string& one : digests)
    TRY_DONE(Statement(file_.database(), "DELETE FROM refused WHERE digest = ?").bind(one).run());
  return whole.commit();
}

Result<std::vector<RefusedWrite>> SqliteHistory::refused() const {
  TRY(const SqliteFile::Reading from, file_.read());
  std::vector<RefusedWrite> all;
  if (from.layout < kLayoutOfRefused) return all;
  TRY_DONE(Statement(from.database, "SELECT digest, change, why, cleared, times FROM refused ORDER BY digest")
               .each([&all](const Statement& row) {
                 all.push_back({row.text(0), row.number(1), row.text(2), row.number(3) != 0, row.number(4)});
               }));
  return all;
}

}  // namespace lockstep
