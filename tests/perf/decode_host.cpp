// Only decoding: the kernel's messages for a host with eight RoCE ports, as recorded in the VM lab
// (tests/unit/linux/recorded), from bytes to our structures. Goal: under 5 ms.
#include <benchmark/benchmark.h>

#include "drivers/linux/dcb/dcbnl.hpp"
#include "drivers/linux/devlink/messages.hpp"
#include "drivers/linux/ethtool/messages.hpp"
#include "drivers/linux/rdma/nldev.hpp"
#include "tests/unit/linux/recorded/dcb.hpp"
#include "tests/unit/linux/recorded/devlink.hpp"
#include "tests/unit/linux/recorded/ethtool.hpp"
#include "tests/unit/linux/recorded/rdma.hpp"

namespace lockstep {
namespace {

constexpr int kPorts = 8;

template <class Decode>
void eight_of(benchmark::State& state, std::vector<Buffer> messages, const Decode& decode) {
  for (auto _ : state)
    for (int port = 0; port < kPorts; ++port)
      for (const Buffer& one : messages)
        if (!decode(one)) state.SkipWithError("a recorded message is not decoded");
}

void Dcb(benchmark::State& state) {
  eight_of(state, {bytes_of(recorded::dcb::kClasses)},
           [](const Buffer& one) { return static_cast<bool>(dcb::decode_port(one)); });
}
BENCHMARK(Dcb);

void Ethtool(benchmark::State& state) {
  using ethtool::Kind;
  using namespace recorded::ethtool;
  const std::vector<std::pair<Kind, Buffer>> messages{{Kind::link, bytes_of(kLink)},
                                                      {Kind::fec, bytes_of(kFec)},
                                                      {Kind::rings, bytes_of(kRings)},
                                                      {Kind::channels, bytes_of(kChannels)},
                                                      {Kind::coalescing, bytes_of(kCoalescing)},
                                                      {Kind::pause, bytes_of(kPause)},
                                                      {Kind::features, bytes_of(kFeatures)}};
  for (auto _ : state)
    for (int port = 0; port < kPorts; ++port)
      for (const auto& [kind, one] : messages)
        if (!ethtool::decode(kind, one)) state.SkipWithError("a recorded message is not decoded");
}
BENCHMARK(Ethtool);

void Rdma(benchmark::State& state) {
  eight_of(state, {bytes_of(recorded::rdma::kDevice)},
           [](const Buffer& one) { return static_cast<bool>(rdma::decode_device(one)); });
}
BENCHMARK(Rdma);

void Devlink(benchmark::State& state) {
  using namespace recorded::devlink;
  const Buffer port = bytes_of(kPort);
  const Buffer info = bytes_of(kInfo);
  const Buffer parameter = bytes_of(kMaxMacs);
  const Buffer reporter = bytes_of(kInError);
  for (auto _ : state)
    for (int i = 0; i < kPorts; ++i)
      if (!devlink::decode_port(port) || !devlink::decode_info(info) ||
          !devlink::decode_parameter(parameter) || !devlink::decode_reporter(reporter))
        state.SkipWithError("a recorded message is not decoded");
}
BENCHMARK(Devlink);

}  // namespace
}  // namespace lockstep

BENCHMARK_MAIN();
