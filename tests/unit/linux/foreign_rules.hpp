// Packet filters as Docker, Kubernetes with Calico, and firewalld write them.
#pragma once

namespace lockstep {

// Rules from the templates in the sources of these programs, reduced to one service, pod or zone each.
inline constexpr const char* kDocker = R"(*filter
:INPUT ACCEPT [0:0]
:FORWARD DROP [0:0]
:DOCKER - [0:0]
:DOCKER-ISOLATION-STAGE-1 - [0:0]
:DOCKER-ISOLATION-STAGE-2 - [0:0]
:DOCKER-USER - [0:0]
-A FORWARD -j DOCKER-USER
-A FORWARD -j DOCKER-ISOLATION-STAGE-1
-A FORWARD -o docker0 -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
-A FORWARD -o docker0 -j DOCKER
-A FORWARD -i docker0 ! -o docker0 -j ACCEPT
-A DOCKER -d 172.17.0.2/32 ! -i docker0 -o docker0 -p tcp -m tcp --dport 80 -j ACCEPT
-A DOCKER-ISOLATION-STAGE-1 -i docker0 ! -o docker0 -j DOCKER-ISOLATION-STAGE-2
-A DOCKER-ISOLATION-STAGE-1 -j RETURN
-A DOCKER-ISOLATION-STAGE-2 -o docker0 -j DROP
-A DOCKER-USER -j RETURN
COMMIT
*raw
-A PREROUTING -d 172.17.0.2/32 ! -i docker0 -j DROP
COMMIT
*nat
:DOCKER - [0:0]
-A PREROUTING -m addrtype --dst-type LOCAL -j DOCKER
-A OUTPUT ! -d 127.0.0.0/8 -m addrtype --dst-type LOCAL -j DOCKER
-A POSTROUTING -s 172.17.0.0/16 ! -o docker0 -j MASQUERADE
-A DOCKER -i docker0 -j RETURN
-A DOCKER ! -i docker0 -p tcp -m tcp --dport 8080 -j DNAT --to-destination 172.17.0.2:80
COMMIT
)";
inline constexpr const char* kKubernetes = R"(*filter
:KUBE-FIREWALL - [0:0]
:KUBE-FORWARD - [0:0]
:KUBE-NODEPORTS - [0:0]
:KUBE-SERVICES - [0:0]
:cali-INPUT - [0:0]
:cali-FORWARD - [0:0]
:cali-from-wl-dispatch - [0:0]
-A INPUT -j cali-INPUT
-A INPUT -m comment --comment "health checks" -j KUBE-NODEPORTS
-A INPUT -j KUBE-FIREWALL
-A FORWARD -j cali-FORWARD
-A FORWARD -m comment --comment "forwarding rules" -j KUBE-FORWARD
-A OUTPUT -j KUBE-FIREWALL
-A KUBE-FIREWALL ! -s 127.0.0.0/8 -d 127.0.0.0/8 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP
-A KUBE-FIREWALL -m mark --mark 0x8000/0x8000 -j DROP
-A KUBE-FORWARD -m conntrack --ctstate INVALID -j DROP
-A KUBE-FORWARD -m mark --mark 0x4000/0x4000 -j ACCEPT
-A KUBE-SERVICES -d 10.96.0.10/32 -p tcp -m tcp --dport 53 -j REJECT --reject-with icmp-port-unreachable
-A cali-INPUT -p udp -m udp --dport 4789 -m addrtype --dst-type LOCAL -j DROP
-A cali-FORWARD -i cali+ -j cali-from-wl-dispatch
-A cali-FORWARD -m mark --mark 0x10000/0x10000 -j ACCEPT
-A cali-from-wl-dispatch -m comment --comment "Unknown interface" -j DROP
COMMIT
*nat
:KUBE-MARK-MASQ - [0:0]
:KUBE-NODEPORTS - [0:0]
:KUBE-POSTROUTING - [0:0]
:KUBE-SERVICES - [0:0]
:KUBE-SEP-A - [0:0]
:KUBE-SVC-A - [0:0]
-A PREROUTING -j KUBE-SERVICES
-A OUTPUT -j KUBE-SERVICES
-A POSTROUTING -j KUBE-POSTROUTING
-A KUBE-MARK-MASQ -j MARK --set-xmark 0x4000/0x4000
-A KUBE-NODEPORTS -p tcp -m tcp --dport 30080 -j KUBE-SVC-A
-A KUBE-POSTROUTING -m mark ! --mark 0x4000/0x4000 -j RETURN
-A KUBE-POSTROUTING -j MARK --set-xmark 0x4000/0x0
-A KUBE-POSTROUTING -j MASQUERADE --random-fully
-A KUBE-SERVICES -d 10.96.0.1/32 -p tcp -m tcp --dport 443 -j KUBE-SVC-A
-A KUBE-SERVICES -m addrtype --dst-type LOCAL -j KUBE-NODEPORTS
-A KUBE-SVC-A ! -s 10.244.0.0/16 -j KUBE-MARK-MASQ
-A KUBE-SVC-A -m statistic --mode random --probability 0.5 -j KUBE-SEP-A
-A KUBE-SEP-A -p tcp -m tcp -j DNAT --to-destination 10.244.1.7:6443
COMMIT
)";
inline constexpr const char* kFirewalld = R"(table inet firewalld {
  chain filter_PREROUTING {
    type filter hook prerouting priority 10;
    icmpv6 type { nd-router-advert, nd-neighbor-solicit } accept
    meta nfproto ipv6 fib saddr . mark . iif oif missing drop
  }
  chain filter_INPUT {
    type filter hook input priority 10;
    ct state { established, related } accept
    ct status dnat accept
    iifname "lo" accept
    ct state { invalid } drop
    jump filter_INPUT_ZONES
    reject with icmpx type admin-prohibited
  }
  chain filter_FORWARD {
    type filter hook forward priority 10;
    ct state { established, related } accept
    ct status dnat accept
    iifname "lo" accept
    ct state { invalid } drop
    jump filter_FORWARD_ZONES
    reject with icmpx type admin-prohibited
  }
  chain filter_OUTPUT {
    type filter hook output priority 10;
    oifname "lo" accept
  }
  chain filter_INPUT_ZONES {
    iifname "eth0" goto filter_IN_public
    iifname "rail0" goto filter_IN_trusted
    iifname "up0" goto filter_IN_trusted
    goto filter_IN_public
  }
  chain filter_FORWARD_ZONES {
    iifname "rail0" goto filter_IN_trusted
    iifname "up0" goto filter_IN_trusted
    goto filter_IN_public
  }
  chain filter_IN_trusted {
    jump filter_IN_trusted_allow
    accept
  }
  chain filter_IN_trusted_allow {
  }
  chain filter_IN_public {
    tcp dport 22 ct state { new, untracked } accept
    meta l4proto { icmp, ipv6-icmp } accept
  }
}
)";

}  // namespace lockstep
