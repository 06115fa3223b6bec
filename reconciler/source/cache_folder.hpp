// CacheFolder: a new folder in a source's cache, removed with its object.
//
// Promises: the folder has another name each time and belongs to this user alone. A lock shows that it is in
// use; the kernel releases the lock with the process, however that ends. remove_leftovers() removes what
// killed processes left, and nothing that is in use, by this process or another.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "reconciler/source/source.hpp"
#include "specs/files/descriptor.hpp"

namespace lockstep {

class CacheFolder final : public SourceFolder {
 public:
  // Creates the cache as well.
  static Result<std::shared_ptr<CacheFolder>> make(const std::string& cache);

  CacheFolder(std::string path, Descriptor lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  ~CacheFolder() override;
  CacheFolder(const CacheFolder&) = delete;
  CacheFolder& operator=(const CacheFolder&) = delete;

  const std::string& path() const override { return path_; }

 private:
  std::string path_;
  Descriptor lock_;
};

void remove_leftovers(const std::string& cache);

// Writes a file that does not exist yet, and the folders above it, readable by this user only.
// `name` is relative, without `..`.
Result<Done> write_new_file(const std::string& folder, const std::string& name, std::string_view text);

}  // namespace lockstep
