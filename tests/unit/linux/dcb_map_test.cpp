// Conversion between entries and a port's DCB, and the preview commands, without a kernel.
#include <gtest/gtest.h>

#include "tests/unit/linux/dcb_entries.hpp"

namespace lockstep {
namespace {

using dcb::PortState;

// The usual initial state of a port: DCBX belongs to the host, all priorities in buffer 0, nothing lossless.
PortState fresh() {
  PortState out;
  out.dcb.pfc = ieee_pfc{};
  out.dcb.mode = DCB_CAP_DCBX_HOST | DCB_CAP_DCBX_VER_IEEE;
  out.dcb.buffer = dcbnl_buffer{};
  out.dcb.buffer->buffer_size[0] = 262144;
  out.pause = true;
  return out;
}

Change change(const std::string& entry, Value want) {
  const auto path = Path::parse("interface[nic0]/" + entry);
  EXPECT_TRUE(path) << entry;
  return Change{path ? *path : Path{}, {}, want, 0};
}

std::string laid(PortState& state, const Change& one) {
  const auto done = dcb_map::overlay(one, state);
  return done ? dcb_map::value_of(one.path, state).to_string() : done.error().text();
}

TEST(DcbMap, ReadsAFreshPort) { EXPECT_EQ(text(fresh()), "dcbx = host ieee\npause = true\npfc = (empty)\n"); }

TEST(DcbMap, AppliedValuesReadBack) {
  PortState state = fresh();
  EXPECT_EQ(laid(state, change("pfc", Value::set({"3", "4"}))), "3, 4");
  EXPECT_EQ(laid(state, change("dcbx", Value::text("lld-managed cee"))), "lld-managed cee");
  EXPECT_EQ(laid(state, change("pause", Value::boolean(false))), "false");
  EXPECT_EQ(laid(state, change("buffer[3]/size", Value::integer(1000))), "1000");
  EXPECT_EQ(state.dcb.pfc->pfc_en, 0x18);
  EXPECT_EQ(state.dcb.buffer->prio2buffer[3], 3);
  EXPECT_EQ(laid(state, change("buffer[3]/size", Value{})), "(none)");
  EXPECT_EQ(state.dcb.buffer->buffer_size[3], 0U);
  EXPECT_EQ(state.dcb.buffer->prio2buffer[3], 0);
}

TEST(DcbMap, APriorityThatSharesABufferGetsAFreeOneAndOthersKeepTheirs) {
  PortState state = fresh();
  for (const int priority : {3, 4, 5}) state.dcb.buffer->prio2buffer[priority] = 3;
  state.dcb.buffer->prio2buffer[6] = 1;
  state.dcb.buffer->buffer_size[3] = 3000;
  EXPECT_EQ(laid(state, change("buffer[3]/size", Value::integer(1000))), "1000");
  EXPECT_EQ(state.dcb.buffer->prio2buffer[3], 2) << "the lowest one that is free";
  EXPECT_EQ(state.dcb.buffer->buffer_size[3], 3000U);
  for (int priority = 0; priority < 8; ++priority)
    state.dcb.buffer->prio2buffer[priority] = static_cast<std::uint8_t>(priority);
  EXPECT_NE(laid(state, change("buffer[0]/size", Value::integer(1))).find("have all buffers"),
            std::string::npos);
}

TEST(DcbMap, MalformedValuesAreRefusedAndChangeNothing) {
  PortState state = fresh();
  for (const Change& one :
       {change("pfc", Value::set({"8"})), change("pfc", Value::set({"3x"})), change("pfc", Value::text("3")),
        change("pfc", Value{}), change("dcbx", Value{}), change("dcbx", Value::text("ieee host")),
        change("dcbx", Value::text("host cisco")), change("pause", Value{}),
        change("pause", Value::integer(1)), change("buffer[8]/size", Value::integer(1)),
        change("buffer[3]/size", Value::integer(-1)), change("buffer[3]/size", Value::integer(1LL << 32))}) {
    const auto done = dcb_map::overlay(one, state);
    ASSERT_FALSE(done) << one.path.text() << " " << one.want.to_string();
    EXPECT_EQ(done.error().kind, ErrorKind::invalid_spec);
  }
  EXPECT_EQ(text(state), text(fresh()));
}

TEST(DcbMap, PreviewShowsDcbCommands) {
  const auto words = [](const std::string& entry, Value want) {
    return dcb_map::native(change(entry, want));
  };
  EXPECT_EQ(words("pfc", Value::set({"3", "4"})), "dcb pfc set dev nic0 prio-pfc all:off 3:on 4:on");
  EXPECT_EQ(words("dcbx", Value::text("host ieee")), "dcb dcbx set dev nic0 host ieee");
  EXPECT_EQ(words("pause", Value::boolean(false)), "ethtool -A nic0 rx off tx off");
  EXPECT_EQ(
      words("buffer[3]/size", Value::integer(1000)),
      "dcb buffer set dev nic0 prio-buffer 3:3 buffer-size 3:1000  # or use another free buffer number");
}

}  // namespace
}  // namespace lockstep
