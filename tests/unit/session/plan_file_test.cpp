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
  Result<Done> end(std::uint64_t, const std::string&) override { return Done{}; }
  Result<Done> cure(const std::string&, const std::string&, WallTime) override { return Done{}; }
  Result<std::size_t> cures(const std::string&, const std::string&, WallTime) const override {
    return std::size_t{0};
  }
};

// Two hosts that want an MTU, and a plan for them in a file.
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
      list.push_back({name, "host", &intents[i], {&attached[i]}, Lane::local});
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

TEST_F(PlanFileOfTwo, IsReadAsItWasWritten) {
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

TEST_F(PlanFileOfTwo, IsAppliedButForTheDeviceWhoseGroundHasMoved) {
  devices[0]->set(mtu, Value::integer(1234));
  const Result<PlanFile> read = read_plan_file(file);
  ASSERT_TRUE(read);
  const auto moved = moved_ground(read->plan, fleet, observe());
  ASSERT_EQ(moved.size(), 1U);
  EXPECT_EQ(moved.begin()->second, "the ground of gpu1 has moved since the plan was made");
  NoLedger ledger;
  Application application(fleet, executor, ledger, without(read->plan, moved), {});
  const ApplyReport report = pump(executor, application);
  EXPECT_EQ(report.verdict, ApplyVerdict::kept);
  EXPECT_EQ(devices[0]->truth().value(mtu), Value::integer(1234));
  EXPECT_EQ(devices[1]->truth().value(mtu), Value::integer(9000));
}

TEST_F(PlanFileOfTwo, ThatWasEditedCutOrIsAnotherDocumentIsRefused) {
  std::string edited = text();
  edited.replace(edited.find("9000"), 4, "1280");
  EXPECT_NE(refused(edited).find("was edited or cut"), std::string::npos);
  EXPECT_NE(refused(edited.substr(0, edited.size() / 2)).find("is not a plan"), std::string::npos);
  EXPECT_NE(refused("{}").find("is not a plan"), std::string::npos);
  EXPECT_NE(refused("[1, 2]").find("is not a plan"), std::string::npos);
  std::filesystem::remove(file);
  EXPECT_FALSE(read_plan_file(file));
}

// A limit on the size of files stands for a full disk.
TEST_F(PlanFileOfTwo, ThatDoesNotFitGivesTheReasonAndLeavesNothing) {
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

TEST_F(PlanFileOfTwo, GoesThroughALinkAndADeviceThatStayWhatTheyAre) {
  const std::string link = folder + "/link.json";
  std::filesystem::create_symlink("behind.json", link);
  ASSERT_TRUE(write_plan_file(link, PlanAim{}, Plan{}));
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_GT(std::filesystem::file_size(folder + "/behind.json"), 0U);
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
