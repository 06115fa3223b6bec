// What the suite does not ask of the spike over TLS: who is at the far end, and what it says.
#include <gtest/gtest.h>

#include "drivers/sim/simulated_device.hpp"
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

}  // namespace
}  // namespace lockstep::contract
