// Clients that do what they can to take the agent's memory, connections and threads. Each test ends with a
// controller that is served.

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "drivers/agent/wire.hpp"
#include "tests/needs.hpp"
#include "tests/unit/agent/server_test_fixture.hpp"

namespace lockstep::agent {
namespace {

using namespace std::chrono_literals;

// What AddressSanitizer keeps of freed memory (its quarantine_size_mb), and as much for ThreadSanitizer's
// shadow, beside the agent's own.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::size_t kKeptFreed = std::size_t{256} << 20;
#else
constexpr std::size_t kKeptFreed = 0;
#endif

std::size_t resident_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmRSS:")) return std::stoul(line.substr(6)) << 10;
  ADD_FAILURE() << "no VmRSS";
  return 0;
}

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

// As many as this process may open, and leaves room for the server's.
std::size_t affordable(std::size_t wanted) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  constexpr std::size_t kOthers = 600;
  return std::min<std::size_t>(wanted, limit.rlim_max > kOthers ? limit.rlim_max - kOthers : 1);
}

// A ClientHello's record header that promises 512 bytes, and the first of them.
const std::string kHelloBegun("\x16\x03\x01\x02\x00\x01", 6);

// Sends a byte each time that the other end has not ended the connection within 20 ms; whether it did.
bool ends_while_dribbling(int socket, const std::function<bool()>& send_byte) {
  const auto until = std::chrono::steady_clock::now() + 20s;
  while (std::chrono::steady_clock::now() < until) {
    pollfd one{socket, POLLIN | POLLRDHUP, 0};
    if (::poll(&one, 1, 20) > 0) return ended_by_peer(socket);
    if (!send_byte()) return true;
  }
  return false;
}

class Hostile : public ServerTest {
 protected:
  // By a new connection, from another address than the attackers, within this deadline.
  void expect_served(const char* what) {
    RawClient ops = client(controller_);
    EXPECT_EQ(ops.call("hello", "{}", "Lockstep-Deadline-Ms: 5000\r\n").status, 200) << what;
  }
  bool raw_send(const Descriptor& socket, std::string_view bytes) const {
    return ::send(socket.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL) > 0;
  }
};

TEST_F(Hostile, HandshakeThatTricklesEnds) {
  options_.handshake_time = 1000ms;
  start();
  const Descriptor slow = connect_to(port(), "127.0.0.2");
  ASSERT_TRUE(raw_send(slow, kHelloBegun));
  expect_served("beside it");
  EXPECT_TRUE(ends_while_dribbling(slow.number(), [&] { return raw_send(slow, "x"); }));
  EXPECT_TRUE(logged("127.0.0.2: no TLS handshake within 1000 ms")) << log();
  expect_served("after it");
}

TEST_F(Hostile, HeaderThatTricklesEnds) {
  options_.request_time = 300ms;
  start();
  RawClient slow = client(reader_);
  ASSERT_TRUE(slow.send("POST /v1/observe HTTP/1.1\r\nX: "));
  expect_served("beside it");
  EXPECT_TRUE(ends_while_dribbling(slow.socket(), [&] { return slow.send("x"); }));
  expect_served("after it");
}

TEST_F(Hostile, BodyThatTricklesEnds) {
  options_.request_time = 300ms;
  start();
  RawClient slow = client(reader_);
  ASSERT_TRUE(slow.send("POST /v1/observe HTTP/1.1\r\nContent-Length: 100000\r\n\r\n{"));
  expect_served("beside it");
  EXPECT_TRUE(ends_while_dribbling(slow.socket(), [&] { return slow.send(" "); }));
  EXPECT_EQ(calls_->calls().size(), 1U) << "its call never began";
  expect_served("after it");
}

TEST_F(Hostile, IdleConnectionEnds) {
  options_.idle_time = 50ms;
  start();
  RawClient idle = client(reader_);
  EXPECT_TRUE(idle.closed());
}

TEST_F(Hostile, HalfOpenConnectionsCostBoundedMemoryAndNobodyTheService) {
  options_.handshake_time = 60s;  // none of them goes for its age
  options_.handshakes_max = 64;
  start();
  expect_served("before");
  const std::size_t count = affordable(2000);
  const std::size_t memory = resident_bytes();
  const std::size_t descriptors = open_descriptors();
  std::vector<Descriptor> half_open;
  for (std::size_t i = 0; i < count; ++i) {
    half_open.push_back(connect_to(port(), "127.0.0.2"));
    ASSERT_TRUE(half_open.back()) << i;
    // The server may have closed it by now.
    if (i % 2 == 1) (void)raw_send(half_open.back(), kHelloBegun);
    if (i % 400 == 399) expect_served("among them");
  }
  expect_served("after them");
  // A place, its SSL object and buffers are some 100 KiB.
  EXPECT_LT(resident_bytes(), memory + kKeptFreed + options_.handshakes_max * (std::size_t{256} << 10));
  EXPECT_TRUE(soon([&] { return open_descriptors() <= descriptors + count + options_.handshakes_max + 8; }))
      << open_descriptors() - descriptors - count << " on the server's side";
  std::size_t alive = 0;
  for (const Descriptor& one : half_open) {
    pollfd ended{one.number(), POLLIN | POLLRDHUP, 0};
    alive += ::poll(&ended, 1, 0) == 0 ? 1 : 0;
  }
  EXPECT_LE(alive, options_.handshakes_max);
  EXPECT_GT(alive, 0U) << "the newest stay";
  EXPECT_TRUE(logged("127.0.0.2: closed: too many connections")) << log();
}

TEST_F(Hostile, FloodOfConnectionsCostsNobodyItsHandshake) {
  options_.handshakes_max = 16;
  start();
  std::atomic<bool> ended{false};
  std::atomic<std::size_t> opened{0};
  std::thread flood([&] {
    std::vector<Descriptor> all(64);
    while (!ended) all[opened++ % all.size()] = connect_to(port(), "127.0.0.2");
  });
  EXPECT_TRUE(soon([&] { return opened > 100; }));
  for (int i = 0; i < 5; ++i) expect_served("in the flood");
  ended = true;
  flood.join();
}

TEST_F(Hostile, ServesAgainOnceThereAreDescriptors) {
#ifdef __SANITIZE_ADDRESS__
  LOCKSTEP_NOT_TESTED("UBSan, which comes with ASan here, opens pipes to check pointers");
#endif
  options_.handshake_time = 60s;
  start();
  const Descriptor half_open = connect_to(port(), "127.0.0.2");
  ASSERT_TRUE(raw_send(half_open, kHelloBegun));
  expect_served("before, so that the other was accepted");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{open_descriptors() + 20, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  std::vector<Descriptor> all;
  do all.emplace_back(::dup(half_open.number()));
  while (all.back());
  all.resize(all.size() - 2);  // one for a client, and none for the server
  const Descriptor waiting = connect_to(port(), "127.0.0.3");
  EXPECT_TRUE(waiting);
  EXPECT_TRUE(ended_by_peer(half_open.number())) << "it makes room";
  all.clear();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  expect_served("after it");
}

TEST_F(Hostile, OversizedHeadersAreRefused) {
  options_.header_max = 4096;
  start();
  for (const std::string& request : {"GET /v1/healthz HTTP/1.1\r\nX: " + std::string(8192, 'x') + "\r\n\r\n",
                                     "GET /" + std::string(8192, 'x') + " HTTP/1.1\r\n\r\n",
                                     "GET /v1/healthz HTTP/1.1\r\n" + std::string(8192, '\n')}) {
    RawClient big = client(reader_);
    ASSERT_TRUE(big.send(request));
    const auto got = big.answer();
    EXPECT_TRUE(got.status == 431 || got.status == 400) << got.status;
    EXPECT_TRUE(big.closed());
  }
  // Without an end: it is answered long before a mebibyte of it was read.
  RawClient endless = client(reader_);
  ASSERT_TRUE(endless.send("GET /v1/healthz HTTP/1.1\r\nX: "));
  for (int i = 0; i < 64 && endless.send(std::string(16384, 'x')); ++i) {
  }
  EXPECT_EQ(endless.answer().status, 431);
  expect_served("after them");
}

TEST_F(Hostile, OversizedBodiesAreRefused) {
  options_.body_max = 100'000;
  start();
  RawClient fits = client(reader_);
  EXPECT_EQ(fits.call("observe", std::string(100'000, ' ')).status, 200);
  RawClient declared = client(reader_);
  ASSERT_TRUE(declared.send("POST /v1/observe HTTP/1.1\r\nContent-Length: 100001\r\n\r\n"));
  EXPECT_EQ(declared.answer().status, 413) << "before a byte of it came";
  RawClient huge = client(reader_);
  ASSERT_TRUE(huge.send("POST /v1/observe HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\n"));
  EXPECT_EQ(huge.answer().status, 400);
  RawClient chunked = client(reader_);
  ASSERT_TRUE(chunked.send("POST /v1/observe HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"));
  for (int i = 0; i < 20 && chunked.send("2710\r\n" + std::string(10'000, ' ') + "\r\n"); ++i) {
  }
  EXPECT_EQ(chunked.answer().status, 413);
  EXPECT_EQ(calls_->calls().size(), 1U);
  expect_served("after them");
}

TEST_F(Hostile, BodiesOfReadersTogetherAreBounded) {
  options_.body_max = 1'000'000;
  start();
  std::vector<std::unique_ptr<RawClient>> all;
  for (int i = 0; i < 10; ++i) {
    all.push_back(std::make_unique<RawClient>(port(), reader_));
    ASSERT_TRUE(all.back()->send("POST /v1/observe HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n{"));
  }
  const auto answered = [](const std::unique_ptr<RawClient>& one) {
    pollfd readable{one->socket(), POLLIN, 0};
    return ::poll(&readable, 1, 0) == 1;
  };
  EXPECT_TRUE(soon([&] { return std::count_if(all.begin(), all.end(), answered) == 8; })) << "two are read";
  for (const auto& one : all) EXPECT_TRUE(!answered(one) || one->answer().status == 503);
  RawClient ops = client(controller_);
  EXPECT_EQ(ops.call("apply", std::string(1'000'000, ' ')).status, 200)
      << "a controller's place is not taken";
  all.clear();
  EXPECT_TRUE(soon([&] {
    return client(reader_).call("observe", std::string(1'000'000, ' ')).status == 200;
  })) << "places come back";
}

TEST_F(Hostile, NestedBracketsAreRefused) {
  calls_->on_call = [](std::string_view name, const std::string& body, const Call&) {
    if (name == "hello") return Reply{200, "{}"};
    const auto request = wire::decode_observe(body);
    return request ? Reply{200, "{}"} : error_reply(request.error());
  };
  start();
  RawClient deep = client(reader_);
  EXPECT_EQ(deep.call("observe", std::string(100'000, '[')).status, 400);
  EXPECT_EQ(deep.call("observe", "{\"driver\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}")
                .status,
            400);
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  EXPECT_EQ(deep.call("observe", objects).status, 400);
  expect_served("after them");
}

TEST_F(Hostile, GarbageEndsItsConnectionOnly) {
  start();
  std::mt19937 random(20260801);  // the same bytes each time
  const auto bytes = [&](std::size_t count) {
    std::string out(count, ' ');
    for (char& one : out) one = static_cast<char>(random());
    return out;
  };
  for (int i = 0; i < 20; ++i) {
    const Descriptor plain = connect_to(port(), "127.0.0.2");
    (void)raw_send(plain, i == 0   ? "GET /v1/healthz HTTP/1.1\r\n\r\n"
                          : i == 1 ? std::string(4096, '\0')
                                   : bytes(2048));
    ::shutdown(plain.number(), SHUT_WR);
    EXPECT_TRUE(ended_by_peer(plain.number()));
  }
  for (int i = 0; i < 8; ++i) {
    RawClient ops = client(reader_);
    ASSERT_TRUE(ops.send(bytes(2048)));
    const int status = ops.answer().status;
    EXPECT_TRUE(status == 400 || status == 0) << status;
    EXPECT_TRUE(ops.closed());
  }
  for (const char* const request :
       {"POST /v1/hello HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        "POST /v1/hello HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
        "POST /v1/hello HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "POST /v1/hello HTTP/9.9\r\n\r\n", "POST /v1/hello HTTP/1.0\r\n\r\n",
        "POST  /v1/hello HTTP/1.1\r\n\r\n", "\r\n\r\n\r\n\r\n", "POST /v1/hello\r\n\r\n",
        "GET /v1/healthz HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc",
        "GET /v1/events HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc"}) {
    RawClient ops = client(reader_);
    ASSERT_TRUE(ops.send(request));
    const int status = ops.answer().status;
    EXPECT_EQ(status, 400) << request;
  }
  EXPECT_TRUE(calls_->calls().empty());
  EXPECT_TRUE(logged("127.0.0.2: refused: the other end speaks HTTP without TLS")) << log();
  expect_served("after them");
}

TEST_F(Hostile, PipelinedRequestsAreAnsweredInOrder) {
  start();
  RawClient ops = client(controller_);
  std::string all;
  for (int i = 0; i < 100; ++i) {
    const std::string body = std::to_string(i);
    all += "POST /v1/hello HTTP/1.1\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  }
  ASSERT_TRUE(ops.send(all));
  for (int i = 0; i < 100; ++i) ASSERT_EQ(ops.answer().body, "{\"got\":\"" + std::to_string(i) + "\"}");
}

// Answers wait in the kernel's buffers, and then requests are not read.
TEST_F(Hostile, RequestsWithoutReadingAnswersAreNotServedForever) {
  calls_->on_call = [](std::string_view name, const std::string&, const Call&) {
    return Reply{200, name == "observe" ? std::string(1 << 20, 'x') : "{}"};
  };
  options_.request_time = 300ms;
  start();
  RawClient greedy(port(), reader_, {.receive_buffer = 4096});
  std::string all;
  for (int i = 0; i < 1000; ++i) all += "POST /v1/observe HTTP/1.1\r\nContent-Length: 0\r\n\r\n";
  ASSERT_TRUE(greedy.send(all));
  expect_served("beside it");
  pollfd one{greedy.socket(), POLLERR, 0};
  EXPECT_EQ(::poll(&one, 1, 20'000), 1) << "the server resets it";
  EXPECT_LT(calls_->calls().size(), 100U);
  expect_served("after it");
}

TEST_F(Hostile, AnswerThatIsNeverReadEndsItsConnection) {
  calls_->on_call = [](std::string_view name, const std::string&, const Call&) {
    return Reply{200, name == "observe" ? std::string(std::size_t{32} << 20, 'x') : "{}"};
  };
  options_.request_time = 300ms;
  start();
  const std::size_t descriptors = open_descriptors();
  RawClient deaf(port(), reader_, {.receive_buffer = 4096});
  ASSERT_TRUE(deaf.post("observe", "{}"));
  pollfd one{deaf.socket(), POLLERR, 0};
  EXPECT_EQ(::poll(&one, 1, 20'000), 1) << "the server resets it";
  EXPECT_TRUE(soon([&] { return open_descriptors() <= descriptors + 1; })) << "its own end is closed";
  expect_served("after it");
}

TEST_F(Hostile, EventsThatAreNeverReadStayInTheWatcher) {
  calls_->pipe = std::make_shared<Pipe>();
  options_.request_time = 300ms;
  options_.heartbeat = 60s;
  start();
  RawClient deaf(port(), reader_, {.receive_buffer = 4096});
  ASSERT_TRUE(deaf.get("/v1/events"));
  ASSERT_EQ(deaf.head().status, 200);
  ::fcntl(calls_->pipe->writer.number(), F_SETFL, O_NONBLOCK);
  pollfd one{deaf.socket(), POLLERR, 0};
  const std::string wakes(4096, '7');
  // The kernel's buffers for a socket hold some MiB of lines.
  EXPECT_TRUE(soon([&] {
    while (::write(calls_->pipe->writer.number(), wakes.data(), wakes.size()) > 0) {
    }
    return ::poll(&one, 1, 0) == 1;
  }));
  EXPECT_TRUE(soon([&] { return calls_->pipe.use_count() == 1; })) << "its watch ends as well";
  expect_served("after it");
}

}  // namespace
}  // namespace lockstep::agent
