// One vocabulary for what switches and NICs count: that both sides use it, and mean the same by it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "drivers/linux/rdma/counter_names.hpp"
#include "drivers/linux/rdma/named_counters.hpp"
#include "drivers/sonic/counter_names.hpp"
#include "specs/model/counters.hpp"

namespace lockstep {
namespace {

std::set<std::string_view> names_of_nics() {
  std::set<std::string_view> names;
  for (const rdma::NamedNative& one : rdma::named_rdma_counters()) names.insert(one.counter);
  for (const rdma::NamedNative& one : rdma::named_port_statistics()) names.insert(one.counter);
  return names;
}

std::set<std::string_view> names_of_switches() {
  std::set<std::string_view> names;
  for (const sonic::SonicCounter& one : sonic::sonic_counters()) names.insert(one.counter);
  return names;
}

TEST(CounterVocabulary, HasARowForEachCounterThatIsReadAndNoOthers) {
  std::set<std::string_view> used = names_of_nics();
  used.merge(names_of_switches());
  std::set<std::string_view> rows;
  for (const CounterRow& row : counter_rows()) {
    EXPECT_TRUE(rows.insert(row.name).second) << row.name << " twice";
    EXPECT_TRUE(used.contains(row.name)) << row.name << ": nobody reads it";
    EXPECT_FALSE(row.says.empty()) << row.name;
  }
  for (const std::string_view name : used) EXPECT_TRUE(rows.contains(name)) << name << " has no row";
}

// The pairs of switches.md, section 4: what one end of a link counts, the other can be compared with.
TEST(CounterVocabulary, SwitchesAndNicsShareTheNamesOfALink) {
  const std::set<std::string_view> switches = names_of_switches();
  const std::set<std::string_view> nics = names_of_nics();
  for (const std::string_view name :
       {"port/rx-bytes", "port/tx-bytes", "port/rx-discards", "port/tx-discards", "port/rx-oversize",
        "port/pfc[#]/rx-pauses", "port/pfc[#]/tx-pauses", "port/pfc[#]/rx-paused-time",
        "port/pfc[#]/rx-pause-transitions", "port/fec/corrected-bits"}) {
    EXPECT_TRUE(switches.contains(name)) << name;
    EXPECT_TRUE(nics.contains(name)) << name;
  }
}

TEST(CounterVocabulary, FindsTheRowOfAName) {
  const auto row_named = [](std::string_view name) {
    const CounterRow* const row = find_counter(name);
    return row == nullptr ? std::string_view("none") : row->name;
  };
  EXPECT_EQ(row_named("port/rx-bytes"), "port/rx-bytes");
  EXPECT_EQ(row_named("queue[12]/bytes"), "queue[#]/bytes");
  EXPECT_EQ(row_named("queue[#]/bytes"), "queue[#]/bytes");
  EXPECT_EQ(row_named("port/pfc[3]/rx-pauses"), "port/pfc[#]/rx-pauses");
  EXPECT_EQ(row_named("port/fec/codewords[15]"), "port/fec/codewords[#]");
  EXPECT_EQ(row_named("pool[ingress_lossless_pool]/watermark"), "pool[*]/watermark");
  EXPECT_EQ(row_named("pool[7]/watermark"), "pool[*]/watermark");
  for (const std::string_view none :
       {"", "queue[]/bytes", "queue[x]/bytes", "queue[-1]/bytes", "queue[3/bytes", "queue]3[/bytes",
        "queue[3]/bites", "port/rx-bytes/", "queue/bytes"})
    EXPECT_EQ(row_named(none), "none") << none;
  for (const CounterRow& row : counter_rows()) {
    const std::string name = counter_name(row.name, "3");
    EXPECT_EQ(row_named(name), row.name);
    EXPECT_EQ(name.find('#'), std::string::npos) << name;
  }
  EXPECT_EQ(counter_scope("queue[3]/watchdog/storms"), "queue[3]");
  EXPECT_EQ(counter_scope("port/pfc[3]/rx-pauses"), "port");
  EXPECT_EQ(counter_scope("pool[a/b]/watermark"), "pool[a/b]");
}

// A native that stands for a number has a name with its place, and the reverse.
TEST(CounterVocabulary, NativesWithNumbersHaveNamesWithNumbers) {
  for (const sonic::SonicCounter& one : sonic::sonic_counters()) {
    const bool of_port = one.counter.starts_with("port/");
    if (of_port)
      EXPECT_EQ(one.field.find('#') == one.field.npos, one.counter.find("[#]") == one.counter.npos)
          << one.field;
    else
      EXPECT_EQ(one.field.find('#'), one.field.npos) << one.field;
  }
  for (const auto& table : {rdma::named_rdma_counters(), rdma::named_port_statistics()})
    for (const rdma::NamedNative& one : table)
      EXPECT_EQ(one.native.find('#') == one.native.npos, one.counter.find("[#]") == one.counter.npos)
          << one.native;
}

TEST(CounterVocabulary, GroupsAreInTheOrderOfTheirNumbers) {
  std::size_t number = 0;
  for (const sonic::SonicCounterGroup& one : sonic::sonic_counter_groups())
    EXPECT_EQ(static_cast<std::size_t>(one.group), number++) << one.name;
  number = 0;
  for (const sonic::CounterNameMap& one : sonic::counter_name_maps()) {
    EXPECT_EQ(static_cast<std::size_t>(one.kind), number++) << one.map;
    EXPECT_EQ(one.tables.front(), sonic::CounterTable::counters) << "watermarks are judged by it";
  }
}

// The natives of the reference's list of joins (switches.md, section 4), by hand.
TEST(CounterVocabulary, NicNativesHaveTheirNames) {
  CounterReading reading;
  rdma::name_counters({{"np_cnp_sent", 1},
                       {"rp_cnp_handled", 2},
                       {"out_of_sequence", 3},
                       {"local_ack_timeout_err", 4},
                       {"port_rcv_data", 5},
                       {"tx_bytes", 6},
                       {"lifespan", 12}},
                      rdma::named_rdma_counters(), "mlx5_0/1", reading);
  rdma::name_counters({{"rx_prio3_pause", 7},
                       {"rx_prio3_pause_duration", 70},
                       {"rx_prio_pause", 8},
                       {"rx_priox_pause", 8},
                       {"rx_discards_phy", 9},
                       {"rx_corrected_bits_phy", 10},
                       {"outbound_pci_stalled_wr", 11},
                       {"tx_bytes", 99},
                       {"rx_symbol_err_phy", 3}},
                      rdma::named_port_statistics(), "eth0", reading);
  std::string out;
  for (const auto& [id, counter] : reading.counters)
    out += id.port + " " + id.name + " " +
           (counter.whole() ? std::to_string(*counter.whole())
                            : std::to_string(std::get<double>(counter.value))) +
           " " + counter.native + "\n";
  EXPECT_EQ(out,
            "eth0 host/pcie-write-stalls 11.000000 outbound_pci_stalled_wr\n"
            "eth0 port/fec/corrected-bits 10 rx_corrected_bits_phy\n"
            "eth0 port/pfc[3]/rx-paused-time 70 rx_prio3_pause_duration\n"
            "eth0 port/pfc[3]/rx-pauses 7 rx_prio3_pause\n"
            "eth0 port/rx-discards 9 rx_discards_phy\n"
            "mlx5_0/1 rdma/ack-timeouts 4 local_ack_timeout_err\n"
            "mlx5_0/1 rdma/out-of-sequence 3 out_of_sequence\n"
            "mlx5_0/1 rdma/rx-bytes 20 port_rcv_data\n"
            "mlx5_0/1 rdma/rx-cnps 2 rp_cnp_handled\n"
            "mlx5_0/1 rdma/tx-bytes 6 tx_bytes\n"
            "mlx5_0/1 rdma/tx-cnps 1 np_cnp_sent\n");
}

TEST(CounterVocabulary, OfTwoNativesOfOneMeaningTheFirstCounts) {
  CounterReading reading;
  rdma::name_counters({{"port_rcv_data", 25}, {"rdma_rx_bytes", 101}}, rdma::named_rdma_counters(),
                      "mlx5_0/1", reading);
  ASSERT_EQ(reading.counters.size(), 1U);
  const ReadCounter* const bytes = reading.find("mlx5_0/1", "rdma/rx-bytes");
  ASSERT_NE(bytes, nullptr);
  EXPECT_EQ(bytes->whole(), 101U);

  // Without it, the other one counts from elsewhere: that is no difference.
  CounterReading after;
  rdma::name_counters({{"port_rcv_data", 250}}, rdma::named_rdma_counters(), "mlx5_0/1", after);
  after.moment = reading.moment + std::chrono::seconds(1);
  const auto changes = changes_between(reading, after);
  ASSERT_TRUE(changes);
  ASSERT_EQ(changes->changes.size(), 1U);
  EXPECT_EQ(changes->changes[0].continuity, CounterContinuity::another_object);
}

// A recorded port of an RDMA device, without a kernel.
TEST(CounterVocabulary, ReadsWhatAnRdmaPortHasAndNoMore) {
  std::string folder = std::filesystem::temp_directory_path() / "lockstep-counters-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const std::filesystem::path port = folder + "/sys/class/infiniband/mlx5_0/ports/1";
  std::filesystem::create_directories(port / "hw_counters");
  std::ofstream(port / "hw_counters/np_cnp_sent") << "17\n";
  std::ofstream(port / "hw_counters/out_of_sequence") << "N/A (no PMA)\n";
  CounterReading reading;
  const auto done =
      rdma::read_named_counters(HostFiles(folder), {.netdev = "", .device = "mlx5_0"}, {}, reading);
  EXPECT_TRUE(done) << done.error().text();
  ASSERT_EQ(reading.counters.size(), 1U);
  const ReadCounter* const cnps = reading.find("mlx5_0/1", "rdma/tx-cnps");
  ASSERT_NE(cnps, nullptr);
  EXPECT_EQ(cnps->whole(), 17U);
  EXPECT_EQ(why_absent(reading, "mlx5_0/1", "rdma/out-of-sequence"), "the device does not report it");
  EXPECT_NE(reading.moment, CounterReading{}.moment);

  const auto missing =
      rdma::read_named_counters(HostFiles(folder), {.netdev = "", .device = "mlx5_9"}, {}, reading);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::unsupported);
  const auto no_port = rdma::read_named_counters(HostFiles(folder), {.netdev = "no-such-port"}, {}, reading);
  ASSERT_FALSE(no_port);
  EXPECT_EQ(no_port.error().text(), "no-such-port: there is no such port");
  std::filesystem::remove_all(folder);
}

// Of this machine: the loopback device has no driver statistics, which is no error.
TEST(CounterVocabulary, APortWithoutDriverStatisticsHasNone) {
  CounterReading reading;
  const auto done = rdma::read_named_counters(HostFiles("/"), {.netdev = "lo"}, {}, reading);
  EXPECT_TRUE(done) << done.error().text();
  EXPECT_EQ(reading.find("lo", "port/rx-bytes"), nullptr);
  EXPECT_TRUE(reading.objects.contains({"lo", "port"}));
}

// What an RDMA counter's signal says, its name must not contradict: each native that has a name also has a
// signal, but for those that are no sign of trouble by themselves.
TEST(CounterVocabulary, RdmaNativesAreThoseOfTheSignals) {
  for (const rdma::NamedNative& one : rdma::named_rdma_counters())
    EXPECT_TRUE(rdma::signal_of(one.native)) << one.native;
}

}  // namespace
}  // namespace lockstep
