#include "examples/driver/driver.hpp"

#include <algorithm>
#include <fstream>

#include "drivers/mapped/mapped_driver.hpp"
#include "specs/files/replace_file.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

constexpr MapRow kMap[] = {{row("interface[*]/mtu"), "port.{}.mtu"},
                           {row("interface[*]/admin"), "port.{}.enabled"},
                           {row("service[*]"), "service.{}"}};

class ConfigFile : public NativeStore {
 public:
  explicit ConfigFile(std::string name) : name_(std::move(name)) {}

  Result<NativeState> read(const Call&) override {
    TRY(const std::vector<std::string> lines, read_lines());
    NativeState out{{}, "file"};
    for (const std::string& line : lines)
      if (const std::size_t blank = line.find(' '); blank != line.npos)
        out.entries.push_back({line.substr(0, blank), line.substr(blank + 1)});
    return out;
  }

  Result<Done> edit(const NativeState&, const std::vector<NativeEdit>& edits, const Call&) override {
    TRY(std::vector<std::string> lines, read_lines());
    for (const NativeEdit& edit : edits) {
      const auto is_its = [&edit](const std::string& line) { return line.starts_with(edit.key + " "); };
      const auto at = std::find_if(lines.begin(), lines.end(), is_its);
      if (!edit.value)
        std::erase_if(lines, is_its);
      else if (at == lines.end())
        lines.push_back(edit.key + " " + *edit.value);
      else
        *at = edit.key + " " + *edit.value;
    }
    return write_lines(lines);
  }

  // A blank or a line break inside a value would change the line structure of the file.
  bool can_hold(std::string_view text) const override {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
  }

  std::string words(const NativeEdit& edit) const override {
    return edit.value ? "set " + edit.key + " " + *edit.value : "unset " + edit.key;
  }

 private:
  Result<std::vector<std::string>> read_lines() const {
    std::ifstream in(name_);
    if (!in) return Error{ErrorKind::transient, "can't read " + name_};
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    if (in.bad()) return Error{ErrorKind::transient, name_ + ": the read was cut short"};
    return lines;
  }

  Result<Done> write_lines(const std::vector<std::string>& lines) const {
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    return replace_file(name_, text);
  }

  const std::string name_;
};

}  // namespace

Attached make_example_driver(const std::string& device, const std::string& folder) {
  return make_mapped_driver("example", device, kMap, std::make_unique<ConfigFile>(folder + "/config"));
}

}  // namespace lockstep
