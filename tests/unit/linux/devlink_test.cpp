// Decoding of recorded, truncated and mutated devlink messages, and the
// bytes of our requests.
#include "tests/unit/linux/recorded/devlink.hpp"

#include <gtest/gtest.h>
#include <linux/devlink.h>

#include "drivers/linux/devlink/messages.hpp"
#include "specs/model/value.hpp"

namespace lockstep {
namespace {

using namespace recorded::devlink;

std::string with(std::string hex, const std::string& part, const std::string& other) {
  const std::size_t at = hex.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  return at == std::string::npos ? hex : hex.replace(at, part.size(), other);
}

template <class T>
T decoded(Result<std::optional<T>> (*decode)(netlink::Bytes), const std::string& hex) {
  const auto out = decode(bytes_of(hex));
  EXPECT_TRUE(out && *out) << (out ? "nothing" : out.error().text());
  return out && *out ? **out : T{};
}

TEST(DevlinkMessages, APortIsDecoded) {
  const auto port = decoded(&devlink::decode_port, kPort);
  EXPECT_EQ(port.device.text(), "netdevsim/netdevsim1");
  EXPECT_EQ(port.index, 0U);
  EXPECT_EQ(port.netdev, 2U);
  EXPECT_EQ(port.netdev_name, "eth0");
  EXPECT_EQ(devlink::flavour_words(port.flavour.value_or(99)), "physical");
  EXPECT_FALSE(port.virtual_function);
}

TEST(DevlinkMessages, APortOfAVirtualFunctionHasItsNumberUnlessOfAnotherHost) {
  EXPECT_EQ(decoded(&devlink::decode_port, kFunctionPort).virtual_function, 1);
  const std::string external = with(kFunctionPort, "0500950000000000", "0500950001000000");
  EXPECT_FALSE(decoded(&devlink::decode_port, external).virtual_function);
}

TEST(DevlinkMessages, InfoHasEachVersion) {
  const auto info = decoded(&devlink::decode_info, kInfo);
  EXPECT_EQ(info.driver, "netdevsim");
  ASSERT_EQ(info.versions.size(), 2U);
  EXPECT_EQ(info.versions[0].kind, "stored");
  EXPECT_EQ(info.versions[1].kind, "running");
  EXPECT_EQ(info.versions[1].name, "fw.mgmt");
  EXPECT_EQ(info.versions[1].value, "10.20.30");
}

TEST(DevlinkMessages, ParameterValuesAreTextByMode) {
  const auto number = decoded(&devlink::decode_parameter, kMaxMacs);
  EXPECT_EQ(number.name, "max_macs");
  EXPECT_EQ(number.type, devlink::kU32);
  using Values = std::map<std::uint8_t, std::string>;
  EXPECT_EQ(number.values, (Values{{DEVLINK_PARAM_CMODE_DRIVERINIT, "32"}}));
  EXPECT_EQ(decoded(&devlink::decode_parameter, kTest1).values,
            (Values{{DEVLINK_PARAM_CMODE_DRIVERINIT, "true"}}));
  // The same message with a value of each other type.
  const auto of = [](const std::string& type, const std::string& value) {
    const std::string typed = with(kMaxMacs, "0500530003000000", "05005300" + type + "000000");
    return decoded(&devlink::decode_parameter, with(typed, "0800560020000000", value)).values;
  };
  EXPECT_EQ(of("01", "05005600ff000000"), (Values{{1, "255"}}));
  EXPECT_EQ(of("02", "06005600ffff0000"), (Values{{1, "65535"}}));
  EXPECT_EQ(of("05", "0700560061620000"), (Values{{1, "ab"}}));
  EXPECT_EQ(of("0b", "0800560020000000"), Values{}) << "a type that is not known";
}

TEST(DevlinkMessages, ReportersRatesAndModesAreDecoded) {
  const auto healthy = decoded(&devlink::decode_reporter, kHealthy);
  EXPECT_EQ(healthy.name, "empty");
  EXPECT_TRUE(healthy.healthy);
  EXPECT_FALSE(healthy.port);
  const auto in_error = decoded(&devlink::decode_reporter, kInError);
  EXPECT_EQ(in_error.name, "dummy");
  EXPECT_FALSE(in_error.healthy);
  EXPECT_EQ(in_error.errors, 2U);
  const auto rate = decoded(&devlink::decode_rate, kRate);
  EXPECT_EQ(rate.port, 128U);
  EXPECT_EQ(rate.max, 125'000'000U);
  EXPECT_EQ(devlink::eswitch_words(decoded(&devlink::decode_eswitch, kEswitch)), "switchdev");
  EXPECT_EQ(devlink::eswitch_of("legacy"), DEVLINK_ESWITCH_MODE_LEGACY);
  EXPECT_FALSE(devlink::eswitch_of("both"));
}

TEST(DevlinkMessages, SharedBuffersAreDecoded) {
  const auto buffer = decoded(&devlink::decode_buffer, kBuffer);
  EXPECT_EQ(buffer.size, 16'777'216U);
  EXPECT_EQ(buffer.ingress_pools, 4);
  EXPECT_EQ(buffer.egress_pools, 5);
  const auto pool = decoded(&devlink::decode_pool, kPool);
  EXPECT_EQ(pool.index, 4);
  EXPECT_TRUE(pool.egress);
  EXPECT_EQ(pool.size, 12'533'760U);
  EXPECT_TRUE(pool.dynamic);
  const auto binding = decoded(&devlink::decode_binding, kBinding);
  EXPECT_EQ(binding.port, 1U);
  EXPECT_EQ(binding.traffic_class, 3);
  EXPECT_EQ(binding.pool, 4);
  EXPECT_EQ(binding.threshold, 9U);
}

TEST(DevlinkMessages, ImpossibleValuesAreAnError) {
  const auto refuses = [](const auto& decode, const std::string& hex) { return !decode(bytes_of(hex)); };
  EXPECT_TRUE(refuses(&devlink::decode_port, with(kPort, kDevice, ""))) << "no device";
  EXPECT_TRUE(refuses(&devlink::decode_port, with(kPort, "0800030000000000", ""))) << "no number";
  EXPECT_TRUE(refuses(&devlink::decode_port, with(kPort, "0600040002000000", "ff00040002000000")));
  EXPECT_TRUE(refuses(&devlink::decode_parameter, with(kMaxMacs, "0800560020000000", "0600560020000000")))
      << "two bytes of a number of four";
  EXPECT_TRUE(refuses(&devlink::decode_reporter, with(kHealthy, "0500740000000000", ""))) << "no state";
  EXPECT_TRUE(refuses(&devlink::decode_rate, with(kRate, "4059730700000000", "0000000000000080")))
      << "2^63 bytes a second";
  EXPECT_TRUE(refuses(&devlink::decode_rate, with(kRate, "4059730700000000", "0000000000000001")))
      << "2^56 bytes a second";
  const auto most = decoded(&devlink::decode_rate, with(kRate, "4059730700000000", "ffffffffffffff00")).max;
  EXPECT_EQ(Value::integer(static_cast<std::int64_t>(most * 8)).as_integer(), (1LL << 59) - 8)
      << "the most that is taken can be told in bits";
  EXPECT_TRUE(refuses(&devlink::decode_rate, with(kRate, "0800030080000000", ""))) << "of nothing";
  EXPECT_TRUE(refuses(&devlink::decode_binding, with(kBinding, "0600160003000000", ""))) << "no class";
}

TEST(DevlinkMessages, CutAndMutatedBytesGiveAnAnswerOrAnError) {
  const auto each = [](auto decode, std::initializer_list<std::string> messages) {
    for (const std::string& hex : messages) fuzz(hex, [&](const Buffer& bytes) { (void)decode(bytes); });
  };
  each(&devlink::decode_device, {kEswitch});
  each(&devlink::decode_port, {kPort, kFunctionPort});
  each(&devlink::decode_info, {kInfo});
  each(&devlink::decode_parameter, {kMaxMacs, kTest1});
  each(&devlink::decode_reporter, {kHealthy, kInError});
  each(&devlink::decode_rate, {kRate});
  each(&devlink::decode_buffer, {kBuffer});
  each(&devlink::decode_pool, {kPool});
  each(&devlink::decode_binding, {kBinding});
  each(&devlink::decode_eswitch, {kEswitch});
}

TEST(DevlinkMessages, RequestsMatchTheKernelsFormat) {
  const devlink::Handle device{"netdevsim", "netdevsim1"};
  // Length, type 21, flags, number 7, no sender; the generic header.
  const auto header = [](const std::string& size, const std::string& flags, const std::string& command) {
    return size + "000000" + "1500" + flags + "0700000000000000" + command + "010000";
  };
  EXPECT_EQ(hex_of(devlink::dump_request(21, DEVLINK_CMD_PORT_GET).finish(7)), header("14", "0103", "05"));
  EXPECT_EQ(hex_of(devlink::device_request(21, DEVLINK_CMD_RELOAD, device).finish(7)),
            header("34", "0500", "25") + kDevice);
  EXPECT_EQ(hex_of(devlink::eswitch_request(21, device, DEVLINK_ESWITCH_MODE_SWITCHDEV).finish(7)),
            header("3c", "0500", "1e") + kDevice + "0600190001000000");
  EXPECT_EQ(hex_of(devlink::rate_request(21, device, 128, 125'000'000).finish(7)),
            header("48", "0500", "4b") + kDevice + "0800030080000000" + "0c00a7004059730700000000");
  devlink::Reporter reporter;
  reporter.device = device;
  reporter.port = 1;
  reporter.name = "tx";
  EXPECT_EQ(hex_of(devlink::recover_request(21, reporter).finish(7)),
            header("44", "0500", "36") + kDevice + "0800030001000000" + "0700730074780000");
}

TEST(DevlinkMessages, SetsAParameterInItsTypeOrRefuses) {
  devlink::Parameter parameter{{"netdevsim", "netdevsim1"}, "max", devlink::kU32, {}};
  const auto tail = [&](std::uint8_t type, std::string_view text) {
    parameter.type = type;
    auto request = devlink::parameter_request(21, parameter, DEVLINK_PARAM_CMODE_DRIVERINIT, text);
    if (!request) return std::string(to_string(request.error().kind));
    const std::string hex = hex_of(request->finish(7));
    return hex.substr(hex.find("08005100") + 2 * (8 + 8));  // after the name and the type
  };
  const std::string mode = "0500570001000000";
  EXPECT_EQ(tail(devlink::kU8, "255"), "05005600ff000000" + mode);
  EXPECT_EQ(tail(devlink::kU16, "256"), "0600560000010000" + mode);
  EXPECT_EQ(tail(devlink::kU32, "64"), "0800560040000000" + mode);
  EXPECT_EQ(tail(devlink::kString, "ab"), "0700560061620000" + mode);
  EXPECT_EQ(tail(devlink::kFlag, "true"), "04005600" + mode);
  EXPECT_EQ(tail(devlink::kFlag, "false"), mode) << "a flag that is not there";
  for (const auto& [type, text] : {std::pair(devlink::kU8, "256"),
                                   {devlink::kU8, "-1"},
                                   {devlink::kU16, "65536"},
                                   {devlink::kU32, "064"},
                                   {devlink::kU32, "64 "},
                                   {devlink::kU32, ""},
                                   {devlink::kFlag, "1"}})
    EXPECT_EQ(tail(type, text), "invalid spec") << text;
  EXPECT_EQ(tail(11, "1"), "unsupported");
}

}  // namespace
}  // namespace lockstep
