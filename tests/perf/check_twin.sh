#!/usr/bin/env bash
# A full check of rail-pod's twin by `lockstep drift --twin`, against the same reads of the same namespaces by
# (a) the usual commands and (b) `ansible-playbook --check`, interleaved, so that other load on the machine
# affects all three: check_twin.sh [ROUNDS]
#
# Both others only read and do not compare, so they do less: one command (one task) per kind of read and
# namespace, with all ports in one shell loop; no BGP or BFD state, no LLDP, no offloads. Ansible: no facts,
# local connection, 8 forks.
. "$(dirname "$0")/twin_of_perf.sh"
rounds=${1:-5}
command -v ansible-playbook >/dev/null || not_tested "beside ansible-playbook, which is not installed (Debian: ansible-core)"
copy_example rail-pod
bring_up
echo "twin up in $up_seconds s, converged in $apply_seconds s more"

sysctls='net.ipv4.ip_forward net.ipv6.conf.all.forwarding net.ipv4.fib_multipath_hash_policy
  net.ipv6.fib_multipath_hash_policy net.ipv4.conf.all.ignore_routes_with_linkdown net.ipv4.tcp_mtu_probing
  net.ipv4.tcp_slow_start_after_idle'
of_port='net.ipv4.conf.$p.arp_announce net.ipv4.conf.$p.arp_ignore net.ipv4.conf.$p.rp_filter
  net.ipv6.conf.$p.disable_ipv6 net.ipv6.conf.$p.addr_gen_mode'

# One line per read: NAMESPACE<tab>COMMAND.
reads=$work/reads
for space in $(ls /run/netns | grep "^$prefix-"); do
  device=${space#"$prefix"-}
  ports=$(ip -n "$space" -br link | awk '$1 != "lo" {sub(/@.*/, "", $1); print $1}' | xargs)
  {
    for what in 'addr' 'link' '-4 route show table all' '-6 route show table all' '-4 rule' '-6 rule' nexthop; do
      echo "ip -j $what"
    done
    echo 'tc -j qdisc'
    echo "sh -c 'for p in $ports; do tc -j class show dev \$p; done'"
    echo "sh -c 'for p in $ports; do tc -j filter show dev \$p; done'"
    echo "sh -c 'sysctl" $sysctls "\$(for p in $ports; do echo" $of_port "; done)'"
    case $device in
      leaf* | spine*) echo "vtysh --vty_socket /run/lockstep/twin/${prefix#ls-}/$device -c 'show running-config'" ;;
    esac
  } | sed "s|^|$space\t|"
done >"$reads"

by_commands() {
  while IFS=$'\t' read -r space command; do
    eval "ip netns exec $space $command" >/dev/null
  done <"$reads"
}

# An inventory of the namespaces, each with its numbered commands. A task runs the command of its number in
# all of them.
python3 - "$reads" "$work" <<'PYTHON'
import json, sys
reads, work = sys.argv[1:]
spaces = {}
for line in open(reads):
    space, command = line.rstrip("\n").split("\t")
    spaces.setdefault(space, []).append(f"ip netns exec {space} {command}")
most = max(len(commands) for commands in spaces.values())
hosts = {space: {"ansible_connection": "local", "ansible_python_interpreter": sys.executable, "reads": commands}
         for space, commands in spaces.items()}
json.dump({"all": {"hosts": hosts}}, open(f"{work}/inventory.json", "w"))
tasks = [{"name": f"read {i}", "command": "{{ reads[%d] }}" % i, "check_mode": False, "changed_when": False,
          "when": f"reads | length > {i}"} for i in range(most)]
json.dump([{"hosts": "all", "gather_facts": False, "tasks": tasks}], open(f"{work}/playbook.json", "w"))
PYTHON
by_ansible() {
  ANSIBLE_LOCALHOST_WARNING=False ansible-playbook --check --forks 8 -i "$work/inventory.json" "$work/playbook.json" \
    >"$work/ansible.log" 2>&1 || { tail -20 "$work/ansible.log" >&2; return 1; }
}
by_lockstep() { "$lockstep" drift --twin "$specs" >"$work/drift.log" || { cat "$work/drift.log" >&2; return 1; }; }

timed() {
  local begin
  begin=$(seconds)
  "by_$1"
  awk "BEGIN {printf \"%.1f\n\", ($(seconds) - $begin) * 1000}" >>"$work/$1.ms"
}
for _ in $(seq "$rounds"); do
  for who in lockstep commands ansible lockstep; do timed "$who"; done
done
echo "$(wc -l <"$reads") reads in $(cut -f1 "$reads" | sort -u | wc -l) namespaces; $(tail -1 "$work/drift.log")"
grep -c 'ok=' "$work/ansible.log" | sed 's/$/ namespaces read by ansible/'
own=$(median "$work/lockstep.ms")
for who in lockstep commands ansible; do
  awk -v who="$who" -v m="$(median "$work/$who.ms")" -v least="$(smallest "$work/$who.ms")" -v own="$own" \
    'BEGIN {printf "%-9s median %9.1f ms   least %9.1f ms   %7.1f times lockstep\n", who, m, least, m / own}'
done
