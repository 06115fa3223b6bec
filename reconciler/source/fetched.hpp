// Fetched<T>: a value or the SourceError for which there is none; used as Result<T> is, also with TRY.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "reconciler/source/source.hpp"

namespace lockstep {

template <class T>
class [[nodiscard]] Fetched {
 public:
  Fetched(T value) : held_(std::in_place_index<0>, std::move(value)) {}
  Fetched(SourceError error) : held_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const noexcept { return held_.index() == 0; }
  T& operator*() & { return std::get<0>(held_); }
  T&& operator*() && { return std::get<0>(std::move(held_)); }
  const T* operator->() const { return &std::get<0>(held_); }
  SourceError& error() { return std::get<1>(held_); }

 private:
  std::variant<T, SourceError> held_;
};

// The trouble with its usual kind of error.
inline SourceError trouble_with(SourceTrouble trouble, std::string what) {
  ErrorKind kind = ErrorKind::refused;
  if (trouble == SourceTrouble::unreachable) kind = ErrorKind::transient;
  if (trouble == SourceTrouble::denied || trouble == SourceTrouble::not_verified) kind = ErrorKind::denied;
  return {trouble, {kind, std::move(what)}};
}

// An error of this machine: its files, its programs.
template <class T>
Fetched<T> on_this_machine(Result<T> result) {
  if (result) return *std::move(result);
  return SourceError{SourceTrouble::local, std::move(result.error())};
}

// The call's deadline or stop as the reason why nothing was fetched.
inline Fetched<Done> may_continue(const Call& call, const std::string& title) {
  auto why = call.why_ended(std::chrono::steady_clock::now());
  if (!why) return Done{};
  return SourceError{SourceTrouble::unreachable, wrap(title, std::move(*why))};
}

}  // namespace lockstep
