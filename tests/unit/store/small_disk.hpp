// A file system of a few KiB, for the duration of a test.
#pragma once

#include <functional>
#include <string>

namespace lockstep {

// Runs `body` in a child process that mounts such a file system at the existing `folder`, in its own mount
// namespace (needs root). Returns the result of `body`: empty, or what was wrong.
std::string on_small_disk(const std::string& folder, int kibibytes, const std::function<std::string()>& body);

// In that child: makes the file system read-only. Returns an empty string, or why it failed.
std::string make_read_only(const std::string& folder);

// In that child: fills the file system up to `bytes_left`.
void fill_up(const std::string& folder, std::size_t bytes_left);

}  // namespace lockstep
