# Sourced by tests that are scripts: what a command must end with and say. The script's last line is `failed_none`.

failures=0
fail() {
  echo "FAILED: $*" >&2
  failures=$((failures + 1))
}
# expect CODE TEXT COMMAND...: the exit code, and a text that the output has.
expect() {
  local code=0 out
  out=$("${@:3}" 2>&1 </dev/null) || code=$?
  [ "$code" = "$1" ] || fail "${*:3}: exit code $code, not $1: $out"
  case $out in *"$2"*) ;; *) fail "${*:3}: no '$2' in: $out" ;; esac
}
failed_none() { [ "$failures" -eq 0 ] || { echo "$failures failures"; exit 1; }; }
