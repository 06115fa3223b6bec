#!/usr/bin/env bash
# drift.sh [OPTION...]: reports what differs from the specs now, in all forms, from one observation of the devices. Options
# are those of `lockstep drift`. Changes no device.
# Settings (environment): SPECS, OUT, LOCKSTEP (lib.sh).
# Writes to OUT: drift.sarif, drift.xml (JUnit), codequality.json, drift.md and drift.json; to GITHUB_OUTPUT:
# `result` (in-sync, drift, incomplete or error) and `reports` (whether there are any).
# Exit codes are those of `lockstep drift`: 0 in sync; 2 drift; 3: nothing that was observed differs, and some devices could
# not be observed, which is not in sync; 1 an error. After an error there are no reports: an empty one would close alerts.
here=$(dirname "$0")
# shellcheck source=lib.sh
. "$here/lib.sh"

mkdir -p "$OUT"
forms="sarif=drift.sarif junit=drift.xml gitlab=codequality.json markdown=drift.md json=drift.json github=annotations.txt"
arguments=()
for form in $forms; do
  rm -f "${OUT:?}/${form#*=}"
  arguments+=(--report "${form%%=*}=$OUT/${form#*=}")
done

code=0
"$LOCKSTEP" drift "$@" "${arguments[@]}" "$SPECS" || code=$?
case $code in
  0) result=in-sync ;;
  2) result=drift ;;
  3) result=incomplete ;;
  *) result=error ;;
esac
reports=false
if [ $result != error ]; then
  reports=true
  [ -z "${GITHUB_ACTIONS:-}" ] || cat "$OUT/annotations.txt"
  to_summary "$OUT/drift.md"
fi
rm -f "$OUT/annotations.txt"
[ -z "${GITHUB_OUTPUT:-}" ] || printf 'result=%s\nreports=%s\n' $result $reports >>"$GITHUB_OUTPUT"
[ $result != incomplete ] || echo "error: some devices could not be observed: this is not in sync" >&2
exit $code
