#include <algorithm>
#include <charconv>
#include <iterator>
#include <nlohmann/json.hpp>

#include "specs/fabric/allocation.hpp"
#include "specs/files/read_file.hpp"
#include "specs/files/replace_file.hpp"
#include "specs/language/node.hpp"
#include "specs/language/text_file.hpp"
#include "specs/language/text_index.hpp"
#include "specs/model/uuid.hpp"

namespace lockstep {
namespace {

// 2: includes its cluster. A lockstep that knows only 1 would drop that.
constexpr std::string_view kVersions[] = {"1", "2"};
// Twice the longest host name (RFC 1123, 2.1), and below the 1,024 characters to which YAML limits keys.
constexpr std::size_t kLongestName = 512;

Error invalid(std::string what) { return Error{ErrorKind::invalid_spec, std::move(what)}; }

// Reads one lock; stops at the first error, because a program wrote the file.
class LockFile {
 public:
  explicit LockFile(std::string name) : name_(std::move(name)) {}

  Result<AllocationLock> read(std::string text) {
    const std::uint32_t file = sources_.add(name_, std::move(text));
    const std::string_view content = sources_.files[file].text;
    if (const std::size_t marker = content.find("<<<<<<< "); marker != content.npos)
      return wrong(TextIndex(file, content).position(marker),
                   "a merge that is not finished: keep the numbers of both sides, and one 'cluster'");
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
      if (key->text != "version" && key->text != "pools" && key->text != "cluster")
        return wrong(key->at, "unknown field " + in_quotes(key->text));
    const Node* const version = root.find("version");
    if (version == nullptr || std::ranges::find(kVersions, version->text) == std::end(kVersions))
      return wrong(version == nullptr ? root.at : version->at,
                   "not of version 1 or 2, those that this lockstep knows");
    AllocationLock lock;
    if (const Node* const cluster = root.find("cluster")) {
      TRY(lock.cluster, identity_of(*cluster));
    }
    if (const Node* const pools = root.find("pools")) TRY_DONE(read_pools(*pools, lock));
    return lock;
  }

  Result<ClusterIdentity> identity_of(const Node& node) const {
    if (node.shape != Node::Shape::map) return wrong(node.at, "'cluster' is not a map of name and uuid");
    for (const auto& [key, value] : node.fields)
      if (key->text != "name" && key->text != "uuid")
        return wrong(key->at, "unknown field " + in_quotes(key->text));
    const Node* const name = node.find("name");
    const Node* const uuid = node.find("uuid");
    if (name == nullptr || uuid == nullptr) return wrong(node.at, "'cluster' has a name and a uuid");
    if (name->shape != Node::Shape::scalar || name->text != identity_name(name->text))
      return wrong(name->at, in_quotes(name->text) + " is no name");
    std::optional<std::string> read = parse_uuid_v4(uuid->text);
    if (!read)
      return wrong(uuid->at, in_quotes(uuid->text) +
                                 " is no UUID of version 4 (RFC 9562): bring back the "
                                 "one that was there, which is what this cluster's state is found by");
    return ClusterIdentity{name->text, *std::move(read)};
  }

  Result<Done> read_pools(const Node& node, AllocationLock& lock) const {
    if (node.shape != Node::Shape::map) return wrong(node.at, "'pools' is not a map");
    for (const auto& [pool, members] : node.fields) {
      if (pool->text.size() > kLongestName) return wrong(pool->at, in_quotes(pool->text) + " is no name");
      if (members->shape != Node::Shape::map)
        return wrong(members->at, in_quotes(pool->text) + " is not a map of names to numbers");
      for (const auto& [name, number] : members->fields) {
        if (name->text.size() > kLongestName) return wrong(name->at, in_quotes(name->text) + " is no name");
        TRY(const std::uint64_t value, number_of(*number, name->text));
        lock.pools[pool->text][name->text] = value;
      }
    }
    return Done{};
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

std::string identity_name(std::string_view name) {
  constexpr std::size_t kLongest = 200;  // with a UUID appended, within the 255 bytes of a file name
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
  };
  std::string out(name.substr(0, kLongest));
  for (char& c : out)
    if (!is_plain(c)) c = '_';
  return out.empty() ? "_" : out;
}

Result<AllocationLock> parse_allocation_lock(std::string name, std::string text) {
  return LockFile(std::move(name)).read(std::move(text));
}

std::string to_text(const AllocationLock& lock) {
  nlohmann::json document;
  document["version"] = lock.cluster ? 2 : 1;
  document["pools"] = lock.pools;
  if (lock.cluster) document["cluster"] = {{"name", lock.cluster->name}, {"uuid", lock.cluster->uuid}};
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
