// The layouts of the store's file, each created from the previous one. A file's layout is its user_version.
#pragma once

#include "reconciler/store/database.hpp"

namespace lockstep {

inline constexpr int kLayout = 10;  // the newest
inline constexpr int kLayoutOfGates = 2;
inline constexpr int kLayoutOfCures = 3;
inline constexpr int kLayoutOfWrites = 4;
inline constexpr int kLayoutOfTries = 5;
inline constexpr int kLayoutOfIdentity = 6;
inline constexpr int kLayoutOfRuns = 7;
inline constexpr int kLayoutOfRefused = 8;
inline constexpr int kLayoutOfBefore = 9;

// 0: the file is empty. Unsupported: a newer lockstep wrote it.
Result<int> layout_of(const Database& database);

// In one transaction, from any older layout.
Result<Done> bring_up_to_date(const Database& database);

}  // namespace lockstep
