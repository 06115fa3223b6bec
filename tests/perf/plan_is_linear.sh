#!/usr/bin/env bash
# plan_is_linear.sh PLAN_FLEET: a plan that changes the MTU of every port, for 512, 1,024 and 2,048 hosts of 8
# NICs, made on one of them, which reaches the others over the fabric: neither the size of the plan's order
# nor the allocations to make it may more than double (plus a twentieth) when the number of hosts doubles.
set -euo pipefail
"$1" --mtu --from-host 512 1024 2048 | tee /dev/stderr | awk '
  { for (i = 2; i <= NF; ++i) {
      if ($i ~ /^waits/) waits = $(i - 1)
      if ($i ~ /^allocations/) allocations = $(i - 1) }
    if (NR > 1 && (waits > 2.1 * waits_before || allocations > 2.1 * allocations_before)) {
      print "not linear: " waits_before " -> " waits " waits, " allocations_before " -> " allocations " allocations"; bad = 1 }
    waits_before = waits; allocations_before = allocations }
  END { exit bad || NR != 3 || waits == 0 || allocations == 0 }'
