# Sourced by shell tests: checks the exit code and output of commands. The script must end with `failed_none`.

failures=0
fail() {
  echo "FAILED: $*" >&2
  failures=$((failures + 1))
}
# expect CODE TEXT COMMAND...: COMMAND must exit with CODE, and its output must contain TEXT.
expect() {
  local code=0 out
  out=$("${@:3}" 2>&1 </dev/null) || code=$?
  [ "$code" = "$1" ] || fail "${*:3}: exit code $code, not $1: $out"
  case $out in *"$2"*) ;; *) fail "${*:3}: no '$2' in: $out" ;; esac
}
failed_none() { [ "$failures" -eq 0 ] || { echo "$failures failures"; exit 1; }; }

# own_machine HOSTNAME WHY "$0" "$@": runs the script again as root in its own mount, network and UTS namespaces, with a
# copy of /etc and its own state. Sets lockstep, and work, a folder that is removed at the end. WHY: why it needs root.
own_machine() {
  local name=$1 why=$2 script=$3 status=0
  lockstep=$(realpath "$4")
  [ "$(id -u)" -eq 0 ] || not_tested_but_on_ci "$why"
  if [ "${5:-}" != inside ]; then
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    unshare --mount --net --uts "$(realpath "$script")" "$lockstep" inside "$work" || status=$?
    exit $status
  fi
  work=$6
  cp -a /etc "$work/etc"
  mount --bind "$work/etc" /etc
  rm -rf /etc/lockstep
  hostname "$name"
  export LOCKSTEP_STATE_DIR=$work/state LOCKSTEP_RUN_DIR=$work/run
}

# one_host FOLDER DEVICE SYSCTLS: writes specs to $work/FOLDER: this machine alone, named DEVICE, with these sysctls.
one_host() {
  mkdir -p "$work/$1"
  cat >"$work/$1/host.yaml" <<YAML
apiVersion: lockstep.dev/v1alpha1
kind: DeviceSet
metadata: {name: me, labels: {pool: lab}}
spec: {names: $2, role: host, drivers: [linux], connect: {local: true}}
---
apiVersion: lockstep.dev/v1alpha1
kind: HostProfile
metadata: {name: profile}
spec:
  selector: {matchLabels: {pool: lab}}
  sysctl: {$3}
YAML
}
