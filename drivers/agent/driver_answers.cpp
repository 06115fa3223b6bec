#include "drivers/agent/driver_answers.hpp"

#include <algorithm>
#include <utility>

#include "drivers/agent/wire.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep::agent_answers {
namespace {

std::string invalid_answer(const char* call, const std::string& what) {
  return std::string("its answer to ") + call + " is invalid: " + what;
}

template <class T>
Result<T> readable(const char* call, Result<T> decoded) {
  if (decoded) return decoded;
  return Error{ErrorKind::refused, invalid_answer(call, decoded.error().text())};
}

// What was asked may have been done.
Error unknown_after(const char* call, const std::string& what) {
  return Error{ErrorKind::unknown_outcome,
               invalid_answer(call, what) + "; whether it did what was asked is unknown"};
}

Result<Done> done_from(const char* call, const std::string& body) {
  auto done = wire::decode_done(body);
  if (!done) return unknown_after(call, done.error().text());
  return done;
}

// An agent that is stopped stops its calls: nobody here asked for it.
void not_stopped_here(Error& error) {
  if (error.kind == ErrorKind::cancelled) error.kind = ErrorKind::transient;
}

std::string names_of(const std::vector<Traits>& drivers) {
  std::string out;
  for (const Traits& one : drivers) out += (out.empty() ? "" : ", ") + one.driver;
  return out.empty() ? "none" : out;
}

}  // namespace

Result<Traits> traits_from(const std::string& hello, const Wanted& wanted) {
  TRY(const wire::Hello said, readable("hello", wire::decode_hello(hello)));
  if (said.protocol != wire::kProtocol)
    return Error{ErrorKind::unsupported, "it speaks protocol " + std::to_string(said.protocol) + ", not " +
                                             std::to_string(wire::kProtocol) + " (lockstep-agent " +
                                             said.version + ")"};
  if (said.cluster != wanted.cluster)
    return Error{ErrorKind::denied, "it is in cluster " + said.cluster + ", not " + wanted.cluster};
  if (said.device != wanted.device)
    return Error{ErrorKind::denied, "it is device " + said.device + ", not " + wanted.device};
  const auto found = std::ranges::find(said.drivers, wanted.driver, &Traits::driver);
  if (found == said.drivers.end())
    return Error{ErrorKind::unsupported,
                 "it has no driver " + wanted.driver + "; it has: " + names_of(said.drivers)};
  Traits out = *found;
  for (const RowId row : out.writes)
    if (std::ranges::find(out.reads, row) == out.reads.end())
      return Error{ErrorKind::refused,
                   invalid_answer("hello", "field 'writes' has " + std::string(schema_row(row).pattern) +
                                               ", and 'reads' has not")};
  out.undoes_itself = true;  // the agent does, whatever its driver can do
  return out;
}

Result<Observation> observation_from(const std::string& body, std::chrono::steady_clock::time_point sent,
                                     const std::string& device, const Scope& scope) {
  TRY(Observation out, readable("observe", wire::decode_observation(body, sent)));
  const auto invalid = [](const std::string& what) {
    return Error{ErrorKind::refused, invalid_answer("observe", what)};
  };
  if (out.device != device)
    return Error{ErrorKind::denied,
                 invalid_answer("observe", "field 'device' is '" + out.device + "', not '" + device + "'")};
  for (const Entry& entry : out.have.entries())
    if (!scope.wants(entry.path.row()))
      return invalid("field 'entries' has " + entry.path.text() + ", which was not asked for");
  for (const Incapable& one : out.incapable)
    if (!scope.wants(one.row))
      return invalid("field 'unsupported' has " + std::string(schema_row(one.row).pattern) +
                     ", which was not asked for");
  for (Unread& one : out.unread) not_stopped_here(one.why);
  return out;
}

Result<Receipt> receipt_from(const std::string& body, const ChangeSet& changes, const std::string& ticket) {
  auto decoded = wire::decode_receipt(body);
  if (!decoded) return unknown_after("apply", decoded.error().text());
  Receipt& receipt = *decoded;
  if (receipt.ticket != ticket)
    return unknown_after("apply", "field 'ticket' is '" + receipt.ticket + "', not '" + ticket + "'");
  if (receipt.outcomes.size() != changes.size())
    return unknown_after("apply", "field 'outcomes' has " + std::to_string(receipt.outcomes.size()) +
                                      " for " + std::to_string(changes.size()) + " changes");
  for (std::size_t i = 0; i < changes.size(); ++i)
    if (receipt.outcomes[i].path != changes[i].path)
      return unknown_after("apply", "field 'outcomes' has " + receipt.outcomes[i].path.text() + " at " +
                                        std::to_string(i) + ", where " + changes[i].path.text() +
                                        " was asked for");
  for (Receipt::Outcome& one : receipt.outcomes)
    if (one.error) not_stopped_here(*one.error);
  return decoded;
}

Result<Done> settled_from(const std::string& body) { return done_from("settle", body); }
Result<Done> cured_from(const std::string& body) { return done_from("remedy", body); }

Result<Usage::Use> use_from(const std::string& body) { return readable("usage", wire::decode_use(body)); }

}  // namespace lockstep::agent_answers
