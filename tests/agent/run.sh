#!/usr/bin/env bash
# run.sh SCRIPT LOCKSTEP LOCKSTEP_AGENT: runs tests/agent/SCRIPT with a real agent, in network, process and UTS namespaces
# of its own: whatever it starts ends with it.
set -euo pipefail
here=$(dirname "$0")
. "$here/../needs.sh"
[ "$(id -u)" -eq 0 ] || not_tested_but_on_ci "makes network and process namespaces"
if [ "$1" = hostile.py ]; then
  ulimit -n 10300 2>/dev/null || not_tested "10,000 connections: a process may open $(ulimit -Hn) files here"
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0
unshare --net --uts --pid --fork --kill-child --mount-proc /usr/bin/python3 -B "$here/$1" "$(realpath "$2")" "$(realpath "$3")" "$work" || status=$?
exit $status
