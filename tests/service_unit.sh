#!/usr/bin/env bash
# service_unit.sh SOURCE LOCKSTEP: the units of `lockstep serve` are such that systemd accepts, and closed enough; so is the catalog of
# its events; what the service says of a configuration that it can't use.
set -euo pipefail
. "$(dirname "$0")/needs.sh"
. "$(dirname "$0")/expect.sh"
source=$1 lockstep=$2
command -v systemd-analyze >/dev/null || not_tested_but_on_ci "systemd-analyze(1) judges the unit"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unit=lockstep.service

# 1.3 of 10 (systemd 252): no capability, no device, no other user's files.
expect 0 "$unit" systemd-analyze security --offline=true --threshold=15 --no-pager "$source/packaging/$unit"
sed "s#/usr/bin/lockstep#$lockstep#; s#^Documentation=.*##" "$source/packaging/$unit" >"$work/$unit"
sed "s#^Documentation=.*##" "$source/packaging/lockstep.socket" >"$work/lockstep.socket"
said=$(systemd-analyze verify --man=no "$work/$unit" "$work/lockstep.socket" 2>&1 | grep -F lockstep || true)
[ -z "$said" ] || fail "systemd-analyze verify: $said"
mkdir -p "$work/usr/lib/systemd/catalog" "$work/var/lib/systemd/catalog"
cp "$source/packaging/lockstep.catalog" "$work/usr/lib/systemd/catalog/"
expect 0 "" journalctl --root="$work" --update-catalog
expect 0 "lockstep: The gate refused a change" journalctl --root="$work" --list-catalog

export LOCKSTEP_STATE_DIR=$work/state
config() {
  printf 'apiVersion: lockstep.dev/v1alpha1\nkind: ServiceConfig\nspec:\n%s\n' "$1" >"$work/serve.yaml"
}
serve() { timeout 20 "$lockstep" serve --config "$work/serve.yaml" "$@"; }
config '  git: {repository: /srv/specs.git, branchh: main}'
expect 1 "serve.yaml:4:37: error LS1002" serve
config '  git: {repository: /srv/specs.git, branch: main, tag: v1}'
expect 1 "serve.yaml:4:56: error LS1010" serve
config '  interval: 60s'
expect 1 "write git or folder" serve
config '  folder: specs
  git: {repository: /srv/specs.git}'
expect 1 "write one of them" serve
config '  git: {repository: "ftp://example.org/specs.git"}'
expect 1 "address is of a kind that is not supported" serve
# The folder of a socket is not changed for it: it may be /tmp.
mkdir -m 755 "$work/open" "$work/specs"
config '  folder: specs'
expect 1 "others may enter it" serve --listen "unix:$work/open/api.sock"
[ "$(stat -c %a "$work/open")" = 755 ] || fail "the mode of the socket's folder is $(stat -c %a "$work/open") now"
rm "$work/serve.yaml"
expect 1 "no such file" serve
failed_none
