// DeviceSets that are listed in a CSV file.
#include "specs/language/inventory.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "specs/language/codes.hpp"
#include "specs/language/csv.hpp"
#include "specs/language/excerpt.hpp"
#include "specs/language/load.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

std::string cells_of(const std::string& text, Diagnostics& diagnostics) {
  Sources sources;
  const std::uint32_t file = sources.add("x.csv", text);
  Reporter reporter(sources, diagnostics);
  const auto table = read_csv(file, reporter);
  if (!table) return "none";
  std::string out;
  const auto add = [&](const std::vector<CsvCell>& row) {
    for (const CsvCell& cell : row)
      out += "<" + cell.text + ">" + std::to_string(cell.at.at.line) + ":" +
             std::to_string(cell.at.at.column) + "+" + std::to_string(cell.at.length) + " ";
    out += "/ ";
  };
  add(table->header);
  for (const auto& row : table->rows) add(row);
  return out;
}

TEST(Csv, CellsHaveTheirPlaces) {
  Diagnostics none;
  EXPECT_EQ(cells_of("a,b\n1,\"2\"\n", none), "<a>1:1+1 <b>1:3+1 / <1>2:1+1 <2>2:3+3 / ");
  EXPECT_EQ(cells_of("\xef\xbb\xbf"
                     "a,b\r\n\r\n,\r\n",
                     none),
            "<a>1:1+1 <b>1:3+1 / <>3:1+0 <>3:2+0 / ");
  EXPECT_EQ(cells_of("é,\"x \"\"y\"\",\nz\"\n1,2", none),
            "<é>1:1+1 <x \"y\",\nz>1:3+1 / <1>3:1+1 <2>3:3+1 / ");
  EXPECT_EQ(cells_of("", none), "/ ");
  EXPECT_TRUE(none.empty());
}

TEST(Csv, InvalidCsvIsReportedAtItsPlace) {
  const std::tuple<std::string, std::string_view, std::string> all[] = {
      {"a,b\n1\n", code::syntax, "2:1 this row has 1 cells, and the header has 2"},
      {"a\n\"b\n", code::syntax, "2:1 a quoted cell that does not end"},
      {"a\nb\"c\n", code::syntax, "2:2 a quote inside a cell that is not quoted"},
      {"a\n\"b\"c\n", code::syntax, "2:4 text behind a closing quote"},
      {"a\n\xff\n", code::not_utf8, "2:1 a byte that is not UTF-8"},
      {std::string("a\n\0", 3), code::control_character, "2:1 a NUL character"},
      {"a\rb\n", code::control_character, "1:2 a control character, \\x0d"},
      {std::string(1'000'001, ','), code::too_many_nodes, "1:1000001 more than 1000000 cells"},
      {std::string((16 << 20) + 1, 'a'), code::too_large, "1:1 larger than 16 MiB"},
  };
  for (const auto& [text, code, message] : all) {
    Diagnostics diagnostics;
    cells_of(text, diagnostics);
    ASSERT_EQ(diagnostics.size(), 1U) << message;
    const Diagnostic& one = diagnostics[0];
    EXPECT_EQ(one.code, code) << message;
    EXPECT_EQ(std::to_string(one.at.line) + ":" + std::to_string(one.at.column) + " " + one.message, message);
  }
}

class InventoryFolder : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "lockstep-inventory-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
    fs::create_directory(root_ / "sites");
    write(
        "specs.yaml",
        "apiVersion: lockstep.dev/v1alpha1\nkind: DeviceSet\nmetadata: {name: hosts, labels: {pool: h200}}\n"
        "spec: {role: host, platform: linux, drivers: [linux], from: {csv: sites/hosts.csv}}\n");
  }
  void TearDown() override { fs::remove_all(root_); }
  void write(const std::string& name, const std::string& text) { std::ofstream(root_ / name) << text; }
  Loaded with(const std::string& csv) {
    write("sites/hosts.csv", csv);
    return load({root_.string()});
  }
  // "hosts.csv:3:1 message"
  static std::vector<std::string> errors(const Loaded& loaded) {
    std::vector<std::string> out;
    for (const Diagnostic& one : loaded.diagnostics)
      out.push_back(fs::path(loaded.catalog.sources.files[one.at.file].name).filename().string() + ":" +
                    std::to_string(one.at.line) + ":" + std::to_string(one.at.column) + " " + one.code + " " +
                    one.message);
    return out;
  }
  fs::path root_;
};

TEST_F(InventoryFolder, RowsAreDevicesWithTheirOwnPlatformsAndLabels) {
  const Loaded loaded = with("name,rack,platform,pool\ngpu9,r1,,\ngpu10,\"r2\",e810,h100\n");
  EXPECT_EQ(errors(loaded), std::vector<std::string>{});
  const DeviceSet& set = loaded.catalog.device_sets.at(0);
  EXPECT_EQ(*set.names, "gpu9,gpu10");
  EXPECT_EQ(loaded.catalog.sources.files[set.inventory[1].name.at.file].name,
            (root_ / "sites/hosts.csv").string());
  EXPECT_EQ(set.inventory[1].name.at.line, 3U);
  EXPECT_EQ(*platform_said(set, 0), "linux");
  EXPECT_EQ(*platform_said(set, 1), "e810");
  EXPECT_EQ(platform_said(set, 1).at.column, 12U);

  const auto selected = [&](std::string_view key, std::string_view value) {
    Selector selector;
    selector.match_labels.push_back({{std::string(key), {}, true}, {std::string(value), {}, true}});
    EXPECT_EQ(has_labels(set, selector),
              selects(selector, set, 0, "gpu9") || selects(selector, set, 1, "gpu10"));
    return std::pair(selects(selector, set, 0, "gpu9"), selects(selector, set, 1, "gpu10"));
  };
  EXPECT_EQ(selected("rack", "r1"), std::pair(true, false));
  EXPECT_EQ(selected("rack", "r2"), std::pair(false, true));
  EXPECT_EQ(selected("pool", "h200"), std::pair(true, false));
  EXPECT_EQ(selected("pool", "h100"), std::pair(false, true));
}

TEST_F(InventoryFolder, MistakesAreReportedInTheCsvFile) {
  using All = std::vector<std::string>;
  EXPECT_EQ(errors(with("host\ngpu1\n")), All{"hosts.csv:1:1 LS1003 no column is called 'name'"});
  EXPECT_EQ(errors(with("name;rack\ngpu1;r1\n")), All{"hosts.csv:1:1 LS1003 no column is called 'name'"});
  EXPECT_EQ(errors(with("")), All{"hosts.csv:1:1 LS1003 no column is called 'name'"});
  EXPECT_EQ(errors(with("name\n")), All{"hosts.csv:1:1 LS1003 no row names a device"});
  EXPECT_EQ(errors(with("name,name\na,b\n")), All{"hosts.csv:1:6 LS0011 'name' is a column twice"});
  EXPECT_EQ(errors(with("name,\na,b\n")), All{"hosts.csv:1:6 LS1003 a column without a name"});
  EXPECT_EQ(errors(with("name,platfrom\na,b\n")),
            All{"hosts.csv:1:6 LS1002 the column 'platfrom' is taken for a label"});
  EXPECT_EQ(errors(with("name\ngpu[1-2]\n\"\"\na b\ngpu1\ngpu1\n")),
            (All{"hosts.csv:2:1 LS1008 'gpu[1-2]' is not the name of one device",
                 "hosts.csv:3:1 LS1008 '' is not the name of one device",
                 "hosts.csv:4:1 LS1008 'a b' is not the name of one device",
                 "hosts.csv:6:1 LS1014 'gpu1' has two rows"}));
  EXPECT_EQ(errors(with("name\n\"gpu1\n")), All{"hosts.csv:2:1 LS0006 a quoted cell that does not end"});
}

TEST_F(InventoryFolder, AFileThatCannotBeReadIsReportedWhereItIsNamed) {
  EXPECT_EQ(errors(load({root_.string()})).at(0).find("specs.yaml:4:67 LS0001 cannot read"), 0U)
      << errors(load({root_.string()})).at(0);
  fs::create_directory(root_ / "sites/hosts.csv");
  EXPECT_EQ(load({root_.string()}).diagnostics.at(0).code, code::unreadable);
  fs::remove(root_ / "sites/hosts.csv");
  write("sites/hosts.csv", "a");
  fs::resize_file(root_ / "sites/hosts.csv", 100'000'000);  // sparse
  EXPECT_EQ(load({root_.string()}).diagnostics.at(0).code, code::too_large);
}

TEST_F(InventoryFolder, ADeviceOfTwoSetsIsReportedAtItsRow) {
  write("other.yaml",
        "apiVersion: lockstep.dev/v1alpha1\nkind: DeviceSet\nmetadata: {name: a}\n"
        "spec: {names: gpu2, role: host, drivers: [linux]}\n");
  EXPECT_EQ(errors(with("name\ngpu1\ngpu2\n")),
            std::vector<std::string>{"hosts.csv:3:1 LS1104 'gpu2' is in DeviceSet 'a' too"});
}

}  // namespace
}  // namespace lockstep
