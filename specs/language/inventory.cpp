#include "specs/language/inventory.hpp"

#include <algorithm>
#include <filesystem>
#include <map>

#include "specs/language/codes.hpp"
#include "specs/language/csv.hpp"
#include "specs/language/hostlist.hpp"
#include "specs/language/scalars.hpp"
#include "specs/language/text_file.hpp"
#include "specs/model/near_miss.hpp"

namespace lockstep {
namespace {

constexpr std::string_view name_column = "name";
constexpr std::string_view platform_column = "platform";

class Inventory {
 public:
  Inventory(DeviceSet& set, const CsvTable& table, Reporter& reporter)
      : set_(set), table_(table), reporter_(reporter) {}

  void run(Position file) {
    if (!check_header(file)) return;
    bool whole = true;
    for (const std::vector<CsvCell>& row : table_.rows) whole = add(row) && whole;
    if (!whole) return;  // a set with gaps would number its devices differently
    if (set_.inventory.empty()) {
      reporter_.error(code::missing_field, {file, 1}, "no row names a device", "write one a line");
      return;
    }
    std::string names;
    for (const InventoryRow& row : set_.inventory) names += (names.empty() ? "" : ",") + *row.name;
    set_.names = {std::move(names), set_.inventory.front().name.at, true};
  }

 private:
  bool check_header(Position file) {
    bool good = true;
    std::map<std::string_view, Position> seen;
    for (std::size_t i = 0; i < table_.header.size(); ++i) {
      const CsvCell& cell = table_.header[i];
      if (cell.text == name_column) name_ = i;
      const auto [first, fresh] = seen.try_emplace(cell.text, cell.at.at);
      if (cell.text.empty()) {
        reporter_.error(code::missing_field, cell.at, "a column without a name",
                        "name it: it is a label's key");
      } else if (!fresh) {
        reporter_.error(code::duplicate_key, cell.at, in_quotes(cell.text) + " is a column twice",
                        "keep one of the two", {{first->second, "first written here"}});
      } else {
        warn_of_near_miss(cell);
        continue;
      }
      good = false;
    }
    if (name_ < table_.header.size()) return good;
    const bool semicolons = table_.header.size() == 1 && table_.header[0].text.find(';') != std::string::npos;
    reporter_.error(code::missing_field, {table_.header.empty() ? file : table_.header[0].at.at, 1},
                    "no column is called 'name'",
                    semicolons ? "separate the columns by commas" : "the first line names the columns");
    return false;
  }

  void warn_of_near_miss(const CsvCell& cell) {
    constexpr std::string_view known[] = {name_column, platform_column};
    const std::string_view near = nearest(cell.text, known);
    if (near.empty() || near == cell.text) return;
    reporter_.warning(code::unknown_field, cell.at,
                      "the column " + in_quotes(cell.text) + " is taken for a label",
                      "did you mean '" + std::string(near) + "'?");
  }

  bool add(const std::vector<CsvCell>& cells) {
    const CsvCell& name = cells[name_];
    const auto names = expand_hostlist(name.text);
    if (!names || names->size() != 1 || names->front() != name.text) {
      reporter_.error(code::bad_hostlist, name.at, in_quotes(name.text) + " is not the name of one device",
                      "a row is for one device");
      return false;
    }
    if (!is_host_name(name.text)) {
      reporter_.error(code::bad_name, name.at, in_quotes(name.text) + " is not a host name",
                      std::string(host_name_rule));
      return false;
    }
    const auto [first, fresh] = seen_.try_emplace(name.text, name.at.at);
    if (!fresh) {
      reporter_.error(code::written_twice, name.at, in_quotes(name.text) + " has two rows",
                      "keep one of the two", {{first->second, "first written here"}});
      return false;
    }
    InventoryRow& row = set_.inventory.emplace_back();
    row.name = {name.text, name.at.at, true};
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const CsvCell& key = table_.header[i];
      if (i == name_ || cells[i].text.empty()) continue;
      const Said<std::string> value{cells[i].text, cells[i].at.at, true};
      if (key.text == platform_column)
        row.platform = value;
      else
        row.labels.push_back({{key.text, key.at.at, true}, value});
    }
    return true;
  }

  DeviceSet& set_;
  const CsvTable& table_;
  Reporter& reporter_;
  std::size_t name_ = static_cast<std::size_t>(-1);
  std::map<std::string_view, Position> seen_;
};

// The path as the user would write it: relative to the file that names it.
std::string path_of(const Said<std::string>& csv, const Sources& sources) {
  const std::filesystem::path beside = std::filesystem::path(sources.files[csv.at.file].name).parent_path();
  return (beside / *csv).string();
}

}  // namespace

void read_inventories(Catalog& catalog, Reporter& reporter) {
  for (DeviceSet& set : catalog.device_sets) {
    const From& from = *set.from;
    if (from.netbox.said)
      reporter.error(code::not_read, {from.netbox.at, 1},
                     "an inventory in NetBox is not read: its devices would be missing",
                     "export it, and write from: {csv: FILE}");
    if (!from.csv.said || set.names.said) continue;
    const Span at{from.csv.at, static_cast<std::uint32_t>(from.csv->size())};
    if (from.csv->starts_with('/')) {
      reporter.error(code::unreadable, at, "cannot read " + in_quotes(*from.csv) + ": an absolute path",
                     "put the file beside the specs, and name it relative to this file");
      continue;
    }
    const std::string name = path_of(from.csv, catalog.sources);
    std::optional<std::string> text = read_text_file(
        catalog.sources.files[from.csv.at.file].folder, name, [&] { return at; }, reporter);
    if (!text) continue;
    const std::uint32_t file = catalog.sources.add(name, *std::move(text));
    catalog.sources.files[file].shown = false;
    if (const std::optional<CsvTable> table = read_csv(file, reporter))
      Inventory(set, *table, reporter).run({file, 1, 1});
  }
}

}  // namespace lockstep
