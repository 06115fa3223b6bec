#include "bench/tcp/probe_loop.hpp"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>

namespace lockstep::bench {

Task::Task(ProbeLoop& loop, const Json& order)
    : loop_(loop),
      job_(number_of(order, "job")),
      token_(number_of(order, "token")),
      connect_ns_(number_of(order, "connectNs")),
      stall_ns_(number_of(order, "stallNs")),
      congestion_(text_of(order, "congestion")) {
  (void)set_addresses(order);
}

bool Task::set_addresses(const Json& order) {
  auto own = parse_address(text_of(order, "own"), 0);
  auto peer = parse_address(text_of(order, "peer"), static_cast<std::uint16_t>(number_of(order, "port")));
  if (own) own_ = *own;
  choose_port(order);
  if (peer) peer_ = *peer;
  if (own && peer) return true;
  bad_address_ = own ? peer.error().what : own.error().what;
  return false;
}

void Task::choose_port(const Json& order) {
  const auto port = static_cast<std::uint16_t>(number_of(order, "ownPort"));
  chosen_.reset();
  if (auto chosen = parse_address(text_of(order, "own"), port); chosen && port != 0) chosen_ = *chosen;
}

void Task::tell(Json message) {
  message["job"] = job_;
  loop_.tell(message);
}

void Task::fail(const std::string& text, const char* trouble) {
  if (finished) return;
  finished = true;
  Json message = {{"event", "failed"}, {"text", text}, {"trouble", trouble}};
  tell(std::move(message));
}

std::string Task::hello() const {
  std::string bytes;
  for (unsigned shift = 0; shift < 64; shift += 8)
    bytes.push_back(static_cast<char>((token_ >> shift) & 0xffU));
  return bytes;
}

Result<Descriptor> Task::listen() {
  if (!bad_address_.empty()) return Error{ErrorKind::invalid_spec, bad_address_, nullptr};
  forget_path_mtu();
  TRY(Descriptor listener, open_own(listen_on));
  loop_.watch(listener.number(), *this, true, false);
  wake_at = now_ns() + connect_ns_;
  tell({{"event", "listening"}, {"port", port_of(listener.number())}});
  return listener;
}

Result<Descriptor> Task::dial(const Address& to) {
  if (!bad_address_.empty()) return Error{ErrorKind::invalid_spec, bad_address_, nullptr};
  forget_path_mtu();
  TRY(Descriptor connection,
      open_own([&](const Address& own) { return connect_from(own, to, congestion_); }));
  loop_.watch(connection.number(), *this, false, true);
  wake_at = now_ns() + connect_ns_;
  return connection;
}

bool Task::finish_connect(int fd) {
  if (const int error = socket_error(fd); error != 0) {
    fail(error == ETIMEDOUT ? "connect timed out" : stage_of(error));
    return false;
  }
  const std::string greeting = hello();
  if (send(fd, greeting.data(), greeting.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(greeting.size())) {
    if (errno != EAGAIN) fail(stage_of(errno));
    return false;
  }
  return true;
}

bool Task::read_hello(int fd) {
  const std::string want = hello();
  if (hello_read_.size() == want.size()) return true;
  std::array<char, 8> bytes{};
  const ssize_t got = recv(fd, bytes.data(), want.size() - hello_read_.size(), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (got <= 0) {
    fail("closed by the peer before any data");
    return false;
  }
  hello_read_.append(bytes.data(), static_cast<std::size_t>(got));
  if (hello_read_.size() < want.size()) return false;
  if (hello_read_ != want) fail("somebody else connected to the probe's port", "tool");
  return !finished;
}

void ProbeLoop::tell(const Json& message) {
  const std::string bytes = framed(message);
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t got = send(control_.number(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return;  // the controller is gone: the next read sees EOF
    sent += static_cast<std::size_t>(got);
  }
}

void ProbeLoop::watch(int fd, Task& task, bool read, bool write) {
  epoll_event event{};
  event.events = (read ? EPOLLIN : 0U) | (write ? EPOLLOUT : 0U);
  event.data.fd = fd;
  // Relies on the kernel, not on our record: a number may have been closed and already belong to another
  // descriptor.
  if (epoll_ctl(epoll_.number(), EPOLL_CTL_MOD, fd, &event) != 0)
    (void)epoll_ctl(epoll_.number(), EPOLL_CTL_ADD, fd, &event);
  owners_[fd] = task.job();
}

void ProbeLoop::forget(int fd) {
  if (owners_.erase(fd) != 0) (void)epoll_ctl(epoll_.number(), EPOLL_CTL_DEL, fd, nullptr);
}

void ProbeLoop::obey(const Json& order) {
  const std::string op = text_of(order, "op");
  const std::uint64_t job = number_of(order, "job");
  if (op == "cancel") {
    std::erase_if(owners_, [&](const auto& owner) { return owner.second == job; });
    tasks_.erase(job);
    return;
  }
  if (op == "tell") {
    if (const auto found = tasks_.find(job); found != tasks_.end()) found->second->told(order);
    return;
  }
  std::unique_ptr<Task> task;
  if (op == "sink") task = make_sink(*this, order);
  if (op == "source") task = make_source(*this, order);
  if (op == "echo") task = make_echo(*this, order);
  if (op == "ping") task = make_ping(*this, order);
  if (op == "rank") task = make_rank(*this, order);
  if (!task) {
    tell({{"event", "failed"}, {"job", job}, {"text", "unknown order '" + op + "'"}, {"trouble", "tool"}});
    return;
  }
  Task& started = *task;
  tasks_[job] = std::move(task);
  auto result = started.start();
  if (!result && !started.finished) {
    started.finished = true;
    tell({{"event", "failed"}, {"job", job}, {"text", result.error().text()}, {"trouble", "path"}});
  }
}

bool ProbeLoop::take_messages() {
  std::array<char, 65536> bytes;  // NOLINT: filled by recv
  const ssize_t got = recv(control_.number(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (got < 0) return errno == EAGAIN || errno == EINTR;
  if (got == 0) return false;
  reader_.feed(bytes.data(), static_cast<std::size_t>(got));
  for (;;) {
    auto message = reader_.next();
    if (!message) return false;
    if (!*message) return true;
    obey(**message);
  }
}

void ProbeLoop::dispatch(int fd) {
  const auto owner = owners_.find(fd);
  if (owner == owners_.end()) return;
  const auto task = tasks_.find(owner->second);
  if (task != tasks_.end() && !task->second->finished) task->second->ready(fd);
}

void ProbeLoop::wake_tasks() {
  const std::uint64_t now = now_ns();
  for (auto& [job, task] : tasks_)
    if (!task->finished && task->wake_at <= now) task->timed(now);
  for (auto task = tasks_.begin(); task != tasks_.end();) {
    if (!task->second->finished) {
      ++task;
      continue;
    }
    // Closing a descriptor removes it from the epoll set (epoll(7)); only our own record must follow.
    std::erase_if(owners_, [&](const auto& owner) { return owner.second == task->first; });
    task = tasks_.erase(task);
  }
}

int ProbeLoop::wait_ms() const {
  std::uint64_t next = ~std::uint64_t{0};
  for (const auto& [job, task] : tasks_) next = std::min(next, task->wake_at);
  if (next == ~std::uint64_t{0}) return -1;
  const std::uint64_t now = now_ns();
  if (next <= now) return 0;
  return static_cast<int>(std::min<std::uint64_t>((next - now) / 1'000'000 + 1, 60'000));
}

int ProbeLoop::run() {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = control_.number();
  if (epoll_ctl(epoll_.number(), EPOLL_CTL_ADD, control_.number(), &event) != 0) return 1;
  std::array<epoll_event, 64> events{};
  for (;;) {
    const int count = epoll_wait(epoll_.number(), events.data(), static_cast<int>(events.size()), wait_ms());
    if (count < 0 && errno != EINTR) return 1;
    for (int i = 0; i < count; ++i) {
      const int fd = events[static_cast<std::size_t>(i)].data.fd;
      if (fd != control_.number()) {
        dispatch(fd);
      } else if (!take_messages()) {
        return 0;
      }
    }
    wake_tasks();
  }
}

}  // namespace lockstep::bench
