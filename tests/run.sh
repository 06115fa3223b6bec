#!/usr/bin/env bash
# Passes the tests: installs what is missing, builds with ASan and UBSan, runs the fast suite. `tests/run.sh all` runs
# the long one too: clang-tidy, the executor under TSan, and, on an optimised build, the twin end to end, 1,000 seeds of a
# simulated cluster of 200 devices, more hostile specs, and tests under Debian's own kernel in an emulated machine.
set -euo pipefail
cd "$(dirname "$0")/.."

cmake/install-packages.sh test
cmake --preset asan >/dev/null
cmake --build --preset asan
# Two at a time, of which at most one works on a real kernel and real daemons (RESOURCE_LOCK kernel).
ctest --preset asan --parallel 2 --no-tests=error --label-regex fast
if [ "${1:-fast}" = all ]; then
  cmake --preset tsan >/dev/null
  cmake --build --preset tsan --target unit_runtime
  # TSan of g++ 12 can't place its shadow under the address randomisation of newer kernels (personality(2)).
  setarch "$(uname -m)" -R build/tsan/bin/unit_runtime
  # What the compiler does not see, in what ships (.clang-tidy says which checks, and why not others).
  # Its stderr counts warnings of headers that it does not show, thousands of lines: shown when it fails.
  run-clang-tidy-16 -quiet -p build/asan "^$PWD/(specs|drivers|bench|reconciler|examples)/" \
    2>build/asan/clang-tidy.log || { cat build/asan/clang-tidy.log >&2; exit 1; }
  cmake --preset bench >/dev/null
  cmake --build --preset bench --target lockstep simulate twin_tests vm_tests unit_compile
  ctest --preset bench --no-tests=error --label-regex 'long|vm'
fi
