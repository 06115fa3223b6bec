/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the files of test_nic: one device, and its settings. */
#ifndef TEST_NIC_H
#define TEST_NIC_H

#include <linux/dcbnl.h>
#include <linux/ethtool.h>
#include <linux/netdevice.h>

#define PRIORITIES IEEE_8021QAZ_MAX_TCS

enum rules { PLAIN, MLX5, BNXT, MLXSW };

struct nic {
	struct net_device __rcu *peer;
	enum rules rules;
	u8 dcbx;
	struct ieee_ets ets;
	struct ieee_pfc pfc;
	struct ieee_maxrate maxrate;
	struct dcbnl_buffer buffer;
	bool software_owned; /* mlx5: the driver manages the buffers, no longer the firmware */
	bool by_tc; /* mlxsw: the headroom is in TC mode */
	u32 root_qdisc; /* mlxsw: the handle of the offloaded root qdisc, if any */
	struct dcbnl_buffer asked; /* mlxsw: from setbuffer, even if not in effect */
	u8 trusted[PRIORITIES]; /* selectors of the app table, the most trusted first; Linux 6.3 */
	int trusted_count;
	bool rx_pause, tx_pause;
	atomic64_t tx_frames[PRIORITIES], rx_frames[PRIORITIES];
	bool autoneg;
	u32 speed; /* Mbit/s */
	__ETHTOOL_DECLARE_LINK_MODE_MASK(advertised);
	u32 fec; /* ETHTOOL_FEC_* */
	u32 rx_ring, tx_ring;
	u32 combined;
	struct ethtool_coalesce coalescing;
};

bool nic_refuses(const char *what);
void nic_headroom_begin_as(struct net_device *dev, enum rules rules);
int nic_get_pfc(struct net_device *dev, struct ieee_pfc *out);
int nic_set_pfc(struct net_device *dev, struct ieee_pfc *pfc);
int nic_get_buffer(struct net_device *dev, struct dcbnl_buffer *out);
int nic_set_buffer(struct net_device *dev, struct dcbnl_buffer *buffer);
int nic_setup_tc(struct net_device *dev, enum tc_setup_type type, void *data);
bool nic_is_hosts(const struct nic *nic);
int nic_buffers_init(void);
void nic_buffers_exit(void);
void nic_ethtool_setup(struct net_device *dev);
void nic_ethtool_begin_as(struct net_device *dev, enum rules rules);
netdev_features_t nic_fix_features(struct net_device *dev, netdev_features_t features);

#endif
