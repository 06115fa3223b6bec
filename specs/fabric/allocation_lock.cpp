#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>

#include "specs/fabric/allocation.hpp"

namespace lockstep {
namespace {

constexpr int kVersion = 1;
// A cluster of 16,384 hosts and 2,560 switches needs about 10,000 lines of 40 bytes; a lock a hundred times
// larger is not one.
constexpr std::size_t kBytesMax = 64U << 20;

Error invalid(std::string what) { return Error{ErrorKind::invalid_spec, std::move(what)}; }

Result<Done> read_pool(const std::string& pool, const nlohmann::json& members, AllocationLock& lock) {
  if (!members.is_object())
    return invalid("allocations.lock: '" + pool + "' is not a map of names to numbers");
  for (const auto& [name, number] : members.items()) {
    if (!number.is_number_unsigned())
      return invalid("allocations.lock: the number of '" + name + "' in '" + pool + "' is no whole number");
    lock.pools[pool][name] = number.get<std::uint64_t>();
  }
  return Done{};
}

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

Error refused(const std::string& file, const char* what) {
  return Error{ErrorKind::refused, file + ": " + what + ": " + std::strerror(errno)};
}

}  // namespace

Result<AllocationLock> parse_allocation_lock(std::string_view text) {
  const nlohmann::json document = nlohmann::json::parse(text, nullptr, false);
  if (!document.is_object()) return invalid("allocations.lock is not a JSON object");
  const auto version = document.find("version");
  if (version == document.end() || *version != kVersion)
    return invalid("allocations.lock is not of version " + std::to_string(kVersion) +
                   ", the one that this lockstep knows");
  AllocationLock lock;
  if (const auto pools = document.find("pools"); pools != document.end()) {
    if (!pools->is_object()) return invalid("allocations.lock: 'pools' is not a map");
    for (const auto& [pool, members] : pools->items()) TRY_DONE(read_pool(pool, members, lock));
  }
  return lock;
}

std::string to_text(const AllocationLock& lock) {
  nlohmann::json document;
  document["version"] = kVersion;
  document["pools"] = lock.pools;
  return document.dump(2) + "\n";
}

Result<std::optional<AllocationLock>> read_allocation_lock(const std::string& directory) {
  const std::string name = directory + "/" + std::string(kAllocationLockFile);
  const File file(std::fopen(name.c_str(), "re"));
  if (!file) {
    if (errno == ENOENT || errno == ENOTDIR) return std::optional<AllocationLock>{};
    return refused(name, "can't be read");
  }
  std::string text;
  char block[1U << 14];
  while (const std::size_t got = std::fread(block, 1, sizeof block, file.get())) {
    text.append(block, got);
    if (text.size() > kBytesMax) return invalid(name + " is larger than any lock");
  }
  if (std::ferror(file.get()) != 0) return refused(name, "can't be read");
  TRY(AllocationLock lock, parse_allocation_lock(text));
  return std::optional<AllocationLock>(std::move(lock));
}

Result<Done> write_allocation_lock(const std::string& directory, const AllocationLock& lock) {
  const std::string name = directory + "/" + std::string(kAllocationLockFile);
  const std::string fresh = name + ".new";
  const std::string text = to_text(lock);
  {
    File file(std::fopen(fresh.c_str(), "we"));
    if (!file) return refused(fresh, "can't be written");
    const bool written = std::fwrite(text.data(), 1, text.size(), file.get()) == text.size() &&
                         std::fflush(file.get()) == 0 && ::fsync(::fileno(file.get())) == 0;
    if (!written) return refused(fresh, "can't be written");
  }
  if (std::rename(fresh.c_str(), name.c_str()) != 0) return refused(name, "can't be replaced");
  return Done{};
}

}  // namespace lockstep
