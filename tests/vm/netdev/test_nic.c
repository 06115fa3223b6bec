// SPDX-License-Identifier: GPL-2.0
/*
 * test_nic: a network device that takes over dcbnl and ethtool what a RoCE NIC takes, and tells what it was
 * told. `ip link add NAME type test_nic`; of two made one after the other each is the other's peer, so that
 * what one sends the other receives. It counts frames by priority and enforces nothing: no frame is ever
 * paused.
 *
 * The rules by which it refuses are the module parameter `personality` at the time the device is made:
 *   plain   takes everything that fits
 *   mlx5    global pause and PFC exclude each other (EBUSY); buffer sizes are cut to cells of 128 bytes
 *           (mlx5/core/en/port_buffer.h: MLX5E_BUFFER_CELL_SHIFT); DCBX is the host's with IEEE, or by mode 0
 *           the firmware's, which then reads as CEE and IEEE without host (mlx5/core/en_dcbnl.c)
 *   strict  has one lossless priority (EINVAL)
 * Kernel code and therefore under the kernel's licence, unlike the rest of this repository.
 */
#include <linux/dcbnl.h>
#include <linux/etherdevice.h>
#include <linux/ethtool.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <net/dcbnl.h>
#include <net/rtnetlink.h>

#define PRIORITIES IEEE_8021QAZ_MAX_TCS
#define CELL 128
#define TOTAL_BUFFER (1 << 20)
#define DEFAULT_BUFFER (1 << 18)

static char *personality = "plain";
module_param(personality, charp, 0644);
MODULE_PARM_DESC(personality, "plain, mlx5 or strict: the rules of devices made from now on");

enum rules { PLAIN, MLX5, STRICT };

struct nic {
	struct net_device __rcu *peer;
	enum rules rules;
	u8 dcbx;
	struct ieee_ets ets;
	struct ieee_pfc pfc;
	struct ieee_maxrate maxrate;
	struct dcbnl_buffer buffer;
	bool rx_pause, tx_pause;
	atomic64_t tx_frames[PRIORITIES], rx_frames[PRIORITIES];
};

static struct net_device *without_peer; /* the one that the next one made is joined to; under RTNL */

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
};

static int nic_get_ets(struct net_device *dev, struct ieee_ets *ets)
{
	struct nic *nic = netdev_priv(dev);

	*ets = nic->ets;
	return 0;
}

static int nic_set_ets(struct net_device *dev, struct ieee_ets *ets)
{
	struct nic *nic = netdev_priv(dev);
	unsigned int sum = 0;
	bool shared = false;
	int i;

	for (i = 0; i < PRIORITIES; i++) {
		if (ets->prio_tc[i] >= PRIORITIES)
			return -EINVAL;
		if (ets->tc_tsa[i] == IEEE_8021QAZ_TSA_ETS) {
			shared = true;
			sum += ets->tc_tx_bw[i];
		} else if (ets->tc_tsa[i] != IEEE_8021QAZ_TSA_STRICT) {
			return -EOPNOTSUPP;
		}
	}
	if (shared && sum != 100)
		return -EINVAL;
	nic->ets = *ets;
	nic->ets.ets_cap = PRIORITIES;
	return 0;
}

static int nic_get_pfc(struct net_device *dev, struct ieee_pfc *pfc)
{
	struct nic *nic = netdev_priv(dev);

	*pfc = nic->pfc;
	return 0;
}

static int nic_set_pfc(struct net_device *dev, struct ieee_pfc *pfc)
{
	struct nic *nic = netdev_priv(dev);

	if (nic->rules == MLX5 && pfc->pfc_en && (nic->rx_pause || nic->tx_pause))
		return -EBUSY;
	if (nic->rules == STRICT && hweight8(pfc->pfc_en) > 1)
		return -EINVAL;
	nic->pfc.pfc_en = pfc->pfc_en;
	nic->pfc.mbc = pfc->mbc;
	nic->pfc.delay = pfc->delay;
	return 0;
}

static int nic_get_maxrate(struct net_device *dev, struct ieee_maxrate *maxrate)
{
	struct nic *nic = netdev_priv(dev);

	*maxrate = nic->maxrate;
	return 0;
}

static int nic_set_maxrate(struct net_device *dev, struct ieee_maxrate *maxrate)
{
	struct nic *nic = netdev_priv(dev);

	nic->maxrate = *maxrate;
	return 0;
}

static int nic_get_buffer(struct net_device *dev, struct dcbnl_buffer *buffer)
{
	struct nic *nic = netdev_priv(dev);

	*buffer = nic->buffer;
	return 0;
}

static int nic_set_buffer(struct net_device *dev, struct dcbnl_buffer *buffer)
{
	struct nic *nic = netdev_priv(dev);
	u64 sum = 0;
	int i;

	for (i = 0; i < DCBX_MAX_BUFFERS; i++)
		sum += buffer->buffer_size[i];
	for (i = 0; i < PRIORITIES; i++)
		if (buffer->prio2buffer[i] >= DCBX_MAX_BUFFERS)
			return -EINVAL;
	if (sum > TOTAL_BUFFER)
		return -EINVAL;
	nic->buffer = *buffer;
	nic->buffer.total_size = TOTAL_BUFFER;
	for (i = 0; nic->rules == MLX5 && i < DCBX_MAX_BUFFERS; i++)
		nic->buffer.buffer_size[i] -= nic->buffer.buffer_size[i] % CELL;
	return 0;
}

static u8 nic_get_dcbx(struct net_device *dev)
{
	struct nic *nic = netdev_priv(dev);

	return nic->dcbx;
}

/* Not 0 is a refusal (net/dcb/dcbnl.c). */
static u8 nic_set_dcbx(struct net_device *dev, u8 mode)
{
	struct nic *nic = netdev_priv(dev);

	if (nic->rules == MLX5 && mode == 0)
		mode = DCB_CAP_DCBX_VER_CEE | DCB_CAP_DCBX_VER_IEEE;
	else if (nic->rules == MLX5 && mode != (DCB_CAP_DCBX_HOST | DCB_CAP_DCBX_VER_IEEE))
		return 1;
	nic->dcbx = mode;
	return 0;
}

/* The app table is the kernel's own (net/dcb/dcbnl.c). */
static const struct dcbnl_rtnl_ops nic_dcb = {
	.ieee_getets = nic_get_ets,
	.ieee_setets = nic_set_ets,
	.ieee_getpfc = nic_get_pfc,
	.ieee_setpfc = nic_set_pfc,
	.ieee_getmaxrate = nic_get_maxrate,
	.ieee_setmaxrate = nic_set_maxrate,
	.dcbnl_getbuffer = nic_get_buffer,
	.dcbnl_setbuffer = nic_set_buffer,
	.getdcbx = nic_get_dcbx,
	.setdcbx = nic_set_dcbx,
};

static void nic_get_pause(struct net_device *dev, struct ethtool_pauseparam *pause)
{
	struct nic *nic = netdev_priv(dev);

	pause->rx_pause = nic->rx_pause;
	pause->tx_pause = nic->tx_pause;
}

static int nic_set_pause(struct net_device *dev, struct ethtool_pauseparam *pause)
{
	struct nic *nic = netdev_priv(dev);

	if (nic->rules == MLX5 && nic->pfc.pfc_en && (pause->rx_pause || pause->tx_pause))
		return -EBUSY;
	nic->rx_pause = pause->rx_pause;
	nic->tx_pause = pause->tx_pause;
	return 0;
}

static int nic_count_of(struct net_device *dev, int set)
{
	return set == ETH_SS_STATS ? 2 * PRIORITIES : -EOPNOTSUPP;
}

static void nic_names(struct net_device *dev, u32 set, u8 *names)
{
	int i;

	for (i = 0; i < PRIORITIES; i++)
		ethtool_sprintf(&names, "rx_prio%d_packets", i);
	for (i = 0; i < PRIORITIES; i++)
		ethtool_sprintf(&names, "tx_prio%d_packets", i);
}

static void nic_counters(struct net_device *dev, struct ethtool_stats *stats, u64 *values)
{
	struct nic *nic = netdev_priv(dev);
	int i;

	for (i = 0; i < PRIORITIES; i++) {
		values[i] = atomic64_read(&nic->rx_frames[i]);
		values[PRIORITIES + i] = atomic64_read(&nic->tx_frames[i]);
	}
}

static const struct ethtool_ops nic_ethtool = {
	.get_link = ethtool_op_get_link,
	.get_pauseparam = nic_get_pause,
	.set_pauseparam = nic_set_pause,
	.get_sset_count = nic_count_of,
	.get_strings = nic_names,
	.get_ethtool_stats = nic_counters,
};

static void nic_setup(struct net_device *dev)
{
	struct nic *nic = netdev_priv(dev);
	int i;

	ether_setup(dev);
	dev->netdev_ops = &nic_ops;
	dev->dcbnl_ops = &nic_dcb;
	dev->ethtool_ops = &nic_ethtool;
	dev->needs_free_netdev = true;
	dev->hw_features = NETIF_F_SG | NETIF_F_HW_CSUM | NETIF_F_ALL_TSO; /* nothing is put on a wire */
	dev->features |= dev->hw_features;
	dev->min_mtu = ETH_MIN_MTU;
	dev->max_mtu = 9978; /* mlx5's */
	eth_hw_addr_random(dev);
	nic->dcbx = DCB_CAP_DCBX_HOST | DCB_CAP_DCBX_VER_IEEE;
	nic->ets.ets_cap = PRIORITIES;
	nic->pfc.pfc_cap = PRIORITIES;
	nic->buffer.total_size = TOTAL_BUFFER;
	nic->buffer.buffer_size[0] = DEFAULT_BUFFER;
	for (i = 0; i < PRIORITIES; i++) {
		nic->ets.prio_tc[i] = i;
		nic->ets.tc_tsa[i] = IEEE_8021QAZ_TSA_STRICT;
	}
}

static int nic_newlink(struct net *from, struct net_device *dev, struct nlattr *attributes[],
		       struct nlattr *data[], struct netlink_ext_ack *extack)
{
	static const char *const names[] = { [PLAIN] = "plain", [MLX5] = "mlx5", [STRICT] = "strict" };
	struct nic *nic = netdev_priv(dev);
	int rules, err;

	kernel_param_lock(THIS_MODULE); /* against a write to personality */
	rules = sysfs_match_string(names, personality);
	kernel_param_unlock(THIS_MODULE);
	if (rules < 0) {
		NL_SET_ERR_MSG(extack, "the module's parameter personality is not plain, mlx5 or strict");
		return rules;
	}
	nic->rules = rules;
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
	return rtnl_link_register(&nic_link);
}

static void __exit nic_exit(void)
{
	rtnl_link_unregister(&nic_link);
}

module_init(nic_init);
module_exit(nic_exit);
MODULE_ALIAS_RTNL_LINK("test_nic");
MODULE_DESCRIPTION("A network device with the DCB and pause settings of a RoCE NIC, for tests");
MODULE_LICENSE("GPL");
