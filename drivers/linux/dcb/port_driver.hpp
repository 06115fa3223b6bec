// How each kernel driver accepts the headroom of a port's lossless priorities, which dcbnl leaves to the
// driver: the only file that encodes this.
//
// Sources: mlx5/core/en_dcbnl.c (torvalds/linux 84a83eba5c5a) and en/port_buffer.c (06449e9fba1e);
// mlxsw/spectrum_dcb.c, spectrum_qdisc.c and spectrum_buffers.c (amitcohen1/linux_mlxsw cd6c5dc0c90c).
#pragma once

#include <cstdint>
#include <string_view>

namespace lockstep::dcb {

enum class Headroom : std::uint8_t {
  // By a buffer's size if the port has buffers, else decided by its driver or firmware (bnxt_en, ice).
  by_size,
  // mlx5: the PFC delay is the length of the cable in metres, from which the driver computes where in a
  // buffer a pause is sent; it refuses a lossless buffer that is too small for it.
  by_cable,
  // mlxsw: while a qdisc is offloaded as the port's root (TC mode), by a buffer's size. Else (DCB mode)
  // by the PFC delay in bits: its 16 bits express 8 KB at most, 164 ns at 400 Gbit/s, and sizes are
  // refused.
  by_traffic_control,
};

// `driver`: as ethtool names it.
constexpr Headroom headroom_of(std::string_view driver) {
  if (driver == "mlx5_core") return Headroom::by_cable;
  if (driver.starts_with("mlxsw_spectrum")) return Headroom::by_traffic_control;
  return Headroom::by_size;
}

// Metres: mlx5 silently ignores 1000 and more (MLX5E_MAX_CABLE_LENGTH).
inline constexpr std::int64_t kCableMetresMax = 999;

// kbit/s: mlxsw's "unbounded" (mlxsw/reg.h: MLXSW_REG_QEEC_MAS_DIS, since Linux 5.6), where others have 0.
inline constexpr std::uint64_t kMlxswUnbounded = (std::uint64_t{1} << 31) - 1;

// What to try when such a port refuses headroom or PFC; empty: the kernel's message is sufficient.
constexpr std::string_view headroom_hint(Headroom headroom) {
  switch (headroom) {
    case Headroom::by_size: break;
    case Headroom::by_cable:
      return " (mlx5 takes no lossless buffer that is smaller than what it computes of cable-length, speed "
             "and "
             "MTU: a larger buffer[*]/size is right, within what the port has, or the cable's true length)";
    case Headroom::by_traffic_control:
      return " (mlxsw takes sizes while a qdisc is offloaded as the port's root, as many as fit its "
             "headroom)";
  }
  return {};
}

}  // namespace lockstep::dcb
