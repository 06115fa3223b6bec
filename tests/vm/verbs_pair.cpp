#include "tests/vm/verbs_pair.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace lockstep {

Process::Process(std::vector<std::string> words) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return;
  out_ = Descriptor(ends[0]);
  const Descriptor write_end(ends[1]);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, write_end.number(), 1);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  EXPECT_EQ(posix_spawnp(&pid_, argv[0], &files, nullptr, argv.data(), environ), 0) << words.front();
  posix_spawn_file_actions_destroy(&files);
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), out_(std::move(other.out_)), pending_(std::move(other.pending_)) {}

Process::~Process() {
  if (pid_ <= 0) return;
  kill();
  (void)waitpid(pid_, nullptr, 0);
}

void Process::kill() {
  if (pid_ > 0) (void)::kill(pid_, SIGKILL);
}

bool Process::read_more(Time deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  pollfd wait{out_.number(), POLLIN, 0};
  if (left.count() <= 0 || poll(&wait, 1, static_cast<int>(left.count())) <= 0) return false;
  char bytes[4096];
  const ssize_t got = read(out_.number(), bytes, sizeof bytes);
  if (got > 0) pending_.append(bytes, static_cast<std::size_t>(got));
  return got > 0;
}

std::string Process::line(Time deadline) {
  for (;;) {
    const auto end = pending_.find('\n');
    if (end != std::string::npos) {
      std::string out = pending_.substr(0, end);
      pending_.erase(0, end + 1);
      return out;
    }
    if (!read_more(deadline)) return std::exchange(pending_, {});
  }
}

std::string Process::all(Time deadline) {
  while (read_more(deadline)) {
  }
  return std::exchange(pending_, {});
}

int Process::exit_code(Time deadline) {
  (void)all(deadline);  // until it closes its output
  int status = 0;
  if (std::chrono::steady_clock::now() >= deadline || waitpid(pid_, &status, 0) != pid_) return -1;
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

Process start_probe(const json& order) { return Process({"/proc/self/exe", "verbs-probe", order.dump()}); }

Process start_server(const RxeEndpoint& from, const RxeEndpoint& to, std::uint16_t& port, json more) {
  more.update({{"role", "server"}, {"address", to.address}, {"peer", from.address}});
  Process out = start_probe(more);
  const json told = json::parse(out.line(within(20)), nullptr, false);
  port = told.is_object() ? told.value("port", std::uint16_t{0}) : std::uint16_t{0};
  EXPECT_NE(port, 0) << told.dump();
  return out;
}

json client_order(const RxeEndpoint& from, const RxeEndpoint& to, std::uint16_t port, const json& workload) {
  return {{"role", "client"},
          {"address", from.address},
          {"peer", to.address},
          {"port", port},
          {"workload", workload}};
}

Ran run_between(const RxeEndpoint& from, const RxeEndpoint& to, const json& workload, json more) {
  std::uint16_t port = 0;
  Process server = start_server(from, to, port);
  more.update(client_order(from, to, port, workload));
  Process client = start_probe(more);
  Ran out;
  out.client = json::parse(client.line(within(60)), nullptr, false);
  out.client_exit = client.exit_code(within(10));
  // If the client stops before it connects, the server keeps waiting.
  if (out.client_exit == 0) out.server = json::parse(server.line(within(10)), nullptr, false);
  return out;
}

}  // namespace lockstep
