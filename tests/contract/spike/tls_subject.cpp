#include "tests/contract/spike/tls_subject.hpp"

#include "drivers/sim/simulated_device.hpp"
#include "specs/model/schema_rows.hpp"
#include "tests/contract/spike/tls_driver.hpp"

namespace lockstep::contract {
namespace {

class Remote final : public Subject {
 public:
  Remote() {
    device_.undoes_itself = true;
    device_.clock = [this] { return now_; };
    // One of each type, and what refers to another.
    device_.rows = {row("bond[*]"),
                    row("bond[*]/members"),
                    row("bond[*]/mode"),
                    row("interface[*]/admin"),
                    row("interface[*]/address[*]"),
                    row("interface[*]/mtu"),
                    row("interface[*]/vrf"),
                    row("vlan[*]"),
                    row("vlan[*]/name"),
                    row("vrf[*]")};
    device_.set(Path(row("interface[*]/mtu"), {"rail9"}), Value::integer(1400));
    device_.set(Path(row("vlan[*]"), {"99"}), Value::present());
    attached = make_tls_driver("gpu1", ends_.client.get(), server_.port());
    is_real = false;
  }
  std::string foreign() override {
    std::string out;
    server_.at_device([&] {
      out = device_.truth().value(Path(row("interface[*]/mtu"), {"rail9"})).to_string() +
            device_.truth().value(Path(row("vlan[*]"), {"99"})).to_string();
    });
    return out;
  }
  void touch() override {
    server_.at_device(
        [&] { device_.set(Path(row("interface[*]/mtu"), {"rail8"}), Value::integer(1400 + ++touches_)); });
  }
  bool lose_replies(bool on) override {
    server_.lose_replies(on);
    return true;
  }
  bool hang(bool on) override {
    server_.hang(on);
    return true;
  }
  void pass(std::chrono::milliseconds time) override {
    server_.at_device([&] { now_ += time; });
  }

 private:
  SimulatedDevice device_{"gpu1", 1};
  Time now_{};
  int touches_ = 0;
  TlsEnds ends_ = make_tls_ends();
  TlsServer server_{device_, std::move(ends_.server)};
};

}  // namespace

std::unique_ptr<Subject> make_tls_subject() { return std::make_unique<Remote>(); }

}  // namespace lockstep::contract
