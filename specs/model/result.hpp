// Result<T>: a value or an Error, the only way a function of lockstep reports an expected failure.
//
// Promises: nodiscard on the type, so a dropped result is a compile error; no dependency; readable by
// clang-tidy 14 and 16. No exceptions for anything that input, a device or the kernel can cause; those are
// reserved for bugs. An ErrorKind exists only if some caller handles it differently.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace lockstep {

enum class ErrorKind : std::uint8_t {
  transient,        // may pass by itself: back off and try again
  unknown_outcome,  // outcome unknown: observe before anything else
  conflict,         // stale (revision, lock): plan again
  refused,          // the device or kernel refused: stop and report
  unsupported,      // not supported on the target: not applied, not drift
  denied,           // permission or credentials
  invalid_spec,     // the input is wrong
  cancelled,        // asked to stop
};

constexpr std::string_view to_string(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::transient: return "transient";
    case ErrorKind::unknown_outcome: return "unknown outcome";
    case ErrorKind::conflict: return "conflict";
    case ErrorKind::refused: return "refused";
    case ErrorKind::unsupported: return "unsupported";
    case ErrorKind::denied: return "denied";
    case ErrorKind::invalid_spec: return "invalid spec";
    case ErrorKind::cancelled: return "cancelled";
  }
  return "unknown";
}

struct [[nodiscard]] Error {
  ErrorKind kind;
  std::string what;  // one sentence, no newline, no trailing full stop; names the thing at fault
  std::shared_ptr<const Error> cause = nullptr;

  // "what: cause: cause of the cause".
  std::string text() const { return cause ? what + ": " + cause->text() : what; }
};

inline Error wrap(std::string what, Error cause) {
  const ErrorKind kind = cause.kind;
  return Error{kind, std::move(what), std::make_shared<const Error>(std::move(cause))};
}

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : held_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : held_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const noexcept { return held_.index() == 0; }
  T& operator*() & { return std::get<0>(held_); }
  T&& operator*() && { return std::get<0>(std::move(held_)); }
  const T& operator*() const& { return std::get<0>(held_); }
  T* operator->() { return &std::get<0>(held_); }
  const T* operator->() const { return &std::get<0>(held_); }
  Error& error() & { return std::get<1>(held_); }
  const Error& error() const& { return std::get<1>(held_); }

 private:
  std::variant<T, Error> held_;
};

// The value of a successful call that returns nothing else.
struct Done {};

}  // namespace lockstep

#define LOCKSTEP_JOIN2(a, b) a##b
#define LOCKSTEP_JOIN(a, b) LOCKSTEP_JOIN2(a, b)
// TRY(auto value, call()): value on success, else returns the error from the enclosing function.
#define TRY(decl, expr)                                                                              \
  auto LOCKSTEP_JOIN(result_, __LINE__) = (expr);                                                    \
  if (!LOCKSTEP_JOIN(result_, __LINE__)) return std::move(LOCKSTEP_JOIN(result_, __LINE__).error()); \
  decl = *std::move(LOCKSTEP_JOIN(result_, __LINE__))
// TRY_DONE(call()): the same for a call whose value is not used.
#define TRY_DONE(expr)                                       \
  do {                                                       \
    auto result_done = (expr);                               \
    if (!result_done) return std::move(result_done.error()); \
  } while (false)
