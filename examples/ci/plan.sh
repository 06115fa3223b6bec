#!/usr/bin/env bash
# plan.sh [OPTION...]: what a change would do to the devices as they are now, planned by the running service. Options are those of
# `lockstep plan --server`. Needs neither root nor devices, and changes nothing.
# Settings (environment): SPECS, OUT, LOCKSTEP (lib.sh); LOCKSTEP_SERVER: the service, https://HOST[:PORT]; LOCKSTEP_TOKEN: a token
# of the role viewer; LOCKSTEP_CA: text of the authorities that are believed (PEM; default: the system's). Without LOCKSTEP_SERVER
# there is no plan. The token gets into no log and no list of processes.
# Writes to OUT: plan.md, and on GitHub adds it to the summary of the job.
# Exit codes: 0: the plan was made, whatever it changes. 1: it was not. 3: it was, and some devices could not be observed.
here=$(dirname "$0")
# shellcheck source=lib.sh
. "$here/lib.sh"

mkdir -p "$OUT"
rm -f "$OUT/plan.md"
[ -n "${LOCKSTEP_SERVER:-}" ] || { echo "no plan: LOCKSTEP_SERVER is not set"; exit 0; }
work=$(umask 077 && mktemp -d)
trap 'rm -rf "$work"' EXIT
(umask 077 && printf '%s\n' "${LOCKSTEP_TOKEN:?is not set: a token of the role viewer}" >"$work/token")
at=(--server "$LOCKSTEP_SERVER" --token-file "$work/token")
if [ -n "${LOCKSTEP_CA:-}" ]; then
  printf '%s\n' "$LOCKSTEP_CA" >"$work/ca.crt"
  at+=(--ca "$work/ca.crt")
fi

code=0
"$LOCKSTEP" plan "${at[@]}" "$@" "$SPECS" >"$work/plan" 2>"$work/said" || code=$?
cat "$work/plan"
cat "$work/said" >&2
case $code in
  0) title='Plan: nothing to do' ;;
  2) title='Plan: this changes devices' ;;
  3) title='Plan: incomplete, as some devices could not be observed' ;;
  *) title='No plan' ;;
esac
{
  echo "### $title"
  echo
  [ ! -s "$work/said" ] || page_block 'What was not observed, warnings and errors' 60 <"$work/said"
  [ ! -s "$work/plan" ] || page_block 'On the devices as they are now' 150 <"$work/plan"
} >"$work/plan.md"
mv "$work/plan.md" "$OUT/plan.md"
to_summary "$OUT/plan.md"
[ "$code" -ne 2 ] || exit 0
exit "$code"
