// What the suite does not ask of the spike over TLS: who is at the far end, and what it says.
#include <gtest/gtest.h>

#include "drivers/sim/simulated_device.hpp"
#include "specs/model/schema_rows.hpp"
#include "tests/contract/contract.hpp"
#include "tests/contract/spike/tls_driver.hpp"

namespace lockstep::contract {
namespace {

TEST(TlsSpike, AServerWithAnotherCertificateIsDenied) {
  SimulatedDevice device("gpu1", 1);
  TlsEnds ours = make_tls_ends();
  const TlsEnds others = make_tls_ends();
  const TlsServer server(device, std::move(ours.server));
  const Attached stranger = make_tls_driver("gpu1", others.client.get(), server.port());
  const auto answer = stranger.driver->observe({}, "", soon());
  ASSERT_FALSE(answer);
  EXPECT_EQ(to_string(answer.error().kind), to_string(ErrorKind::denied)) << answer.error().text();
  const Attached known = make_tls_driver("gpu1", ours.client.get(), server.port());
  EXPECT_TRUE(known.driver->observe({}, "", soon()));
}

TEST(TlsSpike, AQuestionWhoseAskerHasGoneIsNotDone) {
  SimulatedDevice device("gpu1", 1);
  TlsEnds ends = make_tls_ends();
  TlsServer server(device, std::move(ends.server));
  const Attached attached = make_tls_driver("gpu1", ends.client.get(), server.port());
  ASSERT_TRUE(attached.driver->observe({}, "", soon()));
  server.hang(true);
  Call call;
  call.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
  const Path mtu(row("interface[*]/mtu"), {"rail0"});
  const auto answer = attached.driver->apply({{mtu, {}, Value::integer(9000), 0}}, {}, call);
  ASSERT_FALSE(answer);
  EXPECT_EQ(to_string(answer.error().kind), to_string(ErrorKind::unknown_outcome));
  server.hang(false);
  const auto after = attached.driver->observe({}, "", soon());
  ASSERT_TRUE(after) << after.error().text();
  EXPECT_EQ(after->have.value(mtu), Value{});
}

}  // namespace
}  // namespace lockstep::contract
