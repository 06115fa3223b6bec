// SPDX-License-Identifier: GPL-2.0
/*
 * PFC and the receive buffers of a test_nic. Two drivers are imitated by their own arithmetic (nic.c lists
 * the files); the behaviour of their firmware is a stand-in, and marked as such here.
 */
#include <linux/bitops.h>
#include <linux/slab.h>
#include <net/pkt_cls.h>

#include "nic.h"

#define TOTAL_BUFFER (1 << 20)
#define DEFAULT_BUFFER (1 << 18)

/* mlx5 */
#define MLX5_CELL 128
#define DEFAULT_CABLE 7 /* m: MLX5E_DEFAULT_CABLE_LEN */
#define CABLE_MAX 1000 /* m: MLX5E_MAX_CABLE_LENGTH, exclusive */
#define LEAST_MAX_MTU 9216
#define LEAST_SPEED 40000 /* Mbit/s */

/* mlxsw: the cell of Spectrum-4. A register limits the buffers of a port; here it is TOTAL_BUFFER. */
#define MLXSW_CELL 192

static u8 lossless_priorities(const struct nic *nic, u8 pfc_en)
{
	return nic->rx_pause || nic->tx_pause ? 0xff : pfc_en;
}

/* The buffers with a lossless priority. */
static u8 lossless_buffers(const u8 *prio2buffer, u8 lossless)
{
	u8 out = 0;
	int i;

	for (i = 0; i < PRIORITIES; i++)
		if (lossless & BIT(i))
			out |= BIT(prio2buffer[i]);
	return out;
}

/* Bytes above the threshold at which a pause is sent. */
static u32 mlx5_xoff(const struct net_device *dev, u16 cable)
{
	u32 speed = max_t(u32, ((struct nic *)netdev_priv(dev))->speed, LEAST_SPEED);

	return (301 + 216 * cable / 100) * speed / 1000 + 272 * dev->mtu / 100;
}

static u32 mlx5_least(const struct net_device *dev, u16 cable)
{
	return mlx5_xoff(dev, cable) + max_t(u32, dev->max_mtu, LEAST_MAX_MTU) + MLX5_CELL;
}

static int mlx5_check(const struct net_device *dev, const u32 *sizes, u8 lossless)
{
	const struct nic *nic = netdev_priv(dev);
	int i;

	for (i = 0; i < DCBX_MAX_BUFFERS; i++)
		if ((lossless & BIT(i)) && sizes[i] < mlx5_least(dev, nic->pfc.delay))
			return -ENOMEM;
	return 0;
}

/* A stand-in: how the firmware handles PFC while it manages the buffers is not published. Observed on
 * ConnectX adapters (mlnx_qos): lossless priorities in buffer 1. It does not get the length of the cable.
 */
static void mlx5_firmware_follows(struct net_device *dev)
{
	struct nic *nic = netdev_priv(dev);
	int i;

	for (i = 0; i < PRIORITIES; i++)
		nic->buffer.prio2buffer[i] = nic->pfc.pfc_en & BIT(i) ? 1 : 0;
	nic->buffer.buffer_size[1] =
		nic->pfc.pfc_en ? roundup(mlx5_least(dev, DEFAULT_CABLE), MLX5_CELL) : 0;
}

/* As in mlx5e_dcbnl_ieee_setpfc: priorities are changed before the buffers are checked, and stay changed if
 * those are refused; a length that is 0 or too long is ignored silently.
 */
static int mlx5_set_pfc(struct net_device *dev, const struct ieee_pfc *pfc)
{
	struct nic *nic = netdev_priv(dev);
	u8 had = lossless_buffers(nic->buffer.prio2buffer, lossless_priorities(nic, nic->pfc.pfc_en));
	u16 old_cable = nic->pfc.delay;
	bool changes = pfc->pfc_en != nic->pfc.pfc_en;
	u8 has;
	int err = 0;

	if (pfc->pfc_en && (nic->rx_pause || nic->tx_pause))
		return -EBUSY;
	nic->pfc.pfc_en = pfc->pfc_en;
	if (pfc->delay && pfc->delay < CABLE_MAX)
		nic->pfc.delay = pfc->delay;
	if (!nic->software_owned) {
		if (changes)
			mlx5_firmware_follows(dev);
		return 0;
	}
	has = lossless_buffers(nic->buffer.prio2buffer, pfc->pfc_en);
	if (nic->pfc.delay != old_cable)
		err = mlx5_check(dev, nic->buffer.buffer_size, had);
	if (!err && has != had)
		err = mlx5_check(dev, nic->buffer.buffer_size, has);
	if (err)
		nic->pfc.delay = old_cable;
	return err;
}

/* As in mlx5e_port_manual_buffer_config: a new map is checked against the old sizes before the new ones. */
static int mlx5_set_buffer(struct net_device *dev, const struct dcbnl_buffer *buffer, u64 sum)
{
	struct nic *nic = netdev_priv(dev);
	bool maps = memcmp(buffer->prio2buffer, nic->buffer.prio2buffer, sizeof(buffer->prio2buffer));
	bool sizes = memcmp(buffer->buffer_size, nic->buffer.buffer_size, sizeof(buffer->buffer_size));
	u8 lossless = lossless_priorities(nic, nic->pfc.pfc_en);
	u8 had = lossless_buffers(nic->buffer.prio2buffer, lossless);
	u8 has = lossless_buffers(buffer->prio2buffer, lossless);
	int i, err;

	if (!maps && !sizes)
		return 0;
	nic->software_owned = true; /* whatever comes of it */
	if (maps && has != had) {
		err = mlx5_check(dev, nic->buffer.buffer_size, has);
		if (err)
			return err;
	}
	if (sizes) {
		for (i = 0; i < DCBX_MAX_BUFFERS; i++)
			if ((has & BIT(i)) && !buffer->buffer_size[i])
				return -EINVAL;
		if (sum > TOTAL_BUFFER)
			return -EINVAL;
		err = mlx5_check(dev, buffer->buffer_size, has);
		if (err)
			return err;
	}
	nic->buffer = *buffer;
	for (i = 0; i < DCBX_MAX_BUFFERS; i++)
		nic->buffer.buffer_size[i] -= nic->buffer.buffer_size[i] % MLX5_CELL;
	return 0;
}

static u32 mlxsw_cells(u32 bytes)
{
	return DIV_ROUND_UP(bytes, MLXSW_CELL);
}

/* The buffers of a port with these settings; -ENOBUFS if they exceed the total
 * (mlxsw_sp_hdroom_bufs_reset_sizes, __mlxsw_sp_hdroom_configure).
 */
static int mlxsw_buffers(const struct net_device *dev, const struct nic *wanted, struct dcbnl_buffer *out)
{
	const u8 *map = wanted->by_tc ? wanted->asked.prio2buffer : wanted->ets.prio_tc;
	u8 lossless = lossless_buffers(map, lossless_priorities(wanted, wanted->pfc.pfc_en));
	u8 used = lossless_buffers(map, 0xff);
	u32 delay = wanted->pfc.pfc_en ? DIV_ROUND_UP(wanted->pfc.delay, BITS_PER_BYTE) : 0;
	u32 sum = mlxsw_cells(dev->max_mtu);
	int i;

	memcpy(out->prio2buffer, map, sizeof(out->prio2buffer));
	for (i = 0; i < DCBX_MAX_BUFFERS; i++) {
		u32 threshold = used & BIT(i) ? 2 * mlxsw_cells(dev->mtu) : 0;
		u32 cells = threshold;

		if (wanted->by_tc)
			cells = max(mlxsw_cells(wanted->asked.buffer_size[i]), threshold);
		else if (lossless & BIT(i))
			cells += 2 * mlxsw_cells(delay) + mlxsw_cells(dev->mtu);
		out->buffer_size[i] = cells * MLXSW_CELL;
		sum += cells;
	}
	out->total_size = sum * MLXSW_CELL;
	return out->total_size > TOTAL_BUFFER ? -ENOBUFS : 0;
}

/* Applies the settings, or leaves the port unchanged on an error. */
static int mlxsw_take(struct net_device *dev, const struct nic *wanted)
{
	struct nic *nic = netdev_priv(dev);
	struct dcbnl_buffer fits;
	int err = mlxsw_buffers(dev, wanted, &fits);

	if (err)
		return err;
	nic->by_tc = wanted->by_tc;
	nic->asked = wanted->asked;
	nic->pfc = wanted->pfc;
	return 0;
}

static int mlxsw_set_pfc(struct net_device *dev, const struct ieee_pfc *pfc)
{
	const struct nic *nic = netdev_priv(dev);
	struct nic *wanted;
	int err;

	if (pfc->pfc_en && (nic->rx_pause || nic->tx_pause))
		return -EINVAL;
	wanted = kmemdup(nic, sizeof(*nic), GFP_KERNEL);
	if (!wanted)
		return -ENOMEM;
	wanted->pfc = *pfc;
	wanted->pfc.pfc_cap = PRIORITIES;
	err = mlxsw_take(dev, wanted);
	kfree(wanted);
	return err;
}

static int mlxsw_set_buffer(struct net_device *dev, const struct dcbnl_buffer *buffer)
{
	const struct nic *nic = netdev_priv(dev);
	struct nic *wanted;
	int err;

	if (!nic->by_tc)
		return -EINVAL;
	wanted = kmemdup(nic, sizeof(*nic), GFP_KERNEL);
	if (!wanted)
		return -ENOMEM;
	wanted->asked = *buffer;
	err = mlxsw_take(dev, wanted);
	kfree(wanted);
	return err;
}

/* A qdisc that is offloaded as the root: the headroom is in TC mode while it exists. */
static int mlxsw_root(struct net_device *dev, u32 handle, u32 parent, unsigned int bands)
{
	struct nic *nic = netdev_priv(dev);
	struct nic *wanted;
	int err = -EOPNOTSUPP;

	if (parent != TC_H_ROOT || bands > PRIORITIES || nic_refuses("offload"))
		return err;
	wanted = kmemdup(nic, sizeof(*nic), GFP_KERNEL);
	if (!wanted)
		return -ENOMEM;
	wanted->by_tc = true;
	err = mlxsw_take(dev, wanted);
	kfree(wanted);
	if (!err)
		nic->root_qdisc = handle;
	return err;
}

static int mlxsw_root_is(struct net_device *dev, u32 handle)
{
	const struct nic *nic = netdev_priv(dev);

	return nic->by_tc && nic->root_qdisc == handle ? 0 : -EOPNOTSUPP;
}

static int mlxsw_unroot(struct net_device *dev, u32 handle)
{
	int err = mlxsw_root_is(dev, handle);

	if (!err)
		((struct nic *)netdev_priv(dev))->by_tc = false;
	return err;
}

int nic_setup_tc(struct net_device *dev, enum tc_setup_type type, void *data)
{
	struct tc_ets_qopt_offload *ets = data;
	struct tc_prio_qopt_offload *prio = data;

	if (((struct nic *)netdev_priv(dev))->rules != MLXSW)
		return -EOPNOTSUPP;
	if (type == TC_SETUP_QDISC_ETS && ets->command == TC_ETS_REPLACE)
		return mlxsw_root(dev, ets->handle, ets->parent, ets->replace_params.bands);
	if (type == TC_SETUP_QDISC_ETS && ets->command == TC_ETS_DESTROY)
		return mlxsw_unroot(dev, ets->handle);
	if (type == TC_SETUP_QDISC_ETS && ets->command == TC_ETS_STATS)
		return mlxsw_root_is(dev, ets->handle);
	if (type == TC_SETUP_QDISC_PRIO && prio->command == TC_PRIO_REPLACE)
		return mlxsw_root(dev, prio->handle, prio->parent, prio->replace_params.bands);
	if (type == TC_SETUP_QDISC_PRIO && prio->command == TC_PRIO_DESTROY)
		return mlxsw_unroot(dev, prio->handle);
	if (type == TC_SETUP_QDISC_PRIO && prio->command == TC_PRIO_STATS)
		return mlxsw_root_is(dev, prio->handle);
	return -EOPNOTSUPP;
}

int nic_get_pfc(struct net_device *dev, struct ieee_pfc *out)
{
	*out = ((struct nic *)netdev_priv(dev))->pfc;
	return 0;
}

int nic_set_pfc(struct net_device *dev, struct ieee_pfc *pfc)
{
	struct nic *nic = netdev_priv(dev);

	if (nic->rules == MLX5)
		return mlx5_set_pfc(dev, pfc);
	if (nic->rules == MLXSW)
		return mlxsw_set_pfc(dev, pfc);
	if (!nic_is_hosts(nic) || (nic->rules == BNXT && hweight8(pfc->pfc_en) > 1))
		return -EINVAL;
	nic->pfc.pfc_en = pfc->pfc_en;
	nic->pfc.mbc = pfc->mbc;
	nic->pfc.delay = pfc->delay;
	return 0;
}

int nic_get_buffer(struct net_device *dev, struct dcbnl_buffer *out)
{
	struct nic *nic = netdev_priv(dev);

	*out = nic->buffer;
	if (nic->rules == MLXSW)
		mlxsw_buffers(dev, nic, out);
	return 0;
}

int nic_set_buffer(struct net_device *dev, struct dcbnl_buffer *buffer)
{
	struct nic *nic = netdev_priv(dev);
	u64 sum = 0;
	int i;

	for (i = 0; i < DCBX_MAX_BUFFERS; i++)
		sum += buffer->buffer_size[i];
	for (i = 0; i < PRIORITIES; i++)
		if (buffer->prio2buffer[i] >= DCBX_MAX_BUFFERS)
			return -EINVAL;
	if (nic_refuses("buffer"))
		return -EINVAL;
	buffer->total_size = TOTAL_BUFFER;
	if (nic->rules == MLX5)
		return mlx5_set_buffer(dev, buffer, sum);
	if (nic->rules == MLXSW)
		return mlxsw_set_buffer(dev, buffer);
	if (sum > TOTAL_BUFFER)
		return -EINVAL;
	nic->buffer = *buffer;
	return 0;
}

void nic_headroom_begin_as(struct net_device *dev, enum rules rules)
{
	struct nic *nic = netdev_priv(dev);

	nic->buffer.total_size = TOTAL_BUFFER;
	nic->buffer.buffer_size[0] = DEFAULT_BUFFER;
	if (rules == MLX5)
		nic->pfc.delay = DEFAULT_CABLE;
	if (rules == MLXSW) {
		dev->hw_features |= NETIF_F_HW_TC;
		dev->features |= NETIF_F_HW_TC;
	}
}
