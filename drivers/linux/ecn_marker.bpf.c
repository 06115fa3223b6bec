// Marks ECT packets CE (RFC 3168) while the port's own queue is longer than a threshold: like RED with equal
// thresholds and probability 1 (as DCTCP needs it, RFC 8257), for kernels without RED. Runs as a clsact
// egress filter, so before the packet is queued; reads the root qdisc of the first transmit queue, which
// covers the whole port if the root is TBF or HTB. Passes every packet on.
//
// bpf_helpers.h needs the types of linux/bpf.h before it.
// clang-format off
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>
// clang-format on

// Only the members that are read; libbpf finds their offsets in the running kernel's BTF (CO-RE).
#define KERNEL __attribute__((preserve_access_index))
struct gnet_stats_queue {
  unsigned int backlog;
} KERNEL;
struct Qdisc {
  struct gnet_stats_queue qstats;
} KERNEL;
struct netdev_queue {
  struct Qdisc* qdisc;
} KERNEL;
struct net_device {
  struct netdev_queue* _tx;
} KERNEL;
struct sk_buff {
  struct net_device* dev;
} KERNEL;

extern void* bpf_cast_to_kern_ctx(void*) __ksym;

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, unsigned int);
  __type(value, unsigned long long);
} threshold SEC(".maps");

SEC("tc")
int mark(struct __sk_buff* packet) {
  unsigned int first = 0;
  unsigned long long* limit = bpf_map_lookup_elem(&threshold, &first);
  struct sk_buff* inside = bpf_cast_to_kern_ctx(packet);
  if (limit && inside->dev->_tx->qdisc->qstats.backlog > *limit) bpf_skb_ecn_set_ce(packet);
  return TC_ACT_UNSPEC;
}

char program_license[] SEC("license") = "GPL";
