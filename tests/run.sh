#!/usr/bin/env bash
# run.sh [fast|vm|all|soak|mutants]: passes the tests; installs what is missing. fast (the default) builds with ASan and UBSan
# and runs the fast suite; vm runs the tests under Debian's own kernel in an emulated machine; all runs both and, besides,
# clang-tidy, the executor, the engine, the session and the benchmarks under TSan, and, on an optimised build, the twin end to
# end, three minutes of simulated clusters, and more hostile specs; soak runs 20,000 seeds of simulated clusters of 12 to 24
# devices and 1,000 of 200, and kills 100 gated applies; mutants seeds 200 defects in the engine, one at a time, and fails where the tests find too few.
set -euo pipefail
cd "$(dirname "$0")/.."
case "$*" in
  "" | fast | vm | all | soak | mutants) suite=${1:-fast} ;;
  *) echo "usage: tests/run.sh [fast|vm|all|soak|mutants]" >&2; exit 2 ;;
esac

fast() {
  cmake --preset asan >/dev/null
  cmake --build --preset asan
  # Two at a time, of which at most one works on a real kernel and real daemons (RESOURCE_LOCK kernel).
  ctest --preset asan --parallel 2 --no-tests=error --label-regex fast
}

under_tsan() {
  cmake --preset tsan >/dev/null
  local programs=(unit_engine unit_session unit_bench unit_runtime)  # the longest first
  cmake --build --preset tsan --target "${programs[@]}"
  # TSan of g++ 12 can't place its shadow under the address randomisation of newer kernels (personality(2)).
  printf '%s\0' "${programs[@]/#/build/tsan/bin/}" | GTEST_BRIEF=1 xargs -0 -n 1 -P 2 setarch "$(uname -m)" -R
}

# What the compiler does not see, in what ships (.clang-tidy says which checks, and why not others).
# Its stderr counts warnings of headers that it does not show, thousands of lines: shown when it fails.
clang_tidy() {
  # The sources as the build takes them: eight at a time, by files that include them, and some by themselves.
  run-clang-tidy-16 -quiet -p build/asan -checks=-bugprone-suspicious-include \
    "^$PWD/(build/asan/)?(specs|drivers|bench|reconciler|examples)/" 2>build/asan/clang-tidy.log || { cat build/asan/clang-tidy.log >&2; exit 1; }
}

# optimised LABELS TARGET...
optimised() {
  cmake --preset bench >/dev/null
  cmake --build --preset bench --target "${@:2}"
  ctest --preset bench --parallel 2 --no-tests=error --label-regex "$1"
}

# Which seeded defects the tests of model, engine and session and the simulation find.
mutants() {
  cmake/install-packages.sh mutants
  cmake --preset mutants
  cmake --build --preset mutants --target unit_model unit_engine unit_session simulate
  tests/mutants/run.py build/mutants
}

cmake/install-packages.sh test
case $suite in
  fast) fast ;;
  vm) optimised vm vm_tests ;;
  soak) optimised soak lockstep simulate ;;
  mutants) mutants ;;
  all)
    fast
    under_tsan
    clang_tidy
    optimised 'long|vm' lockstep simulate simulate_gate twin_tests vm_tests unit_compile perf_plan_fleet
    ;;
esac
