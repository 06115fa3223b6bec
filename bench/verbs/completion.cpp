#include "bench/verbs/completion.hpp"

#include <array>
#include <string_view>

namespace lockstep::bench::verbs {
namespace {

struct Words {
  ibv_wc_status status;
  std::string_view name;
  std::string_view meaning_and_cause;
  Trouble trouble;
};

constexpr std::array kWords{
    Words{IBV_WC_LOC_LEN_ERR, "LOC_LEN_ERR",
          "the message is longer than the buffer or the port's limit: sizes of both ends differ, or a UD "
          "message is above the MTU",
          Trouble::tool},
    Words{IBV_WC_LOC_QP_OP_ERR, "LOC_QP_OP_ERR",
          "the own queue pair could not do it: a wrong address handle or GID; with rxe, a device outside the "
          "machine's first network namespace",
          Trouble::tool},
    Words{IBV_WC_LOC_EEC_OP_ERR, "LOC_EEC_OP_ERR", "the own end-to-end context could not do it",
          Trouble::tool},
    Words{IBV_WC_LOC_PROT_ERR, "LOC_PROT_ERR", "the own memory region does not cover the buffer",
          Trouble::tool},
    Words{IBV_WC_WR_FLUSH_ERR, "WR_FLUSH_ERR",
          "thrown away: the queue pair had failed before; the first error is the cause, or the device went",
          Trouble::path},
    Words{IBV_WC_MW_BIND_ERR, "MW_BIND_ERR", "a memory window was not bound", Trouble::tool},
    Words{IBV_WC_BAD_RESP_ERR, "BAD_RESP_ERR",
          "the peer answered with an opcode that was not expected: its firmware, or packets of another "
          "connection",
          Trouble::path},
    Words{IBV_WC_LOC_ACCESS_ERR, "LOC_ACCESS_ERR",
          "the peer wrote where the own memory region does not let it: it was told a wrong address or key",
          Trouble::tool},
    Words{IBV_WC_REM_INV_REQ_ERR, "REM_INV_REQ_ERR",
          "the peer refuses the request: longer than its buffer, or an operation that it has not allowed",
          Trouble::tool},
    Words{IBV_WC_REM_ACCESS_ERR, "REM_ACCESS_ERR",
          "the peer's memory region does not allow it: a wrong key or address, or the region is gone",
          Trouble::tool},
    Words{IBV_WC_REM_OP_ERR, "REM_OP_ERR", "the peer could not do it: its own queue pair failed",
          Trouble::path},
    Words{IBV_WC_RETRY_EXC_ERR, "RETRY_EXC_ERR",
          "the peer did not acknowledge, however often it was asked: the path drops packets, a link's MTU is "
          "below the path MTU, the peer is dead, or its GID is not where it was",
          Trouble::path},
    Words{IBV_WC_RNR_RETRY_EXC_ERR, "RNR_RETRY_EXC_ERR",
          "the peer had no receive posted, however often it was asked: its program is slow or hangs",
          Trouble::path},
    Words{IBV_WC_LOC_RDD_VIOL_ERR, "LOC_RDD_VIOL_ERR", "the reliable datagram domains differ", Trouble::tool},
    Words{IBV_WC_REM_INV_RD_REQ_ERR, "REM_INV_RD_REQ_ERR", "the peer refuses the reliable datagram",
          Trouble::tool},
    Words{IBV_WC_REM_ABORT_ERR, "REM_ABORT_ERR", "the peer gave the operation up", Trouble::path},
    Words{IBV_WC_INV_EECN_ERR, "INV_EECN_ERR", "an invalid end-to-end context number", Trouble::tool},
    Words{IBV_WC_INV_EEC_STATE_ERR, "INV_EEC_STATE_ERR", "the end-to-end context's state does not allow it",
          Trouble::tool},
    Words{IBV_WC_FATAL_ERR, "FATAL_ERR", "the device has failed: its log and the kernel's say more",
          Trouble::tool},
    Words{IBV_WC_RESP_TIMEOUT_ERR, "RESP_TIMEOUT_ERR", "the peer did not answer in time", Trouble::path},
    Words{IBV_WC_GENERAL_ERR, "GENERAL_ERR", "an error that the device does not name", Trouble::tool},
};

const Words* words_of(ibv_wc_status status) {
  for (const Words& one : kWords)
    if (one.status == status) return &one;
  return nullptr;
}

}  // namespace

std::string describe(ibv_wc_status status) {
  if (status == IBV_WC_SUCCESS) return "SUCCESS";
  const Words* const found = words_of(status);
  if (found == nullptr)
    return "completion status " + std::to_string(status) + ", which libibverbs does not name";
  return std::string(found->name) + ": " + std::string(found->meaning_and_cause);
}

Trouble trouble_of(ibv_wc_status status) {
  const Words* const found = words_of(status);
  return found == nullptr ? Trouble::tool : found->trouble;
}

Failure failure_of(const ibv_wc& completion, std::uint64_t completed) {
  std::string text =
      describe(completion.status) + " (after " + std::to_string(completed) + " that were completed";
  if (completion.vendor_err != 0) text += ", vendor's code " + std::to_string(completion.vendor_err);
  return {trouble_of(completion.status), text + ")"};
}

Failure polling_failed() {
  return {Trouble::tool, "polling: the device gave its completions no more (ibv_poll_cq)"};
}

}  // namespace lockstep::bench::verbs
