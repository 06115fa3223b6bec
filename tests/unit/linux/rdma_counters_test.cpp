// Counters by name, their changes, and the responsible side, from recorded folders without a kernel.
#include <gtest/gtest.h>
#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "drivers/linux/rdma/counter_names.hpp"
#include "drivers/linux/rdma/queue_counters.hpp"

namespace lockstep::rdma {
namespace {

namespace fs = std::filesystem;

class Counters : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = fs::temp_directory_path() / "lsrdma-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
  }
  void TearDown() override { fs::remove_all(root_); }
  void write(const std::string& path, const std::string& text) {
    const fs::path file = root_ / "sys/class/infiniband/mlx5_0/ports/1" / path;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text << "\n";
  }
  CounterSnapshot read() {
    auto out = read_counters(HostFiles(root_), "mlx5_0", 1);
    EXPECT_TRUE(out) << out.error().text();
    return out ? *std::move(out) : CounterSnapshot{};
  }

  fs::path root_;
};

TEST_F(Counters, ReportsCountersThatChanged) {
  write("hw_counters/packet_seq_err", "7");
  write("hw_counters/out_of_buffer", "0");
  write("hw_counters/lifespan", "12");
  write("hw_counters/active_qps", "3");
  write("hw_counters/req_cqe_error", "1");
  write("hw_counters/broken", "N/A (no PMA)");
  write("counters/port_xmit_data", "100");
  const CounterSnapshot before = read();
  EXPECT_EQ(before.values.count("broken"), 0U);
  write("hw_counters/packet_seq_err", "9");
  write("hw_counters/lifespan", "10");
  write("hw_counters/active_qps", "4");
  write("hw_counters/req_cqe_error", "2");
  write("counters/port_xmit_data", "350");
  std::string seen;
  for (const Moved& one : moved_between(before, read()))
    seen += one.counter + " " + std::to_string(one.by) + " " +
            (one.signal ? std::string(meaning_of(*one.signal).name) : "?") + "; ";
  EXPECT_EQ(seen,
            "packet_seq_err 2 sequence-naks-received; port_xmit_data 1000 bytes-sent; req_cqe_error 1 ?; ");
}

TEST_F(Counters, AWrappedCounterContinuesAndAResetOneStartsFromZero) {
  write("hw_counters/out_of_sequence", "4294967290");
  write("hw_counters/duplicate_request", "1000");
  const CounterSnapshot before = read();
  write("hw_counters/out_of_sequence", "4");
  write("hw_counters/duplicate_request", "3");
  const std::vector<Moved> moved = moved_between(before, read());
  ASSERT_EQ(moved.size(), 2U);
  EXPECT_EQ(moved[0].by, 3U) << moved[0].counter;
  EXPECT_EQ(moved[1].by, 10U) << moved[1].counter;
}

TEST_F(Counters, AMissingDeviceIsAnError) {
  const auto out = read_counters(HostFiles(root_), "mlx5_9", 1);
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().kind, ErrorKind::unsupported);
}

TEST(CounterNames, NamesOfEachDriverHaveASignalAndASide) {
  const std::tuple<std::string_view, Signal, Side> kSome[] = {
      {"rx_prio3_pause", Signal::paused_by_peer, Side::victim},
      {"tx_prio3_pause", Signal::pauses_sent, Side::source},
      {"rp_cnp_handled", Signal::cnps_handled, Side::contributor},
      {"rx_pfc_ena_frames_pri4", Signal::paused_by_peer, Side::victim},
      {"seq_err_naks_rcvd", Signal::sequence_naks_received, Side::victim},
      {"cnpIgnored", Signal::cnps_ignored, Side::source},
      {"resp_rx_outof_buf", Signal::receive_not_posted, Side::source},
      {"retrans_timeout_events", Signal::ack_timeouts, Side::victim},
      {"completer_retry_err", Signal::retransmits, Side::victim},
      {"symbol_error", Signal::symbol_errors, Side::source},
  };
  for (const auto& [name, signal, side] : kSome) {
    ASSERT_TRUE(signal_of(name)) << name;
    EXPECT_EQ(*signal_of(name), signal) << name;
    EXPECT_EQ(meaning_of(signal).side, side) << name;
  }
  for (const std::string_view unknown :
       {"rx_prio_pause", "rx_prio3_pause_duration", "rx_priox_pause", "", "lifespan"})
    EXPECT_FALSE(signal_of(unknown)) << unknown;
}

TEST(CounterNames, AreUniqueAndEverySignalHasAMeaning) {
  std::set<std::string_view> names;
  std::set<Signal> used;
  for (const CounterName& one : kCounterNames) {
    EXPECT_TRUE(names.insert(one.name).second) << one.name;
    used.insert(one.signal);
  }
  EXPECT_EQ(used.size(), static_cast<std::size_t>(Signal::send_errors) + 1);
  for (const Signal one : used) {
    EXPECT_EQ(meaning_of(one).signal, one) << meaning_of(one).name;
    EXPECT_EQ(meaning_of(one).points_to.empty(), meaning_of(one).side == Side::traffic);
  }
}

// A qdisc message in the format of the kernel: tc_fill_qdisc, net/sched/sch_api.c.
std::vector<std::byte> qdisc(const char* kind, std::uint32_t parent, std::uint32_t marked,
                             std::uint32_t drops) {
  netlink::Request request(RTM_NEWQDISC, 0);
  tcmsg header{};
  header.tcm_ifindex = 7;
  header.tcm_parent = parent;
  tc_red_xstats red{};
  red.marked = marked;
  gnet_stats_queue queue{};
  queue.drops = drops;
  request.header(header).put_text(TCA_KIND, kind).put_number(TCA_XSTATS, red);
  const std::size_t nest = request.open_nest(TCA_STATS2);
  request.put_number(TCA_STATS_QUEUE, queue);
  request.close_nest(nest);
  const netlink::Bytes all = request.finish(1).subspan(NLMSG_HDRLEN);
  return {all.begin(), all.end()};
}

TEST(QueueCounters, CountMarksOfEveryRedAndDropsOfTheRoot) {
  CounterSnapshot seen;
  EXPECT_TRUE(add_queue(qdisc("tbf", TC_H_ROOT, 99, 4), 7, seen));
  EXPECT_TRUE(add_queue(qdisc("red", 0x10001, 30, 4), 7, seen));
  EXPECT_TRUE(add_queue(qdisc("red", 0x10002, 5, 0), 7, seen));
  EXPECT_TRUE(add_queue(qdisc("red", TC_H_ROOT, 1000, 1000), 8, seen)) << "another port's";
  EXPECT_EQ(seen.values, (std::map<std::string, std::uint64_t>{{"qdisc_dropped", 4}, {"qdisc_marked", 35}}));
  EXPECT_EQ(signal_of("qdisc_marked"), Signal::ecn_marked_here);
  EXPECT_EQ(meaning_of(Signal::ecn_marked_here).side, Side::contributor);
}

TEST(QueueCounters, ACutOrInconsistentMessageIsAnErrorOrOmitsCounters) {
  const std::vector<std::byte> whole = qdisc("red", TC_H_ROOT, 3, 4);
  CounterSnapshot all;
  ASSERT_TRUE(add_queue(whole, 7, all));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CounterSnapshot seen;
    const auto done = add_queue(netlink::Bytes(whole).first(size), 7, seen);
    EXPECT_TRUE(!done || seen.values != all.values) << size;
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::vector<std::byte> wrong = whole;
    wrong[at] = ~wrong[at];
    CounterSnapshot seen;
    (void)add_queue(wrong, 7, seen);  // under ASan: no read beyond its end
  }
}

}  // namespace
}  // namespace lockstep::rdma
