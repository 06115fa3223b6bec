// database_config.json and database_global.json: SONiC's own, and wrong ones.
#include "drivers/sonic/database_config.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/sonic/shared_data.hpp"

namespace lockstep::sonic {
namespace {

class DatabaseConfigs : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "lockstep-databases-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& name, std::string_view text) const {
    const std::filesystem::path path = std::filesystem::path(folder_) / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return path.string();
  }

  std::string folder_;
};

constexpr std::string_view kInstances =
    R"({"INSTANCES":{"redis":{"hostname":"127.0.0.1","port":6379,"unix_socket_path":"/run/redis.sock"},)"
    R"("far":{"hostname":"10.0.0.1","port":6380}},"DATABASES":)";

std::string with(std::string_view databases) { return std::string(kInstances).append(databases).append("}"); }

TEST_F(DatabaseConfigs, ReadsEveryDatabaseAndItsRedis) {
  const auto config = read_database_config(file("database_config.json", with(R"({
    "CONFIG_DB": {"id": 4, "separator": "|", "instance": "redis"},
    "CHASSIS_APP_DB": {"id": 0, "separator": "|", "instance": "far", "later": []},
    "PFC_WD_DB": {"id": 5, "separator": ":", "instance": "redis"},
    "FLEX_COUNTER_DB": {"id": 5, "separator": ":", "instance": "redis"}})")));
  ASSERT_TRUE(config) << config.error().text();
  EXPECT_EQ(config->databases.size(), 4U);
  const auto found = config->find("CONFIG_DB");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->id, 4);
  EXPECT_EQ(found->separator, "|");
  EXPECT_EQ(found->instance, "redis");
  EXPECT_EQ(found->server.name(), "Redis at /run/redis.sock");
  EXPECT_EQ(config->find("CHASSIS_APP_DB")->server.name(), "Redis at 10.0.0.1:6380");
  const auto missing = config->find("STATE_DB");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().text(), config->file + ": there is no database 'STATE_DB'");
}

TEST_F(DatabaseConfigs, ErrorsNameTheFileAndWhatIsWrong) {
  const std::pair<std::string, std::string> kWrong[] = {
      {"[]", "not an object"},
      {"{", "not JSON"},
      {"{}", "there is no object INSTANCES"},
      {R"({"INSTANCES":{}})", "there is no object DATABASES"},
      {R"({"INSTANCES":{"redis":1},"DATABASES":{}})", "INSTANCES: 'redis' is not an object"},
      {R"({"INSTANCES":{"redis":{"hostname":"127.0.0.1"}},"DATABASES":{}})",
       "Redis instance 'redis': neither unix_socket_path nor hostname and port"},
      {R"({"INSTANCES":{"redis":{"hostname":"127.0.0.1","port":65536}},"DATABASES":{}})",
       "Redis instance 'redis': port is 65536, and not an integer from 0 to 65535"},
      {R"({"INSTANCES":{"redis":{"unix_socket_path":["a"]}},"DATABASES":{}})",
       "Redis instance 'redis': unix_socket_path is not a text"},
      {with(R"({"A":{"separator":"|","instance":"redis"}})"), "database 'A': there is no id"},
      {with(R"({"A":{"id":-1,"separator":"|","instance":"redis"}})"),
       "database 'A': id is -1, and not an integer from 0 to 2147483647"},
      {with(R"({"A":{"id":"4","separator":"|","instance":"redis"}})"),
       "database 'A': id is not an integer from 0 to 2147483647"},
      {with(R"({"A":{"id":4.5,"separator":"|","instance":"redis"}})"),
       "database 'A': id is not an integer from 0 to 2147483647"},
      {with(R"({"A":{"id":4,"instance":"redis"}})"), "database 'A': there is no separator"},
      {with(R"({"A":{"id":4,"separator":"|"}})"), "database 'A': there is no Redis instance ''"},
      {with(R"({"A":{"id":4,"separator":"|","instance":"x"}})"),
       "database 'A': there is no Redis instance 'x'"},
      {with(R"({"CONFIG_DB":{"id":4,"separator":":","instance":"redis"}})"),
       "database 'CONFIG_DB': the separator is ':', and must be |"},
      {with(
           R"({"CONFIG_DB":{"id":4,"separator":"|","instance":"redis"},"X":{"id":4,"separator":"|","instance":"redis"}})"),
       "databases 'CONFIG_DB' and 'X' have the same id 4 of Redis instance 'redis'"},
  };
  for (const auto& [text, why] : kWrong) {
    const std::string name = file("wrong.json", text);
    const auto config = read_database_config(name);
    ASSERT_FALSE(config) << text;
    EXPECT_EQ(config.error().kind, ErrorKind::invalid_spec) << text;
    EXPECT_EQ(config.error().text().substr(0, name.size() + 2 + why.size()), name + ": " + why);
  }
  const auto missing = read_database_config(folder_ + "/none.json");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::transient);
  EXPECT_FALSE(read_database_config(folder_));
  EXPECT_FALSE(read_database_config(file("large.json", std::string(kDatabaseFileBytes + 1, ' '))));
}

TEST_F(DatabaseConfigs, EveryNamespaceHasItsOwn) {
  const auto config_at = [](int id) {
    return with(R"({"CONFIG_DB":{"id":)" + std::to_string(id) + R"(,"separator":"|","instance":"redis"}})");
  };
  file("redis/sonic-db/database_config.json", config_at(4));
  file("redis0/sonic-db/database_config.json", config_at(5));
  const std::string global = file("redis/sonic-db/database_global.json", R"({"INCLUDES":[
    {"include":"../../redis/sonic-db/database_config.json"},
    {"namespace":"asic0","include":"../../redis0/sonic-db/database_config.json"}],"VERSION":"1.0"})");
  const auto asics = read_database_global(global);
  ASSERT_TRUE(asics) << asics.error().text();
  ASSERT_EQ(asics->size(), 2U);
  EXPECT_EQ((*asics)[0].network_namespace, "");
  EXPECT_EQ((*asics)[0].config.find("CONFIG_DB")->id, 4);
  EXPECT_EQ((*asics)[1].network_namespace, "asic0");
  EXPECT_EQ((*asics)[1].config.find("CONFIG_DB")->id, 5);
  EXPECT_EQ((*asics)[1].config.file, folder_ + "/redis0/sonic-db/database_config.json");
}

TEST_F(DatabaseConfigs, WrongNamespacesAreNamed) {
  file("a.json", with("{}"));
  file("wrong.json", "{}");
  const std::pair<std::string, std::string> kWrong[] = {
      {"{}", "there is no list INCLUDES"},
      {R"({"INCLUDES":[]})", "INCLUDES is empty"},
      {R"({"INCLUDES":[1]})", "an entry of INCLUDES is not an object"},
      {R"({"INCLUDES":[{"namespace":"asic0"}]})", "an entry of INCLUDES has no include"},
      {R"({"INCLUDES":[{"include":"a.json"},{"include":"a.json"}]})", "INCLUDES has namespace '' twice"},
      {R"({"INCLUDES":[{"include":"wrong.json"}]})", folder_ + "/wrong.json: there is no object INSTANCES"},
  };
  for (const auto& [text, why] : kWrong) {
    const std::string name = file("database_global.json", text);
    const auto asics = read_database_global(name);
    ASSERT_FALSE(asics) << text;
    EXPECT_EQ(asics.error().text(), name + ": " + why);
  }
}

TEST_F(DatabaseConfigs, SonicsOwnFilesAreRead) {
  const std::filesystem::path data = sonic_yang_data() / "../sonic-config";
  if (!std::filesystem::is_directory(data)) LOCKSTEP_NOT_TESTED("SONiC's files are not at " + data.string());
  for (const char* const name : {"database_config.json", "mock_tables/database_config.json"}) {
    const auto config = read_database_config((data / name).string());
    ASSERT_TRUE(config) << config.error().text();
    for (const auto& [database, id] : std::map<std::string, int>{
             {"APPL_DB", 0}, {"ASIC_DB", 1}, {"COUNTERS_DB", 2}, {"CONFIG_DB", 4}, {"STATE_DB", 6}}) {
      const auto found = config->find(database);
      ASSERT_TRUE(found) << found.error().text();
      EXPECT_EQ(found->id, id) << database;
      EXPECT_EQ(found->server.socket_path, "/var/run/redis/redis.sock");
    }
  }
}

}  // namespace
}  // namespace lockstep::sonic
