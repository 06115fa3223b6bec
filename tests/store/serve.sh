#!/usr/bin/env bash
# serve.sh LOCKSTEP: the disk of a running `lockstep serve` is full or read-only; it is started on such a disk; its journal is
# damaged. serve.py says what must hold; its one device is this machine, in namespaces of its own.
set -euo pipefail
. "$(dirname "$0")/../needs.sh"
. "$(dirname "$0")/../expect.sh"
command -v mke2fs >/dev/null || not_tested_but_on_ci "mke2fs(8) makes a disk that becomes read-only"
own_machine gpu1 "mounts file systems of a few MiB" "$0" "$@"
here=$(dirname "$(realpath "$0")")
ip link set lo up
one_host specs gpu1 "net.ipv4.tcp_fin_timeout: 30"
cat >>"$work/specs/host.yaml" <<YAML
---
apiVersion: lockstep.dev/v1alpha1
kind: Cluster
metadata: {name: lab}
spec: {mode: converge}
---
apiVersion: lockstep.dev/v1alpha1
kind: RolloutPolicy
metadata: {name: at-once}
spec: {selector: {}}
YAML
"$lockstep" lock "$work/specs" >/dev/null
mkdir "$work/disk" "$work/cache"
export LOCKSTEP_STATE_DIR=$work/disk/state STATE_DIRECTORY=$work/disk/service CACHE_DIRECTORY=$work/cache
code=0
PYTHONPATH=$here/.. python3 -B "$here/serve.py" "$lockstep" "$work" || code=$?
[ $code != 3 ] || not_tested "a disk that becomes read-only beneath a service: ext4 on a loop device, and its sysfs, are missing"
exit $code
