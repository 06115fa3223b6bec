# Sourced by tests that are scripts: what becomes of one that can't run on this machine (tests/needs.hpp has the rule).
# CTest takes exit code 77 for skipped (SKIP_RETURN_CODE).

# not_tested WHY...: where this machine simply hasn't what it takes.
not_tested() {
  echo "not tested: $*"
  exit 77
}

# not_tested_but_on_ci WHY...: for want of root, or of what cmake/install-packages.sh installs.
not_tested_but_on_ci() {
  [ "${CI:-false}" = false ] || { echo "this must run on CI: $*"; exit 1; }
  not_tested "$@"
}

# A twin is live namespaces and daemons.
needs_twin() {
  [ "$(id -u)" -eq 0 ] || not_tested_but_on_ci "a twin needs root"
  [ -x /usr/lib/frr/bgpd ] && [ -x /usr/sbin/lldpd ] || not_tested_but_on_ci "a twin needs FRR and lldpd"
}
