#include "small_disk.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <vector>

#include "specs/files/descriptor.hpp"

namespace lockstep {
namespace {

std::string in_child(const std::string& folder, int kibibytes, const std::function<std::string()>& body) {
  const std::string size = "size=" + std::to_string(kibibytes) + "k";
  if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      mount("none", folder.c_str(), "tmpfs", 0, size.c_str()) != 0)
    return std::string("no file system of its own: ") + std::strerror(errno);
  try {
    return body();
  } catch (const std::exception& thrown) {
    return std::string("threw: ") + thrown.what();
  }
}

}  // namespace

std::string on_small_disk(const std::string& folder, int kibibytes,
                          const std::function<std::string()>& body) {
  int ends[2];
  if (pipe(ends) != 0) return "pipe";
  const Descriptor in(ends[0]);
  Descriptor out(ends[1]);
  const pid_t child = fork();
  if (child == 0) {
    const std::string said = in_child(folder, kibibytes, body);
    const bool told = write(out.number(), said.data(), said.size()) == static_cast<ssize_t>(said.size());
    _exit(told ? 0 : 1);
  }
  out.close();
  std::string said;
  std::vector<char> buffer(4096);
  for (ssize_t got = 0; (got = read(in.number(), buffer.data(), buffer.size())) > 0;)
    said.append(buffer.data(), static_cast<std::size_t>(got));
  int status = 0;
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
    said += " (the child did not end well)";
  return said;
}

std::string make_read_only(const std::string& folder) {
  if (mount("none", folder.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) == 0) return "";
  return std::string("remount: ") + std::strerror(errno);
}

void fill_up(const std::string& folder, std::size_t bytes_left) {
  const std::string file = folder + "/filler";
  const Descriptor out(open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  const std::vector<char> block(4096, 'x');
  off_t size = 0;
  for (ssize_t put = 0; (put = write(out.number(), block.data(), block.size())) > 0;) size += put;
  if (ftruncate(out.number(), size - static_cast<off_t>(bytes_left)) != 0) _exit(3);
}

}  // namespace lockstep
