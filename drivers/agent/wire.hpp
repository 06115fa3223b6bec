// The messages between a controller and lockstep-agent (docs/agents.md): the JSON bodies of protocol 1, to
// and from the driver interface's types.
//
// Contract: encoding and decoding are inverse, for every value that a Tree can hold; entries are in path
// order on the wire. Decoders ignore unknown fields, so that a newer sender is understood; an unknown row is
// skipped in what an agent reports, and is `unsupported` in what a controller asks for. Everything else that
// does not fit is an error (invalid_spec) that names the field; no input crashes, and what it may cost is
// bounded before it is parsed (bounded_json.hpp).
//
// An epoch belongs to one leader, named by the optional field `leader`, another one each time that somebody
// takes leadership: controllers with copies of one store may have given out the same epoch.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/driver.hpp"

namespace lockstep::wire {

constexpr std::uint32_t kProtocol = 1;  // in every path: /v1/observe

// Who an agent is, and in which state.
struct Hello {
  std::uint32_t protocol = kProtocol;
  std::string version;  // of the program
  std::string cluster;
  std::string device;
  std::string boot_id;     // /proc/sys/kernel/random/boot_id
  std::string machine_id;  // machine-id(5)
  std::vector<Traits> drivers;
  std::uint64_t epoch = 0;  // the highest that it has accepted
  std::string leader{};     // of that epoch
  std::string armed;        // the transaction that it rolls back unless it is settled; empty: none
  std::string hold;         // why it accepts no writes (`lockstep-agent hold`); empty: it accepts them
  std::string failed_undo;  // what could not be rolled back; empty: nothing
};

struct ObserveRequest {
  std::string driver;
  Scope scope;
  std::string if_not;
  std::uint64_t epoch = 0;
  std::string leader{};
};

struct ApplyRequest {
  std::string driver;
  ChangeSet changes;
  Guard guard;
  std::string leader{};  // of Guard::epoch
};

struct SettleRequest {
  std::string transaction;
  Settlement settlement = Settlement::keep;
  std::uint64_t epoch = 0;
  std::string leader{};
};

struct RemedyRequest {
  std::string driver;
  ChangeSet effects;
  std::uint64_t epoch = 0;
  std::string leader{};
};

struct UsageRequest {
  std::string driver;
  Path entry;
};

std::string encode(const Hello& hello);
std::string encode(const ObserveRequest& request);
std::string encode(const ApplyRequest& request);
std::string encode(const SettleRequest& request);
std::string encode(const RemedyRequest& request);
std::string encode(const UsageRequest& request);
std::string encode(const Observation& observation);
std::string encode(const Receipt& receipt);
std::string encode(const Usage::Use& use);
std::string encode(const Woken& woken);
std::string encode(const Error& error);
std::string encode(Done done);

Result<Hello> decode_hello(std::string_view body);
Result<ObserveRequest> decode_observe(std::string_view body);
Result<ApplyRequest> decode_apply(std::string_view body);
Result<SettleRequest> decode_settle(std::string_view body);
Result<RemedyRequest> decode_remedy(std::string_view body);
Result<UsageRequest> decode_usage(std::string_view body);
// `sent`: when it was asked for. What was read is no older than that.
Result<Observation> decode_observation(std::string_view body, std::chrono::steady_clock::time_point sent);
Result<Receipt> decode_receipt(std::string_view body);
Result<Usage::Use> decode_use(std::string_view body);
Result<Woken> decode_woken(std::string_view body);
Result<Done> decode_done(std::string_view body);
// The error that a body reports; a body that is none of ours becomes one of `otherwise`, with `what`.
Error decode_error(std::string_view body, ErrorKind otherwise, const std::string& what);

// For files that outlive a process (the agent's journal), in the same form.
nlohmann::json changes_json(const ChangeSet& changes);
Result<ChangeSet> changes_from_json(const nlohmann::json& json);

}  // namespace lockstep::wire
