#!/usr/bin/env bash
# run.sh [fast|vm|all|soak|lint|tsan|mutants]: runs the tests; installs missing packages.
# fast (the default): the fast suite, built with ASan and UBSan.
# vm: the tests under Debian's own kernel in an emulated machine.
# all: fast and vm, and in addition clang-tidy on what the last commits changed; the executor, the engine and the benchmarks
# under TSan, if the last 40 commits changed the executor; and, on an optimised build, the twin end to end, 200 seeds of simulated
# clusters and 1,000 of a service, and more hostile specs.
# soak: 20,000 seeds of simulated clusters of 12 to 24 devices and 1,000 of 200, 20,000 of a service, 100 killed gated applies,
# 300 applies of which controllers and agents are killed, an hour of a service under drift each second, and the quickstart through agents;
# the session and the API of the service under TSan.
# lint: clang-tidy on everything; some twenty minutes.
# tsan: the executor, the engine and the benchmarks under TSan: for changes to their threads, which all may leave out.
# mutants: some 240 seeded defects in the engine and the service, one at a time; fails if the tests find too few.
set -euo pipefail
cd "$(dirname "$0")/.."
case "$*" in
  "" | fast | vm | all | soak | lint | tsan | mutants) suite=${1:-fast} ;;
  *) echo "usage: tests/run.sh [fast|vm|all|soak|lint|tsan|mutants]" >&2; exit 2 ;;
esac

# phase WHAT: what begins, and when: CI has a time limit.
phase() { echo "== $SECONDS s: $1"; }

fast() {
  phase "the fast suite's build"
  cmake --preset asan >/dev/null
  cmake --build --preset asan
  phase "the fast suite"
  # Two tests at a time, of which at most one uses a real kernel and real daemons (RESOURCE_LOCK kernel).
  ctest --preset asan --parallel 2 --no-tests=error --label-regex fast
}

tsan_programs=(unit_engine unit_bench unit_runtime)
# under_tsan PROGRAM...: the longest first.
under_tsan() {
  cmake --preset tsan >/dev/null
  local programs=("$@")
  cmake --build --preset tsan --target "${programs[@]}"
  # TSan of g++ 12 can't place its shadow under the address randomisation of newer kernels (personality(2)).
  printf '%s\0' "${programs[@]/#/build/tsan/bin/}" | GTEST_BRIEF=1 xargs -0 -n 1 -P 2 setarch "$(uname -m)" -R
}

# Lints the shipped code for what the compiler does not report (.clang-tidy lists the checks, and why others are off).
# stderr has thousands of lines that count suppressed warnings of headers: shown only on failure.
# clang_tidy [MOST]: what the last 40 commits changed, the newest first, and at most MOST units (6 take some two minutes, and
# one header can change all). Everything without MOST, or if git does not have these commits (a shallow clone).
clang_tidy() {
  local changed=build/asan/clang-tidy.changed unit all=() units=() back=0 most=${1:-}
  # The sources as the build compiles them: in unity files of sixteen, and some separately.
  mapfile -t all < <(jq -r '.[].file' build/asan/compile_commands.json |
                     grep -E "^$PWD/(build/asan/)?(specs|drivers|bench|reconciler|examples)/")
  if [ -z "$most" ] || ! git rev-parse -q --verify HEAD~40 >/dev/null; then
    units=("${all[@]}") most=${#all[@]}
  fi
  while [ "$back" -lt 40 ] && [ ${#units[@]} -lt "$most" ]; do
    back=$((back + 1))
    git diff --name-only "HEAD~$back" | sed "s#^#$PWD/#" >"$changed"
    for unit in "${all[@]}"; do
      case " ${units[*]} " in *" $unit "*) continue ;; esac
      if grep -qFf "$changed" <(echo "$unit"; case $unit in */Unity/*) cat "$unit" ;; esac); then units+=("$unit"); fi
    done
  done
  [ "$most" = ${#all[@]} ] || echo "clang-tidy of what the last $back commits changed, at most $most of ${#all[@]} units; tests/run.sh lint takes all"
  units=("${units[@]:0:most}")
  [ ${#units[@]} -gt 0 ] || return 0
  run-clang-tidy-16 -quiet -p build/asan -checks=-bugprone-suspicious-include "${units[@]/#/^}" \
    2>build/asan/clang-tidy.log || { cat build/asan/clang-tidy.log >&2; exit 1; }
}

# optimised LABELS TARGET...
optimised() {
  cmake --preset bench >/dev/null
  cmake --build --preset bench --target "${@:2}"
  phase "the tests of $1"
  # Three at a time on two processors: many of these tests mostly wait. Those that measure run alone.
  ctest --preset bench --parallel 3 --no-tests=error --label-regex "$1"
}

# Counts the seeded defects that the tests of model, engine and session and the simulation find.
mutants() {
  cmake/install-packages.sh mutants
  cmake --preset mutants
  cmake --build --preset mutants --target unit_model unit_engine unit_session unit_service simulate simulate_service
  tests/mutants/run.py build/mutants
}

cmake/install-packages.sh test
case $suite in
  fast) fast ;;
  vm) optimised vm vm_tests ;;
  soak)
    under_tsan unit_session unit_api
    optimised soak lockstep lockstep-agent simulate simulate_service unit_sonic
    ;;
  lint)
    cmake --preset asan >/dev/null
    cmake --build --preset asan  # generated sources
    clang_tidy
    ;;
  tsan) under_tsan "${tsan_programs[@]}" ;;
  mutants) mutants ;;
  all)
    fast
    # All of the engine's threads are the executor's; the engine itself is single-threaded over it.
    if git diff --quiet HEAD~40 -- drivers/runtime tests/unit/runtime 2>/dev/null; then
      phase "no TSan: the executor is as before"
    else
      phase "TSan"
      under_tsan "${tsan_programs[@]}"
    fi
    phase "clang-tidy"
    clang_tidy 5
    phase "an optimised build"
    optimised 'long|vm' lockstep lockstep-agent simulate simulate_gate simulate_service twin_tests print_metrics vm_tests unit_compile unit_sonic perf_plan_fleet
    ;;
esac
