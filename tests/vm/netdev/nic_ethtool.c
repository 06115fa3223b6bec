// SPDX-License-Identifier: GPL-2.0
/* What ethtool sets and shows of a test_nic (nic.c). It reports a speed with or without a link. */
#include <linux/ethtool.h>
#include <linux/linkmode.h>
#include <linux/log2.h>
#include <linux/netdevice.h>

#include "nic.h"

#define RING_MAX 8192
#define RING_DEFAULT 1024
#define SPEED_DEFAULT 400000

static const struct {
	u32 speed;
	enum ethtool_link_mode_bit_indices mode;
} speeds[] = {
	{ 25000, ETHTOOL_LINK_MODE_25000baseCR_Full_BIT },
	{ 50000, ETHTOOL_LINK_MODE_50000baseCR_Full_BIT },
	{ 100000, ETHTOOL_LINK_MODE_100000baseCR4_Full_BIT },
	{ 200000, ETHTOOL_LINK_MODE_200000baseCR4_Full_BIT },
	{ 400000, ETHTOOL_LINK_MODE_400000baseCR8_Full_BIT },
};

static void nic_get_driver(struct net_device *dev, struct ethtool_drvinfo *info)
{
	static const char *const names[] = {
		[PLAIN] = "test_nic",
		[MLX5] = "mlx5_core",
		[BNXT] = "bnxt_en",
		[MLXSW] = "mlxsw_spectrum4",
	};

	strscpy(info->driver, names[((struct nic *)netdev_priv(dev))->rules], sizeof(info->driver));
}

static int nic_get_link(struct net_device *dev, struct ethtool_link_ksettings *link)
{
	struct nic *nic = netdev_priv(dev);
	int i;

	ethtool_link_ksettings_zero_link_mode(link, supported);
	ethtool_link_ksettings_add_link_mode(link, supported, Autoneg);
	ethtool_link_ksettings_add_link_mode(link, supported, FEC_NONE);
	ethtool_link_ksettings_add_link_mode(link, supported, FEC_RS);
	ethtool_link_ksettings_add_link_mode(link, supported, FEC_BASER);
	for (i = 0; i < ARRAY_SIZE(speeds); i++)
		__set_bit(speeds[i].mode, link->link_modes.supported);
	linkmode_copy(link->link_modes.advertising, nic->advertised);
	link->base.autoneg = nic->autoneg;
	link->base.speed = nic->speed;
	link->base.duplex = DUPLEX_FULL;
	link->base.port = PORT_DA;
	return 0;
}

/* The link has the fastest advertised speed, or the one that was set. */
static int nic_set_link(struct net_device *dev, const struct ethtool_link_ksettings *link)
{
	struct nic *nic = netdev_priv(dev);
	u32 speed = 0;
	int i;

	if (nic_refuses("link"))
		return -EINVAL;
	for (i = 0; i < ARRAY_SIZE(speeds); i++)
		if (link->base.autoneg ? test_bit(speeds[i].mode, link->link_modes.advertising) :
					 link->base.speed == speeds[i].speed)
			speed = speeds[i].speed;
	if (!speed)
		return -EINVAL;
	nic->autoneg = link->base.autoneg;
	nic->speed = speed;
	linkmode_copy(nic->advertised, link->link_modes.advertising);
	return 0;
}

static int nic_get_fec(struct net_device *dev, struct ethtool_fecparam *fec)
{
	struct nic *nic = netdev_priv(dev);

	if (nic_refuses(dev->name))
		return -EIO;
	fec->fec = nic->fec;
	fec->active_fec = nic->fec == ETHTOOL_FEC_AUTO ? ETHTOOL_FEC_RS : nic->fec;
	return 0;
}

static int nic_set_fec(struct net_device *dev, struct ethtool_fecparam *fec)
{
	u32 known = ETHTOOL_FEC_AUTO | ETHTOOL_FEC_OFF | ETHTOOL_FEC_RS | ETHTOOL_FEC_BASER;

	if (nic_refuses("fec") || (fec->fec & ~known) || !is_power_of_2(fec->fec))
		return -EINVAL;
	((struct nic *)netdev_priv(dev))->fec = fec->fec;
	return 0;
}

static void nic_get_rings(struct net_device *dev, struct ethtool_ringparam *rings,
			  struct kernel_ethtool_ringparam *more, struct netlink_ext_ack *extack)
{
	struct nic *nic = netdev_priv(dev);

	rings->rx_max_pending = RING_MAX;
	rings->tx_max_pending = RING_MAX;
	rings->rx_pending = nic->rx_ring;
	rings->tx_pending = nic->tx_ring;
}

static int nic_set_rings(struct net_device *dev, struct ethtool_ringparam *rings,
			 struct kernel_ethtool_ringparam *more, struct netlink_ext_ack *extack)
{
	struct nic *nic = netdev_priv(dev);
	bool rounds = nic->rules == MLX5;

	if (nic_refuses("rings")) {
		NL_SET_ERR_MSG(extack, "no memory for rings on this function");
		return -EINVAL;
	}
	if (!rings->rx_pending || !rings->tx_pending)
		return -EINVAL;
	nic->rx_ring = rounds ? roundup_pow_of_two(rings->rx_pending) : rings->rx_pending;
	nic->tx_ring = rounds ? roundup_pow_of_two(rings->tx_pending) : rings->tx_pending;
	return 0;
}

static void nic_get_channels(struct net_device *dev, struct ethtool_channels *channels)
{
	channels->max_combined = PRIORITIES;
	channels->combined_count = ((struct nic *)netdev_priv(dev))->combined;
}

static int nic_set_channels(struct net_device *dev, struct ethtool_channels *channels)
{
	if (nic_refuses("channels"))
		return -EINVAL;
	((struct nic *)netdev_priv(dev))->combined = channels->combined_count;
	return 0;
}

static int nic_get_coalescing(struct net_device *dev, struct ethtool_coalesce *coalescing,
			      struct kernel_ethtool_coalesce *more, struct netlink_ext_ack *extack)
{
	*coalescing = ((struct nic *)netdev_priv(dev))->coalescing;
	return 0;
}

static int nic_set_coalescing(struct net_device *dev, struct ethtool_coalesce *coalescing,
			      struct kernel_ethtool_coalesce *more, struct netlink_ext_ack *extack)
{
	if (nic_refuses("coalescing"))
		return -EINVAL;
	((struct nic *)netdev_priv(dev))->coalescing = *coalescing;
	return 0;
}

static void nic_get_pause(struct net_device *dev, struct ethtool_pauseparam *pause)
{
	struct nic *nic = netdev_priv(dev);

	pause->rx_pause = nic->rx_pause;
	pause->tx_pause = nic->tx_pause;
}

static int nic_set_pause(struct net_device *dev, struct ethtool_pauseparam *pause)
{
	struct nic *nic = netdev_priv(dev);

	if (nic->pfc.pfc_en && (pause->rx_pause || pause->tx_pause)) {
		if (nic->rules == MLX5)
			return -EBUSY;
		if (nic->rules == MLXSW)
			return -EINVAL;
	}
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

/* Codes of SFF-8024 at the offsets of CMIS 5.0, SFF-8636 and SFF-8472: a passive copper cable of 2.5, 3 and
 * 1 m. Texts are padded with blanks, to 16 bytes each.
 */
static void nic_fill_module(enum rules rules, u8 *page)
{
	static const struct {
		u8 identifier;
		int vendor, part, serial;
		const char *part_text;
	} kinds[] = {
		[PLAIN] = { 0x18, 129, 148, 166, "TQ4N-2P5C       " },
		[MLX5] = { 0x11, 148, 168, 196, "TQ1N-3P0C       " },
		[BNXT] = { 0x03, 20, 40, 68, "TS2N-1P0C       " },
		[MLXSW] = { 0x18, 129, 148, 166, "TQ4N-2P5C       " },
	};
	u8 identifier = kinds[rules].identifier;

	memset(page, 0, ETH_MODULE_EEPROM_PAGE_LEN * 2);
	page[0] = identifier;
	if (rules != BNXT)
		page[128] = identifier;
	memcpy(page + kinds[rules].vendor, "Lockstep Cables ", 16);
	memcpy(page + kinds[rules].part, kinds[rules].part_text, 16);
	memcpy(page + kinds[rules].serial, "LC2411070042    ", 16);
	switch (rules) {
	case PLAIN:
	case MLXSW:
		memcpy(page + 164, "A1", 2);
		page[1] = 0x50; /* CMIS 5.0 */
		page[202] = 0x19; /* 25 x 0.1 m */
		page[203] = 0x23; /* no separable connector */
		page[212] = 0x0a; /* copper cable, unequalised */
		break;
	case MLX5:
		memcpy(page + 184, "B2", 2);
		page[130] = 0x23;
		page[146] = 3; /* m */
		page[147] = 0xa0; /* copper cable, unequalised */
		break;
	case BNXT:
		memcpy(page + 56, "C3  ", 4);
		page[2] = 0x21; /* copper pigtail */
		page[8] = 0x04; /* passive cable */
		page[18] = 1; /* m */
		break;
	}
}

static int nic_get_module(struct net_device *dev, const struct ethtool_module_eeprom *wanted,
			  struct netlink_ext_ack *extack)
{
	u8 page[ETH_MODULE_EEPROM_PAGE_LEN * 2];

	if (nic_refuses("module"))
		return -EIO;
	if (wanted->page || wanted->bank || wanted->i2c_address != 0x50)
		return -EINVAL;
	nic_fill_module(((struct nic *)netdev_priv(dev))->rules, page);
	memcpy(wanted->data, page + wanted->offset, wanted->length);
	return wanted->length;
}

static const struct ethtool_ops nic_ethtool = {
	.supported_coalesce_params = ETHTOOL_COALESCE_USECS | ETHTOOL_COALESCE_MAX_FRAMES |
				     ETHTOOL_COALESCE_USE_ADAPTIVE,
	.get_drvinfo = nic_get_driver,
	.get_link = ethtool_op_get_link,
	.get_link_ksettings = nic_get_link,
	.set_link_ksettings = nic_set_link,
	.get_fecparam = nic_get_fec,
	.set_fecparam = nic_set_fec,
	.get_ringparam = nic_get_rings,
	.set_ringparam = nic_set_rings,
	.get_channels = nic_get_channels,
	.set_channels = nic_set_channels,
	.get_coalesce = nic_get_coalescing,
	.set_coalesce = nic_set_coalescing,
	.get_pauseparam = nic_get_pause,
	.set_pauseparam = nic_set_pause,
	.get_sset_count = nic_count_of,
	.get_strings = nic_names,
	.get_ethtool_stats = nic_counters,
	.get_module_eeprom_by_page = nic_get_module,
};

/* Silently, as drivers do: LRO needs the receive checksum. */
netdev_features_t nic_fix_features(struct net_device *dev, netdev_features_t features)
{
	return features & NETIF_F_RXCSUM ? features : features & ~NETIF_F_LRO;
}

void nic_ethtool_setup(struct net_device *dev)
{
	struct nic *nic = netdev_priv(dev);
	int i;

	dev->ethtool_ops = &nic_ethtool;
	dev->hw_features = NETIF_F_SG | NETIF_F_HW_CSUM | NETIF_F_ALL_TSO | NETIF_F_RXCSUM |
			   NETIF_F_RXHASH | NETIF_F_NTUPLE; /* no frame is put on a wire */
	dev->features |= dev->hw_features & ~NETIF_F_NTUPLE;
	nic->autoneg = true;
	nic->speed = SPEED_DEFAULT;
	for (i = 0; i < ARRAY_SIZE(speeds); i++)
		__set_bit(speeds[i].mode, nic->advertised);
	nic->fec = ETHTOOL_FEC_AUTO;
	nic->rx_ring = RING_DEFAULT;
	nic->tx_ring = RING_DEFAULT;
	nic->combined = PRIORITIES;
	nic->coalescing.rx_coalesce_usecs = 8;
	nic->coalescing.tx_coalesce_usecs = 16;
	nic->coalescing.rx_max_coalesced_frames = 128;
	nic->coalescing.tx_max_coalesced_frames = 32;
	nic->coalescing.use_adaptive_rx_coalesce = 1;
	nic->coalescing.use_adaptive_tx_coalesce = 1;
}

void nic_ethtool_begin_as(struct net_device *dev, enum rules rules)
{
	if (rules != BNXT)
		dev->hw_features |= NETIF_F_LRO;
}
