# Sourced: finds Debian's prometheus, promtool and prometheus-alertmanager, without installing the packages, which would start
# services. They are unpacked into the folder CACHE once; PATH has them afterwards.

# needs_prometheus CACHE
needs_prometheus() {
  local cache=$1 apt
  if ! [ -x "$cache/root/usr/bin/prometheus-alertmanager" ]; then
    command -v dpkg >/dev/null && command -v apt-get >/dev/null || not_tested_but_on_ci "Prometheus comes from Debian's packages"
    rm -rf "$cache/new" && mkdir -p "$cache/new"
    apt=(apt-get -o "APT::Sandbox::User=$(id -un)")
    if ! (cd "$cache/new" && "${apt[@]}" download prometheus prometheus-alertmanager) >"$cache/apt.log" 2>&1; then
      cat "$cache/apt.log"
      not_tested_but_on_ci "Debian's packages prometheus and prometheus-alertmanager are out of reach"
    fi
    for package in "$cache"/new/*.deb; do dpkg -x "$package" "$cache/new/root"; done
    rm -rf "$cache/root" && mv "$cache/new/root" "$cache/root"
  fi
  PATH=$cache/root/usr/bin:$PATH
}
