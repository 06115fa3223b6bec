// Replies of Redis from bytes, however the bytes are cut.
#include "drivers/sonic/redis_protocol.hpp"

#include <gtest/gtest.h>

#include <random>

namespace lockstep::sonic {
namespace {

using namespace std::string_literals;

std::string words_of(const RedisReply& reply) {
  switch (reply.kind) {
    case RedisReply::Kind::nil: return "nil";
    case RedisReply::Kind::text: return "'" + reply.text + "'";
    case RedisReply::Kind::integer: return std::to_string(reply.integer);
    case RedisReply::Kind::error: return "error '" + reply.text + "'";
    case RedisReply::Kind::array: break;
  }
  std::string out = "[";
  for (const RedisReply& one : reply.elements) out += words_of(one) + " ";
  return out + "]";
}

// All replies in pieces of this size, and the error that ends them.
std::string read_in_pieces(std::string_view bytes, std::size_t size) {
  RedisReader reader;
  std::string out;
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, size);
    bytes.remove_prefix(piece.size());
    if (const auto fed = reader.feed(piece); !fed) return out + "; " + fed.error().text();
    for (bool more = true; more;) {
      const auto reply = reader.next();
      if (!reply) return out + "; " + reply.error().text();
      more = reply->has_value();
      if (more) out += words_of(**reply) + "\n";
    }
  }
  return out + (reader.has_bytes() ? "; incomplete" : "");
}

const std::string kReplies =
    "+OK\r\n-ERR no\r\n:42\r\n:-1\r\n$-1\r\n*-1\r\n$0\r\n\r\n*0\r\n$7\r\na\r\n\0\xff"
    "bc\r\n"
    "*3\r\n$1\r\nk\r\n*2\r\n:1\r\n$-1\r\n-ERR in an array\r\n"s;

TEST(RedisReaders, RepliesAreTheSameHoweverTheyAreCut) {
  const std::string whole = read_in_pieces(kReplies, kReplies.size());
  EXPECT_EQ(whole,
            "'OK'\nerror 'ERR no'\n42\n-1\nnil\nnil\n''\n[]\n'a\r\n\0\xff"
            "bc'\n['k' [1 nil ] error 'ERR in an array' ]\n"s);
  for (std::size_t size = 1; size < kReplies.size(); ++size)
    EXPECT_EQ(read_in_pieces(kReplies, size), whole) << size;
}

TEST(RedisReaders, ATruncatedReplyIsIncompleteAndNeverAReply) {
  const std::string reply = "*2\r\n$3\r\nabc\r\n:1\r\n";
  for (std::size_t length = 1; length < reply.size(); ++length)
    EXPECT_EQ(read_in_pieces(reply.substr(0, length), 1), "; incomplete") << length;
  EXPECT_EQ(read_in_pieces(reply, 1), "['abc' 1 ]\n");
}

TEST(RedisReaders, AnyBytesAreRepliesOrAnError) {
  std::mt19937 random(7);
  for (int round = 0; round < 3000; ++round) {
    std::string bytes = kReplies;
    for (int change = 0; change < 4; ++change)
      bytes[random() % bytes.size()] = "*$:+-0123456789\r\n\xff"[random() % 18];
    const std::string whole = read_in_pieces(bytes, bytes.size());
    EXPECT_EQ(read_in_pieces(bytes, 1 + random() % 9), whole) << round;
  }
}

TEST(RedisReaders, TheBoundsCountFromBegin) {
  RedisReader reader;
  const std::string half(kReplyBytes / 2, 'x');
  for (int i = 0; i < 2; ++i) {
    reader.begin();
    ASSERT_TRUE(reader.feed("$" + std::to_string(half.size()) + "\r\n" + half + "\r\n"));
    const auto reply = reader.next();
    ASSERT_TRUE(reply && *reply);
    EXPECT_EQ((*reply)->text.size(), half.size());
  }
  EXPECT_FALSE(reader.feed(half));
}

TEST(RedisReaders, TheBoundOfValuesCountsAllRepliesAndArraysBeforeTheirElements) {
  const std::string bound = "; replies of more than a million values";
  std::string integers;
  for (std::size_t i = 0; i < kReplyValues; ++i) integers += ":1\r\n";
  const std::string all = read_in_pieces(integers, 65536);
  EXPECT_EQ(all.size(), 2 * kReplyValues);
  EXPECT_EQ(read_in_pieces(integers + "+one more\r\n", 65536), all + bound);
  EXPECT_EQ(read_in_pieces("*600000\r\n*600000\r\n", 1), bound);
  EXPECT_EQ(read_in_pieces("*600000\r\n*300000\r\n", 1), "; incomplete");
}

TEST(RedisCommands, AreBytesWithTheLengthOfEachWord) {
  EXPECT_EQ(redis_bytes({"HSET", "PORT|Ethernet0", "\0\r\n"s, ""}),
            "*4\r\n$4\r\nHSET\r\n$14\r\nPORT|Ethernet0\r\n$3\r\n\0\r\n\r\n$0\r\n\r\n"s);
}

}  // namespace
}  // namespace lockstep::sonic
