#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>

#include "bench/tcp/probe_loop.hpp"
#include "bench/tcp/run.hpp"

namespace lockstep::bench {
namespace {

struct Orders {
  int control = -1;
  std::string netns;
};

Orders read_orders(int argc, char** argv) {
  Orders orders;
  for (int i = 1; i + 1 < argc; ++i) {
    const std::string_view flag = argv[i];
    const std::string_view value = argv[i + 1];
    if (flag == "--netns") orders.netns = value;
    if (flag != "--control-fd") continue;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), orders.control);
    if (error != std::errc{} || end != value.data() + value.size()) orders.control = -1;
  }
  return orders;
}

// Descriptors left open by the caller would keep its sockets alive.
void close_others(int keep) {
  if (keep > 3) (void)syscall(SYS_close_range, 3U, static_cast<unsigned>(keep - 1), 0U);
  (void)syscall(SYS_close_range, static_cast<unsigned>(keep + 1), ~0U, 0U);
}

std::string enter(const std::string& netns) {
  if (netns.empty()) return {};
  const Descriptor fd(open(netns.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd && setns(fd.number(), CLONE_NEWNET) == 0) return {};
  return "cannot enter " + netns + ": " + std::strerror(errno);  // NOLINT(concurrency-mt-unsafe): one thread
}

}  // namespace

int probe_main(int argc, char** argv) {
  const Orders orders = read_orders(argc, argv);
  if (orders.control < 3 || fcntl(orders.control, F_GETFD) < 0) {
    static constexpr std::string_view usage =
        "probe: started by lockstep itself; needs --control-fd N [--netns PATH]\n";
    (void)!write(STDERR_FILENO, usage.data(), usage.size());
    return 1;
  }
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  close_others(orders.control);
  const std::string trouble = enter(orders.netns);
  Descriptor epoll(epoll_create1(EPOLL_CLOEXEC));
  ProbeLoop loop(Descriptor(orders.control), std::move(epoll));
  if (!trouble.empty()) {
    loop.tell({{"event", "failed"}, {"text", trouble}});
    return 1;
  }
  loop.tell({{"event", "ready"}});
  return loop.run();
}

}  // namespace lockstep::bench
