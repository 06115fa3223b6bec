#include "reconciler/session/plan_file.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "drivers/runtime/pump.hpp"
#include "drivers/sim/simulated_device.hpp"
#include "drivers/sim/simulated_executor.hpp"
#include "reconciler/engine/application.hpp"
#include "reconciler/engine/digest.hpp"
#include "reconciler/engine/earlier_plan.hpp"
#include "specs/model/schema_rows.hpp"
#include "tests/needs.hpp"

namespace lockstep {
namespace {

class NoLedger final : public Ledger {
 public:
  std::uint64_t epoch() const override { return 1; }
  Result<std::uint64_t> begin(const Plan&, const std::string&, const std::string&) override { return 1; }
  Result<Done> ticket(std::uint64_t, const LedgerTicket&) override { return Done{}; }
  Result<Done> receipt(const std::string&, TicketState, const std::string&) override { return Done{}; }
  Result<Done> gate(std::uint64_t, GateState) override { return Done{}; }
  Result<Done> keep_before(std::uint64_t, const GateMeasurement&) override { return Done{}; }
  Result<Done> owe(std::uint64_t, const std::set<std::string>&) override { return Done{}; }
  Result<Done> refuse(const std::vector<RefusedWrite>&) override { return Done{}; }
  Result<Done> accept(const std::vector<std::string>&) override { return Done{}; }
  Result<std::vector<RefusedWrite>> refused() const override { return std::vector<RefusedWrite>{}; }
  Result<Done> end(std::uint64_t, const std::string&) override { return Done{}; }
  Result<Done> cure(const std::string&, const std::string&, WallTime) override { return Done{}; }
  Result<std::size_t> cures(const std::string&, const std::string&, WallTime) const override {
    return std::size_t{0};
  }
};

// Two hosts with a desired MTU, and a plan for them in a file.
class PlanFileOfTwo : public ::testing::Test {
 protected:
  PlanFileOfTwo() {
    std::string pattern = (std::filesystem::temp_directory_path() / "lockstep-plan-XXXXXX").string();
    folder = mkdtemp(pattern.data());
    file = folder + "/plan.json";
    std::vector<FleetDevice> list;
    for (std::size_t i = 0; i < 2; ++i) {
      const std::string name = "gpu" + std::to_string(i + 1);
      auto device = std::make_unique<SimulatedDevice>(name, i);
      devices[i] = device.get();
      attached[i].driver = std::move(device);
      intents[i].device = name;
      intents[i].want.set(mtu, Value::integer(9000));
      list.push_back({name, "host", &intents[i], {&attached[i]}});
    }
    fleet = *Fleet::make(std::move(list), {});
    const Plan plan = *make_plan(input_of(fleet, observe(), origins, sources, {}));
    PlanAim aim{.source = {}, .only = "gpu[1-2]", .cluster = "lab (twin)"};
    aim.source.specs = {folder};
    aim.source.twin = true;
    aim.source.renumber = true;
    const Result<Done> written = write_plan_file(file, aim, plan);
    if (!written) throw std::runtime_error(written.error().text());
    digest = plan.digest;
  }
  std::vector<DeviceState> observe() {
    ObserveRound round(fleet, executor);
    return pump(executor, round);
  }
  ~PlanFileOfTwo() override { std::filesystem::remove_all(folder); }

  std::string text() {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  std::string refused(const std::string& content) {
    std::ofstream(file, std::ios::trunc) << content;
    const Result<PlanFile> read = read_plan_file(file);
    return read ? "" : read.error().text();
  }

  const Path mtu = Path(row("interface[*]/mtu"), {"rail0"});
  std::string folder;
  std::string file;
  std::string digest;
  SimulatedExecutor executor{1};
  SimulatedDevice* devices[2];
  Attached attached[2];
  Intent intents[2];
  Fleet fleet;
  Origins origins;
  Sources sources;
};

TEST_F(PlanFileOfTwo, IsReadBackUnchanged) {
  const Result<PlanFile> read = read_plan_file(file);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->plan.digest, digest);
  EXPECT_EQ(read->plan.steps.size(), 2U);
  EXPECT_EQ(read->aim.source.specs, std::vector<std::string>{folder});
  EXPECT_TRUE(read->aim.source.twin);
  EXPECT_TRUE(read->aim.source.renumber);
  EXPECT_EQ(read->aim.only, "gpu[1-2]");
  EXPECT_EQ(read->aim.cluster, "lab (twin)");
  EXPECT_TRUE(is_plan_file({file}));
  EXPECT_FALSE(is_plan_file({folder}));
}

TEST_F(PlanFileOfTwo, IsAppliedExceptForTheStaleDevice) {
  devices[0]->set(mtu, Value::integer(1234));
  const Result<PlanFile> read = read_plan_file(file);
  ASSERT_TRUE(read);
  const auto moved = moved_ground(read->plan, fleet, observe());
  ASSERT_EQ(moved.size(), 1U);
  EXPECT_EQ(moved.begin()->second, "gpu1 has changed since the plan was made");
  NoLedger ledger;
  Application application(fleet, executor, ledger, without(read->plan, moved), {});
  const ApplyReport report = pump(executor, application);
  EXPECT_EQ(report.verdict, ApplyVerdict::kept);
  EXPECT_EQ(devices[0]->truth().value(mtu), Value::integer(1234));
  EXPECT_EQ(devices[1]->truth().value(mtu), Value::integer(9000));
}

// A digest does not authenticate a file: its author also writes the digest.
TEST_F(PlanFileOfTwo, OversizedDocumentIsRefused) {
  EXPECT_NE(refused(std::string(8U << 20, '[')).find("nested deeper than 64"), std::string::npos);
  std::string wide = "[";
  for (int i = 0; i < 4'000'000; ++i) wide += "0,";
  EXPECT_NE(refused(wide + "0]").find("more than 4000000 values"), std::string::npos);
  Plan plan = *make_plan(input_of(fleet, observe(), origins, sources, {}));
  plan.steps.back().wave = 4'000'000'000;
  plan.digest = plan_digest(plan);
  const auto counted = plan_from_json(to_json(plan));
  ASSERT_FALSE(counted);
  EXPECT_NE(counted.error().text().find("a wave has no step"), std::string::npos);
}

// A device may return arbitrary bytes, and a rollback writes them again.
TEST_F(PlanFileOfTwo, KeepsANonUtf8Value) {
  Plan plan = *make_plan(input_of(fleet, observe(), origins, sources, {}));
  const Value odd = Value::text("a\xff\x1b\xc3");
  plan.steps.back().changes.push_back({Path(row("sysctl[*]"), {"net.a.b"}), odd, Value::text("1"), 0});
  plan.digest = plan_digest(plan);
  ASSERT_TRUE(write_plan_file(file, {}, plan));
  const Result<PlanFile> read = read_plan_file(file);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->plan.steps.back().changes.back().was, odd);
}

TEST_F(PlanFileOfTwo, EditedTruncatedOrOtherDocumentIsRefused) {
  std::string edited = text();
  edited.replace(edited.find("9000"), 4, "1280");
  EXPECT_NE(refused(edited).find("was edited or cut"), std::string::npos);
  EXPECT_NE(refused(edited.substr(0, edited.size() / 2)).find("is not a plan"), std::string::npos);
  EXPECT_NE(refused("{}").find("is not a plan"), std::string::npos);
  EXPECT_NE(refused("[1, 2]").find("is not a plan"), std::string::npos);
  std::filesystem::remove(file);
  EXPECT_FALSE(read_plan_file(file));
}

TEST_F(PlanFileOfTwo, NonRegularFileIsRefusedWithoutBlocking) {
  alarm(60);  // a blocked read ends the test program
  const std::string zero = folder + "/zero.json";
  std::filesystem::create_symlink("/dev/zero", zero);
  ASSERT_EQ(mkfifo((folder + "/fifo.json").c_str(), 0600), 0);
  std::ofstream(folder + "/large.json") << "{";
  std::filesystem::resize_file(folder + "/large.json", std::uintmax_t{1} << 36);  // sparse
  EXPECT_EQ(read_plan_file(zero).error().text(), "can't read " + zero + ": not a regular file");
  EXPECT_EQ(read_plan_file(folder + "/fifo.json").error().text(),
            "can't read " + folder + "/fifo.json: not a regular file");
  EXPECT_EQ(read_plan_file(folder + "/large.json").error().text(),
            "can't read " + folder + "/large.json: larger than 256 MiB");
  alarm(0);
}

// A file size limit simulates a full disk.
TEST_F(PlanFileOfTwo, FailedWriteReportsTheReasonAndLeavesNothing) {
  const std::string before = text();
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  const auto was = signal(SIGXFSZ, SIG_IGN);
  const rlimit small{16, limit.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const Result<Done> written = write_plan_file(file, PlanAim{}, Plan{});
  setrlimit(RLIMIT_FSIZE, &limit);
  signal(SIGXFSZ, was);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().text(), "can't write the plan to " + file + ": File too large");
  using std::filesystem::directory_iterator;
  EXPECT_EQ(std::distance(directory_iterator(folder), directory_iterator()), 1) << "left beside the plan";
  EXPECT_EQ(text(), before);
}

TEST_F(PlanFileOfTwo, IsNotWrittenThroughASymbolicLink) {
  const std::string link = folder + "/link.json";
  std::filesystem::create_symlink("plan.json", link);
  const std::string before = text();
  const Result<Done> written = write_plan_file(link, PlanAim{}, Plan{});
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().text(), "can't write the plan to " + link + ": is a symbolic link");
  EXPECT_EQ(text(), before);
}

TEST_F(PlanFileOfTwo, WritingToADeviceKeepsTheDevice) {
  const std::string full = folder + "/full";
  LOCKSTEP_NEEDS_ROOT("makes a device");
  if (::mknod(full.c_str(), S_IFCHR | 0600, makedev(1, 7)) != 0)
    LOCKSTEP_NOT_TESTED("a plan to a full device: none can be made here (mknod(2))");
  const Result<Done> written = write_plan_file(full, PlanAim{}, Plan{});
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().text(), "can't write the plan to " + full + ": No space left on device");
  EXPECT_TRUE(std::filesystem::is_character_file(full));
}

}  // namespace
}  // namespace lockstep
