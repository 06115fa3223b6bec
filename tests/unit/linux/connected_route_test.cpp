#include "drivers/linux/driver.hpp"
#include "tests/unit/linux/lab.hpp"

namespace lockstep {
namespace {

class ConnectedRoute : public Lab {
 protected:
  // By the driver, and the same by one without a device that took over what this one observes.
  std::optional<Remedy::Offer> offered(const Change& effect) {
    const Attached elsewhere = make_linux_driver({});
    elsewhere.recall->recall(observed(), Scope{});
    const auto there = elsewhere.remedy->offer(effect);
    auto here = attached_.remedy->offer(effect);
    EXPECT_EQ(there ? there->name : "", here ? here->name : "") << effect.path.text();
    return here;
  }
};

Change lost(const char* prefix, const char* port) {
  return {*Path::parse("fib[" + std::string(prefix) + "]"), {}, Value::set({port}), 0};
}
// A route by a gateway in the connected network cannot be written until the connected route is restored.
TEST_F(ConnectedRoute, IsRestoredAsTheKernelMakesItAndRemovedWithItsAddress) {
  applies({{"interface[rail0]/address[10.64.0.1/31]", Value::present()},
           {"interface[rail0]/address[2001:db8::1/127]", Value::present()},
           {"interface[rail0]/admin", Value::boolean(true)}});
  const std::string made = said("ip", "route show table main");
  const std::string made6 = said("ip", "-6 route show 2001:db8::/127 table main");
  ASSERT_EQ(ip("route flush table main"), 0);
  ASSERT_EQ(ip("-6 route flush 2001:db8::/127 table main"), 0);
  EXPECT_EQ(value("fib[10.64.0.0/31]"), Value{});
  const auto refused = apply({{"route[main:10.64.0.0/16]", Value::set({"via 10.64.0.0 dev rail0"})}});
  EXPECT_NE(refused.at(0), "");

  const ChangeSet effects{lost("10.64.0.0/31", "rail0"), lost("2001:db8::/127", "rail0")};
  for (const Change& effect : effects) {
    const auto offer = offered(effect);
    ASSERT_TRUE(offer) << effect.path.text();
    EXPECT_EQ(offer->name, "restore-connected-route");
    EXPECT_EQ(offer->disruption, Disruption::none);
    EXPECT_TRUE(offer->before_writes);
  }
  const auto cured = attached_.remedy->cure(effects, within(std::chrono::seconds(5)));
  ASSERT_TRUE(cured) << cured.error().text();
  EXPECT_EQ(said("ip", "route show table main"), made);
  EXPECT_EQ(said("ip", "-6 route show 2001:db8::/127 table main"), made6);
  applies({{"route[main:10.64.0.0/16]", Value::set({"via 10.64.0.0 dev rail0"})}});
  EXPECT_TRUE(attached_.remedy->cure(effects, within(std::chrono::seconds(5))))
      << "what is there already is no error";

  applies({{"interface[rail0]/address[10.64.0.1/31]", {}}});
  EXPECT_EQ(said("ip", "route show 10.64.0.0/31 table main"), "");
}

// A route that cannot be restored does not block the others, and a restored one is not reported as refused.
TEST_F(ConnectedRoute, IsRestoredEvenIfAnotherCannotBe) {
  ASSERT_EQ(ip("link add rail1 type veth peer name other"), 0);
  applies({{"interface[rail0]/address[10.64.0.1/31]", Value::present()},
           {"interface[rail0]/admin", Value::boolean(true)},
           {"interface[rail1]/address[10.64.1.1/31]", Value::present()},
           {"interface[rail1]/admin", Value::boolean(true)}});
  const std::string made = said("ip", "route show 10.64.0.0/31 table main");
  ASSERT_EQ(ip("route flush table main"), 0);
  observed();
  ASSERT_EQ(ip("link delete rail1"), 0);
  const Change gone = lost("10.64.1.0/31", "rail1");
  const auto in_part =
      attached_.remedy->cure({gone, lost("10.64.0.0/31", "rail0")}, within(std::chrono::seconds(5)));
  ASSERT_FALSE(in_part);
  EXPECT_EQ(in_part.error().kind, ErrorKind::unknown_outcome);
  EXPECT_EQ(said("ip", "route show 10.64.0.0/31 table main"), made);
  const auto refused = attached_.remedy->cure({gone}, within(std::chrono::seconds(5)));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::refused) << "nothing was touched";
}

TEST_F(ConnectedRoute, IsNotOfferedForANetworkWithoutAnAddressOfThePort) {
  applies({{"interface[rail0]/address[10.64.0.1/31]", Value::present()},
           {"interface[rail0]/admin", Value::boolean(true)}});
  observed();
  EXPECT_FALSE(offered(lost("10.64.0.2/31", "rail0")));
  EXPECT_FALSE(offered(lost("10.64.0.0/31", "rail1")));
  Change other = lost("10.64.0.0/31", "rail0");
  other.was = Value::set({"lo"});
  EXPECT_FALSE(offered(other)) << "another route is there";
}

}  // namespace
}  // namespace lockstep
