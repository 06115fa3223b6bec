// The kernel requests of the carriers of a port's classes, against a kernel simulated by tables: the desired
// state reads back after any transition. scheduler_test.cpp and tests/vm test real kernels.
#include <gtest/gtest.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <random>

#include "drivers/linux/map.hpp"
#include "drivers/linux/queueing/carriers.hpp"
#include "drivers/linux/queueing/scheduler.hpp"

namespace lockstep {
namespace {

constexpr std::uint32_t kPort = 7;

// Qdiscs, classes and filters as in the kernel: one qdisc per place; removing it removes what is attached to
// it.
class Tables {
 public:
  void apply(netlink::Request request) {
    const netlink::Bytes payload = request.finish(1).subspan(NLMSG_HDRLEN);
    const auto header = netlink::read_as<tcmsg>(payload);
    ASSERT_TRUE(header);
    switch (request.type()) {
      case RTM_NEWQDISC: return add(*value(decode_qdisc(payload)));
      case RTM_DELQDISC: return remove(header->tcm_parent);
      case RTM_NEWTCLASS: return place(have_.classes, *value(decode_class(payload)), &HtbClass::handle);
      case RTM_DELTCLASS:
        std::erase_if(have_.classes,
                      [&](auto& one) { return one.handle == std::uint32_t(header->tcm_handle); });
        return;
      case RTM_NEWTFILTER:
        if (const auto filter = value(decode_priority_filter(payload))) {
          drop_priority(*header);
          have_.priorities.push_back(*filter);
          info_.push_back(header->tcm_info);
        } else if (const auto dscp = value(decode_filter(payload))) {
          have_.filters.push_back(*dscp);
        } else {
          ADD_FAILURE() << "a filter of no kind";
        }
        return;
      case RTM_DELTFILTER:
        if (header->tcm_parent != TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_EGRESS))
          std::erase_if(have_.filters, [&](const DscpFilter& one) {
            return one.handle == header->tcm_handle && one.preference == header->tcm_info >> 16;
          });
        else
          EXPECT_TRUE(drop_priority(*header)) << "a filter that is not there";
        return;
      default: ADD_FAILURE() << request.type();
    }
  }
  const PortQueueing& have() const { return have_; }
  PortQueueing& have() { return have_; }

 private:
  template <class T>
  static std::optional<T> value(Result<std::optional<T>> result) {
    EXPECT_TRUE(result) << result.error().text();
    return result ? *result : std::nullopt;
  }
  template <class T>
  static void place(std::vector<T>& all, const T& one, std::uint32_t T::*by) {
    std::erase_if(all, [&](const T& other) { return other.*by == one.*by; });
    all.push_back(one);
  }
  void add(const Qdisc& made) {
    if (made.kind == "clsact") {
      have_.clsact = true;
    } else if (made.parent == TC_H_ROOT) {
      EXPECT_TRUE(!have_.root || (have_.root->kind == made.kind && have_.root->handle == made.handle));
      EXPECT_TRUE(!have_.root || made.kind != "mqprio") << "mqprio can't be changed";
      have_.root = made;
    } else {
      const auto at = std::ranges::find(have_.queues, made.parent, &Qdisc::parent);
      EXPECT_TRUE(at == have_.queues.end() || at->handle != made.handle || at->kind == made.kind);
      const auto same = std::ranges::find(have_.queues, made.handle, &Qdisc::handle);
      EXPECT_TRUE(same == have_.queues.end() || same->parent == made.parent) << "one qdisc in two places";
      place(have_.queues, made, &Qdisc::parent);
    }
  }
  void remove(std::uint32_t parent) {
    if (parent == TC_H_ROOT) {
      EXPECT_TRUE(have_.root) << "a root that is not there";
      have_.root.reset();
      have_.queues.clear();
      have_.classes.clear();
      have_.filters.clear();
      return;
    }
    const auto at = std::ranges::find(have_.queues, parent, &Qdisc::parent);
    ASSERT_NE(at, have_.queues.end()) << "a qdisc that is not there";
    const std::uint32_t handle = at->handle;
    have_.queues.erase(at);
    std::erase_if(have_.queues, [&](const Qdisc& one) { return TC_H_MAJ(one.parent) == handle; });
  }
  bool drop_priority(const tcmsg& header) {
    for (std::size_t at = 0; at < info_.size(); ++at)
      if (info_[at] == header.tcm_info && have_.priorities[at].handle == header.tcm_handle) {
        info_.erase(info_.begin() + static_cast<std::ptrdiff_t>(at));
        have_.priorities.erase(have_.priorities.begin() + static_cast<std::ptrdiff_t>(at));
        return true;
      }
    return false;
  }

  PortQueueing have_;
  std::vector<std::uint32_t> info_;
};

SchedulerPlace place_of(Carrier carrier) {
  return {.index = kPort, .carrier = carrier, .speed = 10'000'000'000, .tx_queues = 8};
}

std::size_t make(Tables& tables, Carrier carrier, const PortScheduler& wanted) {
  const auto checked = check(wanted, place_of(carrier));
  EXPECT_TRUE(checked) << checked.error().text();
  const auto requests = requests_for(place_of(carrier), tables.have(), wanted);
  for (const netlink::Request& one : requests) tables.apply(one);
  return requests.size();
}

// Random classes that a carrier supports; each DSCP and priority is in at most one of them.
class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}

  PortScheduler scheduler(Carrier carrier) {
    PortScheduler out;
    if (carrier == Carrier::htb || (carrier == Carrier::ets && one_of(2) == 0))
      out.rate = 8'000'000 * (1 + one_of(1000));
    const unsigned count = carrier == Carrier::mqprio ? 2 + one_of(7) : one_of(9);
    while (out.classes.size() < count) out.classes[one_of(8)];
    for (auto& [number, one] : out.classes)
      if (carrier != Carrier::mqprio) serve(one, carrier);
    if (!out.classes.empty()) spread(out, carrier);
    return out;
  }

 private:
  unsigned one_of(unsigned count) { return static_cast<unsigned>(engine_() % count); }
  void serve(SchedulerClass& one, Carrier carrier) {
    one.strict = one_of(3) == 0;
    // Shares of HTB are rounded rates of the rest: they have their own test on a real kernel.
    if (!one.strict && carrier == Carrier::ets && one_of(4) != 0)
      one.share = queueing::kLeastEtsShare + one_of(1000 - queueing::kLeastEtsShare);
    if (one.strict && one_of(2) == 0) one.max_rate = 8'000 * (1 + one_of(1000));
    if (one_of(2) == 0) one.ecn = {1000 + one_of(1000), 3000 + one_of(1000), one_of(101)};
  }
  void spread(PortScheduler& out, Carrier carrier) {
    const bool all = one_of(2) == 0;
    const auto some = [&] {
      return std::next(out.classes.begin(), one_of(static_cast<unsigned>(out.classes.size())));
    };
    for (std::uint8_t dscp = 0; dscp < 64; ++dscp)
      if (all || one_of(8) == 0) some()->second.dscp.insert(dscp);
    for (std::uint8_t priority = 0; priority < 8 && carrier != Carrier::htb; ++priority)
      some()->second.priority.insert(priority);
  }
  std::mt19937 engine_;
};

// Whether the state can be read back: an HTB class without filters takes the rest, so each must have filters.
bool tellable(Carrier carrier, const PortScheduler& one) {
  return carrier != Carrier::htb ||
         std::ranges::none_of(one.classes, [](auto& each) { return each.second.dscp.empty(); });
}

class Carriers : public ::testing::TestWithParam<Carrier> {};

TEST_P(Carriers, AnyTransitionReadsBackAndASecondApplyIsEmpty) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Tables tables;
    for (int step = 0; step < 4; ++step) {
      const PortScheduler wanted = random.scheduler(GetParam());
      if (!tellable(GetParam(), wanted)) continue;
      make(tables, GetParam(), wanted);
      const PortScheduler read = scheduler_of(tables.have());
      EXPECT_EQ(read, wanted);
      EXPECT_EQ(make(tables, GetParam(), wanted), 0U);
      EXPECT_TRUE(!wanted.classes.empty() || tables.have().priorities.empty());
    }
    ASSERT_FALSE(HasFailure());
  }
}

TEST_P(Carriers, TakesOverTheClassesOfAnotherCarrier) {
  Random random(1);
  for (const Carrier other : {Carrier::htb, Carrier::ets, Carrier::mqprio}) {
    Tables tables;
    make(tables, other, random.scheduler(Carrier::mqprio));
    PortScheduler wanted = random.scheduler(GetParam());
    for (auto& [number, one] : wanted.classes) one.dscp.insert(static_cast<std::uint8_t>(number));
    for (auto& [number, one] : wanted.classes)
      std::erase_if(one.dscp, [&](std::uint8_t dscp) { return dscp < 8 && dscp != number; });
    make(tables, GetParam(), wanted);
    EXPECT_EQ(scheduler_of(tables.have()), wanted);
  }
}

TEST_P(Carriers, ReplacesAForeignRoot) {
  Random random(2);
  Tables tables;
  Qdisc foreign;
  foreign.handle = 0x10000;
  foreign.kind = "fq";
  tables.have().root = foreign;
  EXPECT_EQ(scheduler_of(tables.have()), PortScheduler{});
  PortScheduler none;
  EXPECT_EQ(make(tables, GetParam(), none), 0U);
  const PortScheduler wanted = random.scheduler(Carrier::mqprio);
  make(tables, GetParam(), wanted);
  EXPECT_EQ(scheduler_of(tables.have()).classes.size(), wanted.classes.size());
}

INSTANTIATE_TEST_SUITE_P(All, Carriers, ::testing::Values(Carrier::htb, Carrier::ets, Carrier::mqprio));

PortScheduler two_classes() {
  PortScheduler out;
  out.classes[0].dscp = {0};
  out.classes[3].dscp = {26};
  return out;
}

TEST(QueueingOnEts, APriorityWithoutAClassGoesToTheDefaultClass) {
  PortScheduler wanted = two_classes();
  Tables tables;
  make(tables, Carrier::ets, wanted);
  EXPECT_EQ(scheduler_of(tables.have()).classes.at(0).priority.size(), 8U);
  wanted.classes[3].priority = {0, 3};
  make(tables, Carrier::ets, wanted);
  EXPECT_EQ(scheduler_of(tables.have()).classes.at(3).priority.size(), 8U) << "the class of priority 0";
}

TEST(QueueingOnEts, StrictClassesAreTheFirstBandsTheHighestFirst) {
  PortScheduler wanted;
  for (const unsigned number : {1, 2, 5, 6}) wanted.classes[number];
  wanted.classes[1].strict = wanted.classes[5].strict = true;
  Tables tables;
  make(tables, Carrier::ets, wanted);
  std::vector<std::uint32_t> bands;
  auto queues = tables.have().queues;
  std::ranges::sort(queues, {}, &Qdisc::parent);
  for (const Qdisc& one : queues) bands.push_back(one.handle >> 16);
  EXPECT_EQ(bands, (std::vector<std::uint32_t>{0x4C54 + 5, 0x4C54 + 1, 0x4C54 + 6, 0x4C54 + 2}));
  EXPECT_EQ(tables.have().root->ets->strict, 2);
}

TEST(QueueingOnEts, DetectsAManualChangeOfAnyPart) {
  PortScheduler wanted = two_classes();
  wanted.rate = 8'000'000;
  const auto seen = [&](auto&& by_hand) {
    Tables tables;
    make(tables, Carrier::ets, wanted);
    by_hand(tables.have());
    const PortScheduler read = scheduler_of(tables.have());
    make(tables, Carrier::ets, wanted);
    EXPECT_EQ(scheduler_of(tables.have()).classes.at(3).dscp, wanted.classes.at(3).dscp);
    return read;
  };
  const auto ets = [](PortQueueing& have) -> EtsParameters& {
    return *std::ranges::find(have.queues, "ets", &Qdisc::kind)->ets;
  };
  // "tc qdisc change" without a map: all to the last band.
  EXPECT_EQ(seen([&](PortQueueing& have) { ets(have).bands.fill(1); }).classes.at(3).dscp,
            std::set<std::uint8_t>{});
  EXPECT_EQ(seen([&](PortQueueing& have) { ets(have).quanta[0] = 6000; }).classes.at(3).share, 100U);
  EXPECT_EQ(seen([](PortQueueing& have) {
              std::erase_if(have.queues, [](auto& one) { return one.handle == 0x4C570000; });
            }).classes.count(3),
            0U);
  EXPECT_EQ(seen([](PortQueueing& have) { have.root->tbf_rate = 5; }).rate, 40U);
  EXPECT_EQ(seen([](PortQueueing& have) { have.root->tbf_rate = std::uint64_t{1} << 61; }).rate,
            ~std::uint64_t{0})
      << "more than 64 bits of bit/s: the most that they hold";
}

TEST(QueueingOnEts, RefusesWhatItDoesNotSupport) {
  PortScheduler wanted = two_classes();
  wanted.classes[3].max_rate = 8'000'000;
  EXPECT_FALSE(check(wanted, place_of(Carrier::ets)));
  EXPECT_TRUE(check(wanted, place_of(Carrier::htb)));
  wanted.classes[3].strict = true;
  EXPECT_TRUE(check(wanted, place_of(Carrier::ets)));
}

TEST(QueueingOnMqprio, QueuesAreDividedEvenly) {
  PortScheduler wanted = two_classes();
  wanted.classes[6];
  Tables tables;
  make(tables, Carrier::mqprio, wanted);
  EXPECT_EQ(tables.have().root->mqprio->classes,
            (std::vector<MqprioParameters::Queues>{{0, 3}, {3, 3}, {6, 2}}));
  wanted = {};
  wanted.classes[3];
  EXPECT_FALSE(check(wanted, place_of(Carrier::mqprio)));
}

TEST(QueueingOnMqprio, ReplacesAnMqprioThatLostItsClasses) {
  const PortScheduler wanted = two_classes();
  Tables tables;
  make(tables, Carrier::mqprio, wanted);
  const MqprioParameters made = *tables.have().root->mqprio;
  tables.have().root->mqprio = MqprioParameters{};
  EXPECT_TRUE(scheduler_of(tables.have()).classes.empty());
  make(tables, Carrier::mqprio, wanted);
  EXPECT_EQ(tables.have().root->mqprio, made);
  EXPECT_EQ(make(tables, Carrier::mqprio, wanted), 0U);
}

TEST(QueueingWords, PreviewShowsTcCommands) {
  const auto words = [](Carrier carrier, const std::string& entry, Value want) {
    return linux_map::native({*Path::parse("interface[rail0]/class[6]" + entry), {}, want, 0}, carrier);
  };
  const auto begins = [&](Carrier carrier, const std::string& entry, Value want, const std::string& with) {
    const std::string line = words(carrier, entry, want);
    EXPECT_TRUE(line.starts_with(with)) << line;
  };
  const std::string ets = "tc qdisc replace dev rail0 handle 4c5c: ets ";
  const std::string filter =
      "tc filter replace dev rail0 egress flower dscp 26 action skbedit priority e continue";
  begins(Carrier::htb, "/dscp", Value::set({"26"}),
         "tc filter replace dev rail0 parent 4c53: u32 flowid 4c53:16 ");
  begins(Carrier::ets, "", Value::present(), ets + "bands +1  # the band of class 6, whose queue is 4c5a:");
  begins(Carrier::ets, "/dscp", Value::set({"26"}), filter);
  begins(Carrier::ets, "/priority", Value::set({"3", "6"}), ets + "priomap 3 6 ");
  begins(Carrier::ets, "/share", Value::integer(600), ets + "quanta 36000 ");
  begins(Carrier::ets, "/strict", Value::boolean(true), ets + "strict +1 ");
  begins(Carrier::ets, "/max-rate", Value::integer(8000),
         "tc qdisc replace dev rail0 handle 4c5a: tbf rate 8000bit ");
  begins(Carrier::ets, "/ecn-max", Value::integer(9),
         "tc qdisc replace dev rail0 handle 4c5a: red ecn nodrop max 9 ");
  begins(Carrier::mqprio, "/dscp", Value::set({"26"}), filter);
  begins(Carrier::mqprio, "/priority", Value::set({"6"}),
         "tc qdisc replace dev rail0 root handle 4c53: mqprio hw 0 map 6  # to class 6");
}

}  // namespace
}  // namespace lockstep
