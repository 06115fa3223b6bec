// SPDX-License-Identifier: GPL-2.0
/*
 * A devlink device with the shared buffers of a switch, which netdevsim lacks: 2 ports, one buffer of 16 MiB
 * with two ingress and two egress pools, where the second of each is static and for lossless traffic. All
 * traffic classes start in the first pool, except class 3 in the second. Sizes and bindings can be set.
 */
#include <linux/module.h>
#include <linux/platform_device.h>
#include <net/devlink.h>

#include "nic.h"

#define PORTS 2
#define POOLS 4 /* 0 and 1 ingress, 2 and 3 egress */
#define CLASSES 8
#define BUFFER_SIZE (16 << 20)
#define CELL 192 /* Spectrum-4's */

struct binding {
	u16 pool;
	u32 threshold;
};

struct buffers {
	struct devlink_port ports[PORTS];
	struct devlink_sb_pool_info pools[POOLS];
	struct binding bindings[PORTS][2][CLASSES];
};

static struct platform_device *place;
static struct devlink *devlink;

static struct binding *binding_of(struct devlink_port *port, u16 class, enum devlink_sb_pool_type type)
{
	struct buffers *buffers = devlink_priv(port->devlink);

	return &buffers->bindings[port->index][type == DEVLINK_SB_POOL_TYPE_EGRESS][class];
}

static int get_pool(struct devlink *device, unsigned int sb, u16 index, struct devlink_sb_pool_info *info)
{
	struct buffers *buffers = devlink_priv(device);

	*info = buffers->pools[index];
	return 0;
}

static int set_pool(struct devlink *device, unsigned int sb, u16 index, u32 size,
		    enum devlink_sb_threshold_type type, struct netlink_ext_ack *extack)
{
	struct buffers *buffers = devlink_priv(device);

	if (size > BUFFER_SIZE) {
		NL_SET_ERR_MSG(extack, "a pool is no larger than its buffer");
		return -EINVAL;
	}
	buffers->pools[index].size = size;
	buffers->pools[index].threshold_type = type;
	return 0;
}

static int get_binding(struct devlink_port *port, unsigned int sb, u16 class, enum devlink_sb_pool_type type,
		       u16 *pool, u32 *threshold)
{
	const struct binding *binding = binding_of(port, class, type);

	*pool = binding->pool;
	*threshold = binding->threshold;
	return 0;
}

static int set_binding(struct devlink_port *port, unsigned int sb, u16 class, enum devlink_sb_pool_type type,
		       u16 pool, u32 threshold, struct netlink_ext_ack *extack)
{
	struct binding *binding = binding_of(port, class, type);

	binding->pool = pool;
	binding->threshold = threshold;
	return 0;
}

static const struct devlink_ops buffer_ops = {
	.sb_pool_get = get_pool,
	.sb_pool_set = set_pool,
	.sb_tc_pool_bind_get = get_binding,
	.sb_tc_pool_bind_set = set_binding,
};

static void begin(struct buffers *buffers)
{
	int pool, port, way, class;

	for (pool = 0; pool < POOLS; pool++)
		buffers->pools[pool] = (struct devlink_sb_pool_info){
			.pool_type = pool < 2 ? DEVLINK_SB_POOL_TYPE_INGRESS : DEVLINK_SB_POOL_TYPE_EGRESS,
			.size = pool % 2 ? 4 << 20 : 8 << 20,
			.threshold_type = pool % 2 ? DEVLINK_SB_THRESHOLD_TYPE_STATIC :
						     DEVLINK_SB_THRESHOLD_TYPE_DYNAMIC,
			.cell_size = CELL,
		};
	for (port = 0; port < PORTS; port++)
		for (way = 0; way < 2; way++)
			for (class = 0; class < CLASSES; class++)
				buffers->bindings[port][way][class] = (struct binding){
					.pool = 2 * way + (class == 3),
					.threshold = class == 3 ? 1 << 20 : 9, /* bytes; alpha 2^(9-10) */
				};
}

int nic_buffers_init(void)
{
	struct devlink_port_attrs attrs = { .flavour = DEVLINK_PORT_FLAVOUR_PHYSICAL };
	struct buffers *buffers;
	int i, err;

	place = platform_device_register_simple("test_switch", 0, NULL, 0);
	if (IS_ERR(place))
		return PTR_ERR(place);
	devlink = devlink_alloc(&buffer_ops, sizeof(*buffers), &place->dev);
	if (!devlink) {
		err = -ENOMEM;
		goto no_devlink;
	}
	buffers = devlink_priv(devlink);
	begin(buffers);
	err = devlink_sb_register(devlink, 0, BUFFER_SIZE, 2, 2, CLASSES, CLASSES);
	if (err)
		goto no_buffer;
	for (i = 0; i < PORTS; i++) {
		attrs.phys.port_number = i + 1;
		devlink_port_attrs_set(&buffers->ports[i], &attrs);
		err = devlink_port_register(devlink, &buffers->ports[i], i);
		if (err)
			goto no_ports;
	}
	devlink_register(devlink);
	return 0;

no_ports:
	while (i-- > 0)
		devlink_port_unregister(&buffers->ports[i]);
	devlink_sb_unregister(devlink, 0);
no_buffer:
	devlink_free(devlink);
no_devlink:
	platform_device_unregister(place);
	return err;
}

void nic_buffers_exit(void)
{
	struct buffers *buffers = devlink_priv(devlink);
	int i;

	devlink_unregister(devlink);
	for (i = 0; i < PORTS; i++)
		devlink_port_unregister(&buffers->ports[i]);
	devlink_sb_unregister(devlink, 0);
	devlink_free(devlink);
	platform_device_unregister(place);
}
