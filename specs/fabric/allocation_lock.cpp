#include <charconv>
#include <nlohmann/json.hpp>

#include "specs/fabric/allocation.hpp"
#include "specs/files/read_file.hpp"
#include "specs/files/replace_file.hpp"
#include "specs/language/node.hpp"
#include "specs/language/text_file.hpp"
#include "specs/language/text_index.hpp"

namespace lockstep {
namespace {

constexpr std::string_view kVersion = "1";
// Twice the longest host name (RFC 1123, 2.1), and short of the 1,024 characters at which YAML's keys end.
constexpr std::size_t kLongestName = 512;

Error invalid(std::string what) { return Error{ErrorKind::invalid_spec, std::move(what)}; }

// Reads one lock; the first thing that is wrong stops it, since a program wrote the file.
class LockFile {
 public:
  explicit LockFile(std::string name) : name_(std::move(name)) {}

  Result<AllocationLock> read(std::string text) {
    const std::uint32_t file = sources_.add(name_, std::move(text));
    const std::string_view content = sources_.files[file].text;
    if (const std::size_t marker = content.find("<<<<<<< "); marker != content.npos)
      return wrong(TextIndex(file, content).position(marker), "a merge that is not finished");
    Reporter reporter(sources_, diagnostics_);
    std::size_t documents = 0;
    std::optional<Result<AllocationLock>> lock;
    read_documents(file, reporter, [&](const Node& root) {
      if (++documents == 1) lock = lock_of(root);
    });
    if (!diagnostics_.empty()) {
      const Diagnostic& first = diagnostics_.front();
      return wrong(first.at, first.message + (first.hint.empty() ? "" : ": " + first.hint));
    }
    if (documents != 1) return invalid(name_ + " is not one JSON object");
    return *std::move(lock);
  }

 private:
  Error wrong(Position at, const std::string& what) const {
    return invalid(name_ + ":" + std::to_string(at.line) + ":" + std::to_string(at.column) + ": " + what);
  }

  Result<AllocationLock> lock_of(const Node& root) const {
    if (root.shape != Node::Shape::map) return wrong(root.at, "not a JSON object");
    for (const auto& [key, value] : root.fields)
      if (key->text != "version" && key->text != "pools")
        return wrong(key->at, "unknown field " + in_quotes(key->text));
    const Node* const version = root.find("version");
    if (version == nullptr || version->text != kVersion)
      return wrong(version == nullptr ? root.at : version->at,
                   "not of version " + std::string(kVersion) + ", the one that this lockstep knows");
    AllocationLock lock;
    const Node* const pools = root.find("pools");
    if (pools == nullptr) return lock;
    if (pools->shape != Node::Shape::map) return wrong(pools->at, "'pools' is not a map");
    for (const auto& [pool, members] : pools->fields) {
      if (pool->text.size() > kLongestName) return wrong(pool->at, in_quotes(pool->text) + " is no name");
      if (members->shape != Node::Shape::map)
        return wrong(members->at, in_quotes(pool->text) + " is not a map of names to numbers");
      for (const auto& [name, number] : members->fields) {
        if (name->text.size() > kLongestName) return wrong(name->at, in_quotes(name->text) + " is no name");
        TRY(const std::uint64_t value, number_of(*number, name->text));
        lock.pools[pool->text][name->text] = value;
      }
    }
    return lock;
  }

  Result<std::uint64_t> number_of(const Node& node, const std::string& name) const {
    std::uint64_t value = 0;
    const char* const end = node.text.data() + node.text.size();
    const auto [stop, problem] = std::from_chars(node.text.data(), end, value);
    if (node.shape != Node::Shape::scalar || !node.plain || problem != std::errc() || stop != end)
      return wrong(node.at, "the number of " + in_quotes(name) + " is no whole number");
    return value;
  }

  std::string name_;
  Sources sources_;
  Diagnostics diagnostics_;
};

}  // namespace

Result<AllocationLock> parse_allocation_lock(std::string name, std::string text) {
  return LockFile(std::move(name)).read(std::move(text));
}

std::string to_text(const AllocationLock& lock) {
  nlohmann::json document;
  document["version"] = 1;
  document["pools"] = lock.pools;
  return document.dump(2) + "\n";
}

Result<std::optional<AllocationLock>> read_allocation_lock(const std::string& directory) {
  const std::string name = directory + "/" + std::string(kAllocationLockFile);
  FileText read = read_beneath(directory, std::string(kAllocationLockFile), file_size_limit);
  if (read.outcome == FileText::Outcome::missing) return std::optional<AllocationLock>{};
  if (!read) return Error{ErrorKind::refused, name + ": can't be read: " + read.why};
  TRY(AllocationLock lock, parse_allocation_lock(name, std::move(read.text)));
  return std::optional<AllocationLock>(std::move(lock));
}

Result<Done> write_allocation_lock(const std::string& directory, const AllocationLock& lock) {
  const auto done = replace_file(directory + "/" + std::string(kAllocationLockFile), to_text(lock));
  if (!done) return Error{done.error().kind, "can't write " + done.error().what};
  return Done{};
}

}  // namespace lockstep
