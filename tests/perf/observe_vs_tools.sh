#!/usr/bin/env bash
# observe_vs_tools.sh: one observation of a host with eight RoCE ports against dcb, ethtool, devlink, rdma, ip
# and tc with the same reads, alternating, in the VM lab. Prints a line of figures. Needs
# perf_observe_vs_tools of the bench preset. Exit code 1: it is not ten times faster, or gave no figure.
set -euo pipefail
root=$(realpath "$(dirname "$0")/../..")
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
failed=0
"$root/tests/vm/run.sh" -c 2 -b test_nic -m "rdma_rxe crc32_generic ib_uverbs rdma_cm" -t "dcb ethtool devlink rdma ip tc" \
  "$root/build/vm" "$out/vm" "$root/build/bench/bin/perf_observe_vs_tools" >"$out/log" 2>&1 || failed=1
grep '^RESULT' "$out/vm/console" || { failed=1; cat "$out/log"; }
exit $failed
