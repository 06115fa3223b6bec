// The messages between controllers and agents: encoding and decoding are inverse, as recorded in
// tests/cases/agent/v1, newer senders are understood, and hostile text is an error.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

#include "wire_test_messages.hpp"

namespace lockstep::wire {
namespace {

using WireJson = nlohmann::json;

constexpr Time kSent{};
Result<Observation> decode_observation_now(std::string_view body) { return decode_observation(body, kSent); }
Result<ErrorBody> decode_error_now(std::string_view body) {
  return ErrorBody{decode_error(body, ErrorKind::transient, "no error of ours")};
}

template <class Message, class Decode>
void expect_inverse(const Message& message, const Decode& decode) {
  const std::string body = encode(message);
  const auto back = decode(body);
  ASSERT_TRUE(back) << back.error().text() << "\n" << body;
  ASSERT_EQ(held(*back), held(message)) << body;
}

TEST(Wire, EveryMessageIsDecodedAsItWasEncoded) {
  constexpr std::uint64_t kRounds = 200;
  for (std::uint64_t seed = 0; seed < kRounds && !::testing::Test::HasFatalFailure(); ++seed) {
    AnyMessage any(seed);
    SCOPED_TRACE("seed " + std::to_string(seed));
    expect_inverse(any.hello(), decode_hello);
    expect_inverse(any.observe(), decode_observe);
    expect_inverse(any.apply(), decode_apply);
    expect_inverse(any.settle(), decode_settle);
    expect_inverse(any.remedy(), decode_remedy);
    expect_inverse(any.usage(), decode_usage);
    expect_inverse(any.observation(), decode_observation_now);
    expect_inverse(any.receipt(), decode_receipt);
    expect_inverse(any.use(), decode_use);
    expect_inverse(any.woken(), decode_woken);
    expect_inverse(ErrorBody{any.error()}, decode_error_now);
  }
}

TEST(Wire, EntriesAreInPathOrder) {
  Observation observation;
  TreeBuilder builder;
  for (const char* const path : {"interface[rail10]/mtu", "interface[rail2]/mtu", "interface[rail2]/admin"})
    builder.add(*Path::parse(path), Value::integer(1));
  observation.have = builder.build();
  std::vector<std::string> paths;
  const WireJson body = WireJson::parse(encode(observation));
  for (const WireJson& one : body.at("entries")) paths.push_back(one.at(0));
  EXPECT_EQ(paths, (std::vector<std::string>{"interface[rail2]/admin", "interface[rail2]/mtu",
                                             "interface[rail10]/mtu"}));
}

TEST(Wire, TextOfADeviceThatIsNotUtf8IsReplaced) {
  Observation observation;
  observation.notes = {"port \xff is odd"};
  const auto back = decode_observation_now(encode(observation));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->notes, std::vector<std::string>{"port \xef\xbf\xbd is odd"});
}

// One message, as a newer or hostile sender would vary it.
struct WireCase {
  std::string name;
  std::string encoded;
  // What a body holds; an error of it.
  std::function<Result<std::string>(std::string_view)> decoded;
  std::string holds;
};

template <class Message, class Decode>
WireCase case_of(std::string name, const Message& message, const Decode& decode) {
  return {std::move(name), encode(message),
          [decode](std::string_view body) -> Result<std::string> {
            auto back = decode(body);
            if (!back) return std::move(back.error());
            return held(*back);
          },
          held(message)};
}

Path at(const char* path) { return *Path::parse(path); }

const char* const kLeader = "3f1c2b7e-94d0-4c1a-8a55-0d6e1b9f7c20";

std::vector<WireCase> wire_cases() {
  const Path mtu = at("interface[rail0]/mtu");
  const Path pfc = at("interface[rail0]/pfc");
  const Path odd = at("interface[ra\xffil]/admin");
  const RowId mtu_row = mtu.row();
  const Value set = Value::set({"3", "4"});
  const ChangeSet changes{{mtu, Value::integer(1500), Value::integer(9000), 0},
                          {pfc, {}, set, 0},
                          {odd, Value::boolean(true), Value::boolean(false), 0}};
  const ChangeSet undo{{mtu, Value::integer(9000), Value::integer(1500), 0}, {pfc, set, {}, 0}};
  Hello hello{.version = "0.3.0",
              .cluster = "rail-pod",
              .device = "gpu1",
              .boot_id = "0f9b2b1e-3a0c-4c57-9e5c-6a1b8f0d2c11",
              .machine_id = "9b1de2d7c4a04c5f8d2a6f3b7e1c0a55",
              .drivers = {{"linux", {mtu_row, pfc.row()}, {mtu_row}, false, true}},
              .epoch = 7,
              .leader = kLeader,
              .armed = "e7-c12-s3",
              .hold = "fans are being replaced",
              .failed_undo = "e6-c11-s2: interface[rail0]/mtu: no such device"};
  Observation observation;
  observation.device = "gpu1";
  observation.boot_id = hello.boot_id;
  observation.revision = "41d2";
  TreeBuilder builder;
  builder.add(mtu, Value::integer(9000));
  builder.add(pfc, set);
  builder.add(odd, Value::boolean(true));
  builder.add(at("bgp"), Value::present());
  builder.add(at("bgp/asn"), Value::integer(std::int64_t{4'200'000'000}));
  builder.add(at("memlock"), Value::text("\xff!"));
  builder.add(at("raw[x][banner]"), Value::secret("file:banner"));
  observation.have = builder.build();
  const Error busy{ErrorKind::unknown_outcome, "gpu1",
                   std::make_shared<const Error>(Error{ErrorKind::transient, "the reply was lost"})};
  observation.unread = {{mtu_row, {"rail1"}, busy}};
  observation.incapable = {{pfc.row(), {}, "veth: no DCB", true}};
  observation.notes = {"lldpd is not running"};
  observation.armed = "e7-c12-s3";
  observation.facts = {{"kernel", "6.1.0-23-amd64"}, {"serial", "SGH1234"}};
  const Guard guard{.ticket = "e7-c12-s3-1",
                    .revision = "41d2",
                    .epoch = 7,
                    .undo_after = std::chrono::minutes(2),
                    .transaction = "e7-c12-s3",
                    .undo = undo};
  const Receipt receipt{"e7-c12-s3-1", {{mtu, std::nullopt}, {pfc, busy}}, {"rail0 was reset"}};
  return {
      case_of("hello", hello, decode_hello),
      case_of("observe", ObserveRequest{"linux", {{mtu_row, pfc.row()}, {mtu, odd}}, "41d2", 7, kLeader},
              decode_observe),
      case_of("apply", ApplyRequest{"linux", changes, guard, kLeader}, decode_apply),
      case_of("settle", SettleRequest{"e7-c12-s3", Settlement::extend, 7, kLeader}, decode_settle),
      case_of(
          "remedy",
          RemedyRequest{
              "frr", {{at("fib[10.0.0.0/8]"), {}, Value::set({"via 10.0.0.1 dev rail0"}), 0}}, 7, kLeader},
          decode_remedy),
      case_of("usage", UsageRequest{"linux", mtu}, decode_usage),
      case_of("observation", observation, decode_observation_now),
      case_of("receipt", receipt, decode_receipt),
      case_of("use", Usage::Use{"packets of class 3 of rail0", 2, 18'446'744'073'709'551'615U}, decode_use),
      case_of("woken", Woken{true, {"gpu1"}}, decode_woken),
      case_of("error", ErrorBody{busy}, decode_error_now),
      case_of("done", Done{}, decode_done),
  };
}

TEST(Wire, MessagesAreAsRecordedForProtocolOne) {
  for (const WireCase& one : wire_cases()) {
    const std::string file = std::string(LOCKSTEP_SOURCE_DIR "/tests/cases/agent/v1/") + one.name + ".json";
    if (std::getenv("LOCKSTEP_UPDATE_CASES") != nullptr)
      std::ofstream(file) << WireJson::parse(one.encoded).dump(2) << "\n";
    std::ifstream in(file);
    std::stringstream recorded;
    recorded << in.rdbuf();
    ASSERT_FALSE(recorded.str().empty()) << file;
    EXPECT_EQ(WireJson::parse(one.encoded), WireJson::parse(recorded.str())) << file;
    const auto decoded = one.decoded(recorded.str());
    ASSERT_TRUE(decoded) << file << ": " << decoded.error().text();
    EXPECT_EQ(*decoded, one.holds) << file;
  }
}

// Calls `vary` with each object within a document, by reference.
void each_object(WireJson& json, const std::function<void(WireJson&)>& vary) {
  if (json.is_structured())
    for (WireJson& one : json) each_object(one, vary);
  if (json.is_object()) vary(json);
}

// {"bytes": ...} is a value, not a message: it has no other fields.
bool is_message_object(const WireJson& json) { return !json.contains("bytes") && !json.contains("secret"); }

TEST(Wire, UnknownFieldsAreIgnored) {
  for (const WireCase& one : wire_cases()) {
    WireJson newer = WireJson::parse(one.encoded);
    each_object(newer, [](WireJson& object) {
      if (is_message_object(object)) object["inAYear"] = {{"deep", {1, 2, {{"er", true}}}}};
    });
    const auto decoded = one.decoded(newer.dump());
    ASSERT_TRUE(decoded) << one.name << ": " << decoded.error().text();
    EXPECT_EQ(*decoded, one.holds) << one.name;
  }
}

TEST(Wire, UnknownRowsOfAnAgentAreSkipped) {
  for (const WireCase& one : wire_cases()) {
    WireJson newer = WireJson::parse(one.encoded);
    if (one.name == "hello")
      for (const char* const rows : {"reads", "writes"}) newer["drivers"][0][rows].push_back("warp[*]/speed");
    if (one.name == "observe") newer["rows"].push_back("warp[*]/speed");
    if (one.name == "observe") newer["named"].push_back("warp[core]/speed");
    if (one.name == "observation") {
      newer["entries"].push_back({"warp[core]/speed", {{"kind", "of its own"}}});
      newer["unread"].push_back({{"row", "warp[*]/speed"}, {"error", {{"kind", "transient"}}}});
      newer["unsupported"].push_back({{"row", "warp[*]/speed"}, {"reason", "no core"}});
    }
    const auto decoded = one.decoded(newer.dump());
    ASSERT_TRUE(decoded) << one.name << ": " << decoded.error().text();
    EXPECT_EQ(*decoded, one.holds) << one.name;
  }
}

TEST(Wire, UnknownRowsOfAControllerAreUnsupported) {
  const WireJson change{{"path", "warp[core]/speed"}, {"was", nullptr}, {"want", 9}};
  const std::vector<std::pair<std::string, WireJson>> asked{
      {"apply", {{"driver", "linux"}, {"changes", {change}}, {"guard", WireJson::object()}}},
      {"apply", {{"driver", "linux"}, {"changes", WireJson::array()}, {"guard", {{"undo", {change}}}}}},
      {"remedy", {{"driver", "linux"}, {"effects", {change}}}},
      {"usage", {{"driver", "linux"}, {"entry", "warp[core]/speed"}}},
      {"observe", {{"driver", "linux"}, {"rows", {"warp[*]/speed"}}}}};
  for (const auto& [name, body] : asked)
    for (const WireCase& one : wire_cases()) {
      if (one.name != name) continue;
      const auto decoded = one.decoded(body.dump());
      ASSERT_FALSE(decoded) << body;
      EXPECT_EQ(to_string(decoded.error().kind), to_string(ErrorKind::unsupported)) << body;
    }
}

// Calls `vary` with copies of a document in each of which one value, at any depth, is another.
void each_replaced(const WireJson& document, const WireJson& by,
                   const std::function<void(std::string)>& vary) {
  const WireJson flat = document.flatten();
  std::set<std::string> places;
  for (const auto& [pointer, value] : flat.items())
    for (std::size_t slash = pointer.size(); slash != std::string::npos && slash > 0;
         slash = pointer.rfind('/', slash - 1))
      places.insert(pointer.substr(0, slash));
  for (const std::string& place : places) {
    WireJson copy = document;
    copy[WireJson::json_pointer(place)] = by;
    vary(copy.dump());
  }
}

// Where a value of another type passes, it is a value of a tree or the field's empty value: decoding gives a
// message that is encoded again. Elsewhere it is an error that says what is wrong.
TEST(Wire, WrongTypesOfEveryFieldAreErrorsOrValues) {
  const std::vector<WireJson> replacements{nullptr,
                                           true,
                                           -1,
                                           1.5,
                                           1e300,
                                           "text",
                                           WireJson::array({WireJson::object()}),
                                           WireJson::object(),
                                           {{"bytes", 7}},
                                           {{"bytes", "f"}},
                                           {{"list", 3}},
                                           {{"secret", {{"bytes", "zz"}}}}};
  std::size_t refused = 0;
  for (const WireCase& one : wire_cases())
    for (const WireJson& by : replacements)
      each_replaced(WireJson::parse(one.encoded), by, [&](const std::string& body) {
        const auto decoded = one.decoded(body);
        if (decoded) return;
        ++refused;
        EXPECT_FALSE(decoded.error().text().empty());
        EXPECT_TRUE(decoded.error().kind == ErrorKind::invalid_spec ||
                    decoded.error().kind == ErrorKind::unsupported)
            << body << decoded.error().text();
      });
  EXPECT_GT(refused, 500U);
}

TEST(Wire, WrongTypesNameTheirField) {
  const auto apply = [](const std::string& guard) {
    return R"({"driver": "linux", "changes": [], "guard": )" + guard + "}";
  };
  const std::vector<std::pair<std::string, std::string>> wrong_fields{
      {apply(R"({"epoch": -1})"), "epoch"},
      {apply(R"({"epoch": 18446744073709551616})"), "epoch"},
      {apply(R"({"ticket": 1})"), "ticket"},
      {apply(R"({"undoAfterMs": 99999999999})"), "undoAfterMs"},
      {apply(R"({"undo": [{"path": "memlock", "was": 1.5, "want": null}]})"), "was"},
      {apply(R"({"undo": [{"path": "memlock", "was": null}]})"), "want"},
      {apply(R"({"undo": [{"was": null, "want": null}]})"), "path"},
      {apply("[]"), "guard"},
      {R"({"changes": []})", "guard"},
      {R"({"guard": {}})", "changes"}};
  for (const auto& [body, field] : wrong_fields) {
    const auto decoded = decode_apply(body);
    ASSERT_FALSE(decoded) << body;
    EXPECT_NE(decoded.error().text().find(field), std::string::npos) << decoded.error().text();
  }
  EXPECT_FALSE(decode_hello(R"({"protocol": 4294967297})"));
}

TEST(Wire, HostileTextIsAnError) {
  const std::string deep(100'000, '[');
  std::vector<std::string> bodies{"",
                                  " ",
                                  "nul",
                                  "[]",
                                  "7",
                                  "\"x\"",
                                  "{",
                                  "{}}",
                                  "\xff\xfe",
                                  R"({"driver": "\ud800"})",
                                  R"({"driver": 1e999})",
                                  R"({"epoch": )" + std::string(100'000, '9') + "}",
                                  deep,
                                  R"({"driver": )" + deep,
                                  R"({"cause":)" + std::string(50'000, '{'),
                                  R"({"a": [)" + std::string(4'100'000, ',') + "]}",
                                  R"({"driver": "linux", "driver": "frr"})",
                                  R"({"unknown": {"a": 1, "b:": ":", "a": 1}})"};
  for (const WireCase& one : wire_cases())
    for (const std::string& body : bodies) {
      const auto decoded = one.decoded(body);
      if (one.name == "error") {  // whatever it is, something went wrong at the other end
        ASSERT_TRUE(decoded);
        EXPECT_EQ(*decoded, held(Error{ErrorKind::transient, "no error of ours"}));
        continue;
      }
      EXPECT_FALSE(decoded) << one.name << ": " << body.substr(0, 60);
    }
}

TEST(Wire, EveryCutOfAMessageIsAnError) {
  for (const WireCase& one : wire_cases()) {
    if (one.name == "error") continue;
    for (std::size_t size = 0; size < one.encoded.size(); ++size)
      EXPECT_FALSE(one.decoded(one.encoded.substr(0, size))) << one.name << " of " << size << " bytes";
  }
}

// A byte that is changed gives an error or a message, and never more.
TEST(Wire, EveryWrongByteIsSurvived) {
  Random random(1);
  for (const WireCase& one : wire_cases())
    for (std::size_t i = 0; i < one.encoded.size(); ++i) {
      std::string body = one.encoded;
      body[i] = static_cast<char>(random.below(256));
      if (const auto decoded = one.decoded(body); !decoded) {
        EXPECT_FALSE(decoded.error().what.empty());
      }
    }
}

TEST(Wire, TheSameEntryTwiceIsAnError) {
  EXPECT_FALSE(decode_observation_now(R"({"entries": [["memlock", "1"], ["memlock", "2"]]})"));
  EXPECT_TRUE(decode_observation_now(R"({"entries": [["memlock", "1"], ["memlock", "1"]]})"));
}

TEST(Wire, ManyCausesKeepTheirText) {
  Error error{ErrorKind::transient, "the last"};
  for (int i = 0; i < 100; ++i)
    error = Error{ErrorKind::refused, std::to_string(i), std::make_shared<const Error>(error)};
  Observation observation;
  observation.unread = {{0, {}, error}};
  const auto back = decode_observation_now(encode(observation));
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(back->unread.at(0).why.text(), error.text());
}

}  // namespace
}  // namespace lockstep::wire
