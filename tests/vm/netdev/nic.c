// SPDX-License-Identifier: GPL-2.0
/*
 * test_nic: a network device that accepts over dcbnl and ethtool what a RoCE NIC accepts, and reports what
 * was set. `ip link add NAME type test_nic`; two devices created one after the other are peers: what one
 * sends the other receives. It counts frames by priority and enforces nothing: no frame is ever paused, and
 * no link is faster than another. The ethtool settings are in nic_ethtool.c.
 *
 * The module parameter `personality` at the time of creation selects the rules by which it refuses settings:
 *   plain   accepts everything that fits
 *   mlx5    (mlx5/core/en_dcbnl.c, en/port_buffer.h) global pause and PFC exclude each other (EBUSY);
 *           buffers are rounded down to cells of 128 bytes, rates to 100 Mbit/s, above 25.5 Gbit/s to
 *           1 Gbit/s; ETS starts with the vendor's algorithm and priorities 0 and 1 swapped, and its shares
 *           must add up to 100 %; a DSCP has one priority, the last one set; DCBX belongs to the host with
 *           IEEE, or with mode 0 to the firmware; (en_ethtool.c) rings are rounded up to powers of two.
 *           (torvalds/linux 06449e9fba1e, 84a83eba5c5a) The PFC delay is the length of the cable in metres,
 *           initially 7; 0 and 1000 and more are ignored silently. The firmware places lossless priorities
 *           until sizes are set; from then on a lossless buffer below xoff + MTU + cell is refused (ENOMEM),
 *           for PFC only after PFC is on
 *   bnxt    (bnxt/bnxt_dcb.c) no buffers, no rates; ETS starts with all priorities in class 0, and no share
 *           may be 0 when they add up to 100 %; one lossless priority; nothing while DCBX does not belong to
 *           the host (EINVAL); no LRO
 *   mlxsw   (mlxsw/spectrum_dcb.c, spectrum_buffers.c, spectrum_qdisc.c; amitcohen1/linux_mlxsw cd6c5dc0c90c)
 *           global pause and PFC exclude each other (EINVAL); a headroom of 2 * delay + MTU above two MTUs,
 *           in cells of 192 bytes, where the delay is in bits, and buffers by traffic class: DCB mode, in
 *           which sizes cannot be set (EINVAL). While an ets or prio qdisc is offloaded as the root, TC
 *           mode: all priorities in buffer 0 until sizes are set, none below two MTUs, and the delay has no
 *           effect. More than the port has is ENOBUFS. ETS by dcbnl starts with all priorities in strict
 *           class 0, and supports strict and shares that add up to 100 % (EINVAL); an unlimited rate is a
 *           number; no trust table; DCBX belongs to the host with IEEE
 * The driver names (ethtool -i) are test_nic, mlx5_core, bnxt_en, mlxsw_spectrum4.
 * Its module is a QSFP-DD (CMIS) as plain and mlxsw, a QSFP28 (SFF-8636) as mlx5 and an SFP28 (SFF-8472) as
 * bnxt.
 * `refuse`: what is refused from now on in addition: any of ets, app, maxrate, buffer, trust, link, fec,
 * rings, channels and coalescing (EINVAL), offload, after which qdiscs stay in software, and module, which
 * then cannot be read (EIO); and the name of a device, whose FEC then cannot be read (EIO).
 * `peer_willing`: a DCBX peer has announced its own ETS and PFC, and that it is willing.
 * Kernel code, and therefore under the licence of the kernel, unlike the rest of this repository.
 */
#include <linux/dcbnl.h>
#include <linux/etherdevice.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/version.h>
#include <net/dcbnl.h>
#include <net/rtnetlink.h>

#include "nic.h"

static char *personality = "plain";
module_param(personality, charp, 0644);
MODULE_PARM_DESC(personality, "plain, mlx5, bnxt or mlxsw: the rules of devices made from now on");
static char *refuse = "";
module_param(refuse, charp, 0644);
MODULE_PARM_DESC(refuse,
		 "words of ets, app, maxrate, buffer, trust, link, fec, rings, channels, coalescing, offload and module");
static bool peer_willing;
module_param(peer_willing, bool, 0644);
MODULE_PARM_DESC(peer_willing, "a DCBX peer announces its ETS and PFC and is willing");

#define RATE_CELL 100000 /* kbit/s */
#define RATE_CELL_ABOVE 1000000
#define RATE_CELLS_MAX 255
#define UNBOUNDED ((1U << 31) - 1) /* mlxsw: MLXSW_REG_QEEC_MAS_DIS */

static struct net_device *without_peer; /* the peer of the next new device; under RTNL */

static netdev_tx_t nic_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct nic *nic = netdev_priv(dev);
	u8 priority = skb->priority & (PRIORITIES - 1); /* dev_forward_skb() clears it */
	unsigned int length = skb->len;
	struct net_device *peer;

	rcu_read_lock();
	peer = rcu_dereference(nic->peer);
	if (!peer || dev_forward_skb(peer, skb) != NET_RX_SUCCESS) {
		if (!peer)
			kfree_skb(skb);
		dev->stats.tx_dropped++;
	} else {
		struct nic *there = netdev_priv(peer);

		atomic64_inc(&nic->tx_frames[priority]);
		atomic64_inc(&there->rx_frames[priority]);
		dev->stats.tx_packets++;
		dev->stats.tx_bytes += length;
		peer->stats.rx_packets++;
		peer->stats.rx_bytes += length;
	}
	rcu_read_unlock();
	return NETDEV_TX_OK;
}

static int nic_open(struct net_device *dev)
{
	struct nic *nic = netdev_priv(dev);
	struct net_device *peer = rtnl_dereference(nic->peer);

	netif_tx_start_all_queues(dev);
	if (peer && netif_running(peer)) {
		netif_carrier_on(dev);
		netif_carrier_on(peer);
	}
	return 0;
}

static int nic_stop(struct net_device *dev)
{
	struct nic *nic = netdev_priv(dev);
	struct net_device *peer = rtnl_dereference(nic->peer);

	netif_tx_stop_all_queues(dev);
	netif_carrier_off(dev);
	if (peer)
		netif_carrier_off(peer);
	return 0;
}

static void nic_uninit(struct net_device *dev)
{
	struct nic *nic = netdev_priv(dev);
	struct net_device *peer = rtnl_dereference(nic->peer);

	if (without_peer == dev)
		without_peer = NULL;
	RCU_INIT_POINTER(nic->peer, NULL);
	if (peer)
		RCU_INIT_POINTER(((struct nic *)netdev_priv(peer))->peer, NULL);
}

static const struct net_device_ops nic_ops = {
	.ndo_open = nic_open,
	.ndo_stop = nic_stop,
	.ndo_uninit = nic_uninit,
	.ndo_start_xmit = nic_xmit,
	.ndo_set_mac_address = eth_mac_addr,
	.ndo_validate_addr = eth_validate_addr,
	.ndo_fix_features = nic_fix_features,
	.ndo_setup_tc = nic_setup_tc,
};

bool nic_refuses(const char *what)
{
	bool found;

	kernel_param_lock(THIS_MODULE);
	found = strstr(refuse, what);
	kernel_param_unlock(THIS_MODULE);
	return found;
}

bool nic_is_hosts(const struct nic *nic)
{
	u8 wanted = DCB_CAP_DCBX_HOST | DCB_CAP_DCBX_VER_IEEE;

	return nic->rules != BNXT || (nic->dcbx & wanted) == wanted;
}

#define GET(name, type)                                                 \
	static int nic_get_##name(struct net_device *dev, struct type *out) \
	{                                                               \
		*out = ((struct nic *)netdev_priv(dev))->name;          \
		return 0;                                               \
	}
GET(ets, ieee_ets)
GET(maxrate, ieee_maxrate)

static int nic_set_ets(struct net_device *dev, struct ieee_ets *ets)
{
	struct nic *nic = netdev_priv(dev);
	bool shared = false, starved = false;
	unsigned int sum = 0;
	int i;

	if (nic_refuses("ets") || !nic_is_hosts(nic))
		return -EINVAL;
	for (i = 0; i < PRIORITIES; i++) {
		if (ets->prio_tc[i] >= PRIORITIES)
			return -EINVAL;
		if (ets->tc_tsa[i] == IEEE_8021QAZ_TSA_ETS) {
			shared = true;
			starved |= !ets->tc_tx_bw[i];
			sum += ets->tc_tx_bw[i];
		} else if (ets->tc_tsa[i] != IEEE_8021QAZ_TSA_STRICT &&
			   (nic->rules != MLX5 || ets->tc_tsa[i] != IEEE_8021QAZ_TSA_VENDOR)) {
			return nic->rules == MLXSW ? -EINVAL : -EOPNOTSUPP;
		}
	}
	if (shared && (nic->rules == BNXT ? sum > 100 : sum != 100))
		return -EINVAL;
	if (nic->rules == BNXT && sum == 100 && starved)
		return -EINVAL;
	nic->ets = *ets;
	nic->ets.ets_cap = PRIORITIES;
	return 0;
}

/* The priorities of the peer are ours reversed, so that the two can be distinguished. */
static int nic_peer_ets(struct net_device *dev, struct ieee_ets *ets)
{
	int i;

	if (!peer_willing)
		return -ENODATA;
	memset(ets, 0, sizeof(*ets));
	ets->willing = 1;
	ets->ets_cap = PRIORITIES;
	for (i = 0; i < PRIORITIES; i++)
		ets->prio_tc[i] = PRIORITIES - 1 - i;
	return 0;
}

static int nic_peer_pfc(struct net_device *dev, struct ieee_pfc *pfc)
{
	if (!peer_willing)
		return -ENODATA;
	memset(pfc, 0, sizeof(*pfc));
	pfc->pfc_cap = PRIORITIES;
	pfc->pfc_en = BIT(4);
	return 0;
}

static int nic_set_maxrate(struct net_device *dev, struct ieee_maxrate *maxrate)
{
	struct nic *nic = netdev_priv(dev);
	int i;

	if (nic_refuses("maxrate"))
		return -EINVAL;
	nic->maxrate = *maxrate;
	for (i = 0; nic->rules == MLX5 && i < PRIORITIES; i++) {
		u64 *rate = &nic->maxrate.tc_maxrate[i];
		u32 cell = *rate <= RATE_CELLS_MAX * RATE_CELL ? RATE_CELL : RATE_CELL_ABOVE;

		if (*rate)
			*rate = max_t(u64, div_u64(*rate, cell), 1) * cell;
	}
	return 0;
}

/* The kernel itself keeps the app table (net/dcb/dcbnl.c). */
static int nic_set_app(struct net_device *dev, struct dcb_app *app)
{
	struct nic *nic = netdev_priv(dev);
	int priority, err;

	if (nic_refuses("app") || !nic_is_hosts(nic))
		return -EINVAL;
	if (nic->rules == MLX5 && (app->selector != IEEE_8021QAZ_APP_SEL_DSCP || app->protocol >= 64))
		return -EINVAL;
	err = dcb_ieee_setapp(dev, app);
	for (priority = 0; !err && nic->rules == MLX5 && priority < PRIORITIES; priority++) {
		struct dcb_app old = *app;

		old.priority = priority;
		if (priority != app->priority)
			dcb_ieee_delapp(dev, &old);
	}
	return err;
}

static int nic_delete_app(struct net_device *dev, struct dcb_app *app)
{
	if (nic_refuses("app") || !nic_is_hosts(netdev_priv(dev)))
		return -EINVAL;
	return dcb_ieee_delapp(dev, app);
}

static u8 nic_get_dcbx(struct net_device *dev)
{
	struct nic *nic = netdev_priv(dev);

	return nic->dcbx;
}

/* A result other than 0 is a refusal (net/dcb/dcbnl.c). */
static u8 nic_set_dcbx(struct net_device *dev, u8 mode)
{
	struct nic *nic = netdev_priv(dev);

	if (nic->rules == MLX5 && mode == 0)
		mode = DCB_CAP_DCBX_VER_CEE | DCB_CAP_DCBX_VER_IEEE;
	else if (nic->rules == MLX5 && mode != (DCB_CAP_DCBX_HOST | DCB_CAP_DCBX_VER_IEEE))
		return 1;
	if (nic->rules == MLXSW && mode != (DCB_CAP_DCBX_HOST | DCB_CAP_DCBX_VER_IEEE))
		return 1;
	if (nic->rules == BNXT && ((mode & DCB_CAP_DCBX_VER_CEE) || !(mode & DCB_CAP_DCBX_VER_IEEE)))
		return 1;
	nic->dcbx = mode;
	return 0;
}

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
static int nic_get_trust(struct net_device *dev, u8 *selectors, int *count)
{
	struct nic *nic = netdev_priv(dev);

	memcpy(selectors, nic->trusted, nic->trusted_count);
	*count = nic->trusted_count;
	return 0;
}

static int nic_set_trust(struct net_device *dev, u8 *selectors, int count)
{
	struct nic *nic = netdev_priv(dev);

	if (nic_refuses("trust") || count > PRIORITIES)
		return -EINVAL;
	memcpy(nic->trusted, selectors, count);
	nic->trusted_count = count;
	return 0;
}
#define TRUST_OPS .dcbnl_getapptrust = nic_get_trust, .dcbnl_setapptrust = nic_set_trust
#else
#define TRUST_OPS
#endif

#define COMMON_OPS                                                             \
	.ieee_getets = nic_get_ets, .ieee_setets = nic_set_ets,                \
	.ieee_getpfc = nic_get_pfc, .ieee_setpfc = nic_set_pfc,                \
	.ieee_setapp = nic_set_app, .ieee_delapp = nic_delete_app,             \
	.ieee_peer_getets = nic_peer_ets, .ieee_peer_getpfc = nic_peer_pfc,    \
	.getdcbx = nic_get_dcbx, .setdcbx = nic_set_dcbx

static const struct dcbnl_rtnl_ops nic_dcb = {
	COMMON_OPS,
	.ieee_getmaxrate = nic_get_maxrate,
	.ieee_setmaxrate = nic_set_maxrate,
	.dcbnl_getbuffer = nic_get_buffer,
	.dcbnl_setbuffer = nic_set_buffer,
	TRUST_OPS
};

static const struct dcbnl_rtnl_ops nic_dcb_mlxsw = {
	COMMON_OPS,
	.ieee_getmaxrate = nic_get_maxrate,
	.ieee_setmaxrate = nic_set_maxrate,
	.dcbnl_getbuffer = nic_get_buffer,
	.dcbnl_setbuffer = nic_set_buffer,
};

static const struct dcbnl_rtnl_ops nic_dcb_bnxt = { COMMON_OPS };

static void nic_setup(struct net_device *dev)
{
	struct nic *nic = netdev_priv(dev);
	int i;

	ether_setup(dev);
	dev->netdev_ops = &nic_ops;
	dev->dcbnl_ops = &nic_dcb;
	dev->needs_free_netdev = true;
	dev->min_mtu = ETH_MIN_MTU;
	dev->max_mtu = 9978; /* mlx5's */
	eth_hw_addr_random(dev);
	nic_ethtool_setup(dev);
	nic->dcbx = DCB_CAP_DCBX_HOST | DCB_CAP_DCBX_VER_IEEE;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	nic->trusted[0] = DCB_APP_SEL_PCP;
	nic->trusted_count = 1;
#endif
	nic->ets.ets_cap = PRIORITIES;
	nic->pfc.pfc_cap = PRIORITIES;
	for (i = 0; i < PRIORITIES; i++) {
		nic->ets.prio_tc[i] = i;
		nic->ets.tc_tsa[i] = IEEE_8021QAZ_TSA_STRICT;
	}
}

static void nic_begin_as(struct net_device *dev, enum rules rules)
{
	struct nic *nic = netdev_priv(dev);
	int i;

	nic->rules = rules;
	nic_ethtool_begin_as(dev, rules);
	nic_headroom_begin_as(dev, rules);
	for (i = 0; rules == MLX5 && i < PRIORITIES; i++) {
		nic->ets.tc_tsa[i] = IEEE_8021QAZ_TSA_VENDOR;
		nic->ets.tc_tx_bw[i] = 100;
	}
	if (rules == MLX5) {
		nic->ets.prio_tc[0] = 1;
		nic->ets.prio_tc[1] = 0;
	}
	if (rules == MLXSW) {
		dev->dcbnl_ops = &nic_dcb_mlxsw;
		memset(nic->ets.prio_tc, 0, sizeof(nic->ets.prio_tc));
		for (i = 0; i < PRIORITIES; i++)
			nic->maxrate.tc_maxrate[i] = UNBOUNDED;
	}
	if (rules == BNXT) {
		dev->dcbnl_ops = &nic_dcb_bnxt;
		memset(nic->ets.prio_tc, 0, sizeof(nic->ets.prio_tc));
		nic->ets.tc_tsa[0] = IEEE_8021QAZ_TSA_ETS;
		nic->ets.tc_tx_bw[0] = 100;
	}
}

static int nic_newlink(struct net *from, struct net_device *dev, struct nlattr *attributes[],
		       struct nlattr *data[], struct netlink_ext_ack *extack)
{
	static const char *const names[] = {
		[PLAIN] = "plain", [MLX5] = "mlx5", [BNXT] = "bnxt", [MLXSW] = "mlxsw"
	};
	struct nic *nic = netdev_priv(dev);
	int rules, err;

	kernel_param_lock(THIS_MODULE); /* prevents writes to personality */
	rules = sysfs_match_string(names, personality);
	kernel_param_unlock(THIS_MODULE);
	if (rules < 0) {
		NL_SET_ERR_MSG(extack, "the module's parameter personality is not plain, mlx5, bnxt or mlxsw");
		return rules;
	}
	nic_begin_as(dev, rules);
	err = register_netdevice(dev);
	if (err)
		return err;
	netif_carrier_off(dev);
	if (!without_peer) {
		without_peer = dev;
		return 0;
	}
	rcu_assign_pointer(nic->peer, without_peer);
	rcu_assign_pointer(((struct nic *)netdev_priv(without_peer))->peer, dev);
	without_peer = NULL;
	return 0;
}

static unsigned int nic_queues(void)
{
	return PRIORITIES;
}

static struct rtnl_link_ops nic_link = {
	.kind = "test_nic",
	.priv_size = sizeof(struct nic),
	.setup = nic_setup,
	.newlink = nic_newlink,
	.dellink = unregister_netdevice_queue,
	.get_num_tx_queues = nic_queues,
	.get_num_rx_queues = nic_queues,
};

static int __init nic_init(void)
{
	int err = nic_buffers_init();

	if (err)
		return err;
	err = rtnl_link_register(&nic_link);
	if (err)
		nic_buffers_exit();
	return err;
}

static void __exit nic_exit(void)
{
	rtnl_link_unregister(&nic_link);
	nic_buffers_exit();
}

module_init(nic_init);
module_exit(nic_exit);
MODULE_ALIAS_RTNL_LINK("test_nic");
MODULE_DESCRIPTION("A network device with the DCB and ethtool settings of a RoCE NIC, for tests");
MODULE_LICENSE("GPL");
