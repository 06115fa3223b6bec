#include "drivers/posix/wait.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <thread>
#include <utility>

#include "drivers/posix/wake_descriptor.hpp"
#include "tests/unit/pipe.hpp"

namespace lockstep {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::chrono::seconds kLong{30};

Call within(steady_clock::duration patience) { return Call{steady_clock::now() + patience, {}, -1}; }

ErrorKind kind_of(const Result<Done>& waited) { return waited ? ErrorKind::conflict : waited.error().kind; }

TEST(Wait, EndsWhenTheDescriptorIsReady) {
  const Pipe pipe;
  EXPECT_TRUE(wait_for(pipe.writer.number(), POLLOUT, within(kLong)));
  std::thread later([&] { EXPECT_EQ(::write(pipe.writer.number(), "x", 1), 1); });
  EXPECT_TRUE(wait_for(pipe.reader.number(), POLLIN, within(kLong)));
  later.join();
}

TEST(Wait, EndsWhenTheOtherEndIsClosed) {
  Pipe pipe;
  pipe.writer.close();
  EXPECT_TRUE(wait_for(pipe.reader.number(), POLLIN, within(kLong)));
}

TEST(Wait, EndsAtTheDeadline) {
  const Pipe pipe;
  const auto begin = steady_clock::now();
  EXPECT_EQ(kind_of(wait_for(pipe.reader.number(), POLLIN, within(milliseconds(20)))), ErrorKind::transient);
  EXPECT_GE(steady_clock::now() - begin, milliseconds(20));
  EXPECT_EQ(kind_of(wait_for(pipe.reader.number(), POLLIN, within(milliseconds(-1)))), ErrorKind::transient);
}

TEST(Wait, EndsWhenItsCallIsWoken) {
  const Pipe pipe;
  const WakeDescriptor wake;
  Call call = within(kLong);
  call.wake_fd = wake.number();
  std::thread later([&] { wake.signal(); });
  EXPECT_EQ(kind_of(wait_for(pipe.reader.number(), POLLIN, call)), ErrorKind::cancelled);
  later.join();
}

TEST(Wait, EndsAtAStopWithoutAWakeDescriptor) {
  const Pipe pipe;
  std::stop_source stop;
  Call call = within(kLong);
  call.stop = stop.get_token();
  std::thread later([&] { stop.request_stop(); });
  EXPECT_EQ(kind_of(wait_for(pipe.reader.number(), POLLIN, call)), ErrorKind::cancelled);
  later.join();
  EXPECT_EQ(kind_of(wait_for(pipe.writer.number(), POLLOUT, call)), ErrorKind::cancelled)
      << "a stop goes first";
}

TEST(Pause, LastsTheGivenTimeUnlessItsCallEnds) {
  const auto begin = steady_clock::now();
  EXPECT_TRUE(pause(milliseconds(20), within(kLong)));
  EXPECT_GE(steady_clock::now() - begin, milliseconds(20));
  EXPECT_EQ(kind_of(pause(kLong, within(milliseconds(5)))), ErrorKind::transient);
  const WakeDescriptor wake;
  wake.signal();
  Call woken = within(kLong);
  woken.wake_fd = wake.number();
  EXPECT_EQ(kind_of(pause(kLong, woken)), ErrorKind::cancelled);
  EXPECT_LT(steady_clock::now() - begin, kLong);
}

TEST(WakeDescriptor, IsReadableFromASignalUntilItIsCleared) {
  const WakeDescriptor wake;
  ASSERT_TRUE(wake);
  EXPECT_FALSE(wake.clear());
  wake.signal();
  wake.signal();
  EXPECT_TRUE(wait_for(wake.number(), POLLIN, within(kLong)));
  EXPECT_TRUE(wait_for(wake.number(), POLLIN, within(kLong))) << "a wait takes nothing away";
  EXPECT_TRUE(wake.clear());
  EXPECT_FALSE(wake.clear());
}

bool is_open(int number) { return ::fcntl(number, F_GETFD) >= 0; }

TEST(Descriptor, ClosesWhatItReleases) {
  Pipe pipe;
  const int reader = pipe.reader.number();
  const int writer = pipe.writer.number();
  pipe.reader = std::move(pipe.writer);
  EXPECT_FALSE(is_open(reader)) << "whose owner took another one";
  EXPECT_TRUE(is_open(writer));
  EXPECT_FALSE(pipe.writer);
  {
    const Descriptor taken(std::move(pipe.reader));
    EXPECT_TRUE(is_open(writer));
  }
  EXPECT_FALSE(is_open(writer));
  pipe.reader.close();
  EXPECT_FALSE(pipe.reader);
}

}  // namespace
}  // namespace lockstep
