#!/usr/bin/env bash
# verbs_vs_perftest.sh [ROW]...: bandwidth and latency of verbs against perftest's in the VM lab. The rows
# (write_bw_64K ..., all by default) run one after the other on the same two machines, in under eight minutes.
# Prints README.md's table. Needs perf_verbs_vs_perftest of the bench preset. Exit code 1: a row's confidence
# interval excludes the goal, or a row gave no figure.
set -euo pipefail
root=$(realpath "$(dirname "$0")/../..")
program=$root/build/bench/bin/perf_verbs_vs_perftest
rows=("$@")
[ $# -gt 0 ] || rows=(write_bw_64K read_bw_64K send_bw_64K write_bw_4K write_lat_8 read_lat_8 send_lat_8 send_lat_ud_8)
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
failed=0
echo "| row | ours | perftest | ratio | rounds | goal met |"
echo "|---|---|---|---|---|---|"
for ((at = 0; at < ${#rows[@]}; at += 4)); do
  some=("${rows[@]:at:4}")
  filter=$(printf '*/%s:' "${some[@]}")
  "$root/tests/vm/run.sh" -c 2 -m "rdma_rxe crc32_generic ib_uverbs rdma_cm veth bridge" \
    -t "ib_write_bw ib_read_bw ib_send_bw ib_write_lat ib_read_lat ib_send_lat" \
    -f "/etc/libibverbs.d/rxe.driver /usr/lib/x86_64-linux-gnu/libibverbs/librxe-rdmav*.so" \
    "$root/build/vm" "$out/vm" "$program" "--gtest_filter=$filter" >"$out/log" 2>&1 || failed=1
  sed -n 's/^RESULT //p' "$out/vm/console"
  [ "$(grep -c '^RESULT' "$out/vm/console")" = "${#some[@]}" ] || { failed=1; cat "$out/log" >&2; }
done
exit $failed
