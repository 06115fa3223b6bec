#!/usr/bin/env bash
# check.sh SOURCE PRINT_METRICS CACHE: what promtool says of the metrics, of the rules and of what they raise; and that each alert
# leads to a section of docs/alerts.md.
set -euo pipefail
. "$(dirname "$0")/../needs.sh"
. "$(dirname "$0")/prometheus.sh"
source=$1 print_metrics=$2
needs_prometheus "$3"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rules=$source/packaging/monitoring/lockstep.rules.yml

"$print_metrics" >"$work/metrics"
promtool check metrics <"$work/metrics" >"$work/said" 2>&1 || { cat "$work/said"; exit 1; }
[ ! -s "$work/said" ] || { cat "$work/said"; echo "promtool check metrics has remarks"; exit 1; }
promtool check rules --lint=all --lint-fatal "$rules"
cp "$rules" "$source/tests/monitoring/lockstep.rules_test.yml" "$work"
(cd "$work" && promtool test rules lockstep.rules_test.yml)

# Each metric of the rules is one that there is, and each alert has its section.
/usr/bin/python3 -B "$source/tests/monitoring/check_names.py" "$source" "$work/metrics"
