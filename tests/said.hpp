// Makes a spec value that counts as written in a spec.
#pragma once

#include <utility>

#include "specs/language/said.hpp"

namespace lockstep {

template <class T>
Said<T> said(T value) {
  return Said<T>{std::move(value), {}, true};
}

}  // namespace lockstep
