#!/usr/bin/env bash
# service_systemd.sh LOCKSTEP: `lockstep serve` as systemd starts it, without systemd (tests/vm/systemd has a real one):
# service_systemd.py plays its journal, its notifications and its sockets.
set -euo pipefail
. "$(dirname "$0")/needs.sh"
. "$(dirname "$0")/expect.sh"
own_machine gpu1 "it takes the journal's place" "$0" "$@"
source=$(dirname "$(realpath "$0")")
ip link set lo up
mount -t tmpfs none /run
mkdir -p /run/systemd/journal
one_host specs gpu1 "net.ipv4.tcp_fin_timeout: 30"
"$lockstep" lock "$work/specs" >/dev/null
exec python3 -B "$source/service_systemd.py" "$lockstep" "$work" "$source/../packaging/lockstep.catalog"
