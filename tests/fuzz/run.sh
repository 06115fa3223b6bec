#!/usr/bin/env bash
# run.sh SECONDS [PARSER...]: fuzzes each parser (default: all) for SECONDS with libFuzzer under ASan and UBSan, one parser
# per processor. Findings are in build/fuzz/found, and the exit code is then 1. Inputs that cover new code stay in
# build/fuzz/corpus for the next run. Installs clang if it is missing.
set -euo pipefail
cd "$(dirname "$0")/../.."
usage="usage: tests/fuzz/run.sh SECONDS [PARSER...]"
[[ "${1:-}" =~ ^[1-9][0-9]*$ ]] || { echo "$usage" >&2; exit 2; }
seconds=$1
shift

cmake/install-packages.sh fuzz
cmake --preset fuzz >/dev/null
cmake --build --preset fuzz --target fuzz_seeds fuzz_one_parser
rm -rf build/fuzz/seeds
mkdir -p build/fuzz/found build/fuzz/corpus build/fuzz/logs
# The kernel's dumps of one of each, if a network namespace can be made; otherwise of this machine's namespace.
seeds='ip link set lo up
  ip link add rail0 type veth peer rail1 && ip link set rail0 up && ip link set rail1 up
  ip address add 10.64.0.1/31 dev rail0
  ip nexthop add id 1 via 10.64.0.0 dev rail0 && ip nexthop add id 10 group 1
  ip route add 10.0.0.0/8 nhid 10
  ip route add 10.9.0.0/16 nexthop via 10.64.0.0 dev rail0 nexthop via 10.64.0.0 dev rail0 weight 3
  ip rule add from 192.0.2.1 lookup 100
  tc qdisc add dev rail0 root handle 1: htb
  ip xfrm policy add src 10.0.0.0/8 dst 10.64.0.0/16 dir out tmpl proto esp mode tunnel
  build/fuzz/bin/fuzz_seeds build/fuzz/seeds'
unshare -n bash -c "$seeds" 2>/dev/null || build/fuzz/bin/fuzz_seeds build/fuzz/seeds
all=(build/fuzz/seeds/*)
all=("${all[@]##*/}")
chosen=("${@:-${all[@]}}")
for parser in "${chosen[@]}"; do
  [ -d "build/fuzz/seeds/$parser" ] || { echo "no parser $parser; there are: ${all[*]}" >&2; exit 2; }
done

export ASAN_SYMBOLIZER_PATH=/usr/bin/llvm-symbolizer-16

fuzz() {
  mkdir -p "build/fuzz/corpus/$1"
  # Chosen bounds: inputs twice as long as the longest seed of specs, and 12 s per input, three times what 80,000 ports take
  # here. A slow input that ends is not a finding. The memory limit of 2 GiB is libFuzzer's default.
  LOCKSTEP_FUZZED=$1 build/fuzz/bin/fuzz_one_parser -max_total_time="$seconds" -max_len=8192 -timeout=12 \
    -report_slow_units=12 -use_value_profile=1 -print_final_stats=1 -artifact_prefix="build/fuzz/found/$1-" \
    "build/fuzz/corpus/$1" "build/fuzz/seeds/$1" \
    >"build/fuzz/logs/$1" 2>&1
}
export -f fuzz
export seconds
status=0
printf '%s\n' "${chosen[@]}" | xargs -P "$(nproc)" -I{} bash -c 'fuzz {}' || status=1
for parser in "${chosen[@]}"; do
  printf '%-12s %12s inputs, %s\n' "$parser" \
    "$(sed -n 's/^stat::number_of_executed_units: *//p' "build/fuzz/logs/$parser")" \
    "$(ls build/fuzz/found | grep -c "^$parser-" || true) found"
done
exit $status
