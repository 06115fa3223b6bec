#!/usr/bin/env bash
# Passes the tests: installs what is missing, builds with ASan and UBSan, runs the fast suite; `tests/run.sh all` runs
# the long one too (the twin end to end, simulation seeds, the executor under TSan, clang-tidy).
set -euo pipefail
cd "$(dirname "$0")/.."

cmake/install-packages.sh test
cmake --preset asan >/dev/null
cmake --build --preset asan
suite=(--label-regex fast)
[ "${1:-fast}" = all ] && suite=()
ctest --preset asan --no-tests=error --parallel 2 "${suite[@]}"
