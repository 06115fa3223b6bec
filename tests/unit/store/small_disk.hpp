// A file system of a few KiB, for the time of a test.
#pragma once

#include <functional>
#include <string>

namespace lockstep {

// Runs `body` in a child process that has such a file system at `folder`, which is there (in a mount
// namespace of its own, needs root), and answers what it returned: empty, or what was wrong.
std::string on_small_disk(const std::string& folder, int kibibytes, const std::function<std::string()>& body);

// In that child: nothing on it can be written from here on. Empty, or why not.
std::string make_read_only(const std::string& folder);

// In that child: all of it is used, but for `bytes_left`.
void fill_up(const std::string& folder, std::size_t bytes_left);

}  // namespace lockstep
