#!/usr/bin/env bash
# run.sh SCRIPT LOCKSTEP LOCKSTEP_AGENT: runs tests/agent/SCRIPT with a real agent, in network, process and UTS namespaces of its
# own, a folder in memory, and a copy of /etc without a host policy: all that it starts and writes ends with it, also if it is killed.
set -euo pipefail
here=$(realpath "$(dirname "$0")")
. "$here/../needs.sh"
[ "$(id -u)" -eq 0 ] || not_tested_but_on_ci "makes namespaces"
if [ "$1" = hostile.py ]; then
  ulimit -n 10300 2>/dev/null || not_tested "10,000 connections: a process may open $(ulimit -Hn) files here"
fi
exec setpriv --pdeathsig KILL unshare --net --uts --pid --fork --kill-child --mount-proc bash -c \
  'mount -t tmpfs tmpfs /mnt && cp -a /etc /mnt && mount --bind /mnt/etc /etc && rm -rf /etc/lockstep &&
   exec /usr/bin/python3 -B "$@" /mnt' run "$here/$1" "$(realpath "$2")" "$(realpath "$3")"
