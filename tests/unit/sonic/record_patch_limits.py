#!/usr/bin/env python3
"""Records what SONiC's own allow-list says of changes: patch_limits.json.

Runs validate_field_operation of sonic-utilities (generic_config_updater/gu_common.py, with the validators and
the list beside it) as every ASIC of the list, on images of a branch and of none. Needs a checkout of
sonic-utilities and python3 with jsonpatch; SONiC's other modules are replaced by empty ones.

    tests/unit/sonic/record_patch_limits.py SONIC-UTILITIES tests/unit/sonic/patch_limits.json
"""
import json
import sys
import types

ROWS = {"pool": {"type": "ingress", "mode": "dynamic", "size": "100"}}
PROFILE = {"pool": "pool", "size": "0", "dynamic_th": "0", "xoff": "100"}
WATCHDOG = {"action": "drop", "detection_time": "200", "restoration_time": "400"}
PORT = {"lanes": "0", "speed": "400000", "mtu": "9100", "fec": "rs"}
SUPPORTED = {"Ethernet0": {"supported_speeds": "100000,400000", "supported_fecs": "rs,none"}}


def changed(row, **fields):
    out = {**row, **fields}
    return {name: value for name, value in out.items() if value is not None}


def cases():
    """Name, tables now, tables wanted, what STATE_DB says of ports."""
    pool = lambda row: {"BUFFER_POOL": {"pool": row}}
    profile = lambda rows: {"BUFFER_PROFILE": rows}
    watchdog = lambda rows: {"PFC_WD": rows}
    port = lambda row: {"PORT": {"Ethernet0": row}}
    one, two = PROFILE, changed(PROFILE, size="9")
    yield "pool: size", pool(ROWS["pool"]), pool(changed(ROWS["pool"], size="200")), {}
    yield "pool: another row", {"BUFFER_POOL": ROWS}, {"BUFFER_POOL": {**ROWS, "b": {"size": "1"}}}, {}
    yield "pool: the row goes", {"BUFFER_POOL": {**ROWS, "b": {"size": "1"}}}, {"BUFFER_POOL": ROWS}, {}
    yield "pool: the table comes", {}, {"BUFFER_POOL": ROWS}, {}
    yield "pool: the table goes", {"BUFFER_POOL": ROWS}, {}, {}
    yield "profile: another row", profile({"a": one}), profile({"a": one, "b": two}), {}
    yield "profile: a row goes", profile({"a": one, "b": two}), profile({"a": one}), {}
    yield "profile: one goes and an equal one comes", profile({"a": one, "b": two}), profile({"a": one, "c": two}), {}
    yield "profile: one goes and another comes", profile({"a": one, "b": two}), \
        profile({"a": one, "c": changed(two, size="10")}), {}
    yield "profile: the table comes", {}, profile({"a": one}), {}
    yield "profile: the table goes", profile({"a": one}), {}, {}
    for field in ("dynamic_th", "xoff", "size", "pool"):
        yield f"profile: {field} changes", profile({"a": one}), profile({"a": changed(one, **{field: "7"})}), {}
        yield f"profile: {field} goes", profile({"a": one}), profile({"a": changed(one, **{field: None})}), {}
    for field in ("xon", "static_th", "packet_discard_action"):
        yield f"profile: {field} comes", profile({"a": one}), profile({"a": changed(one, **{field: "7"})}), {}
    yield "profile: packet_discard_action changes", profile({"a": changed(one, packet_discard_action="drop")}), \
        profile({"a": changed(one, packet_discard_action="trim")}), {}
    yield "profile: packet_discard_action goes", profile({"a": changed(one, packet_discard_action="drop")}), \
        profile({"a": one}), {}
    yield "watchdog: another row", watchdog({"Ethernet0": WATCHDOG}), \
        watchdog({"Ethernet0": WATCHDOG, "Ethernet8": WATCHDOG}), {}
    yield "watchdog: a row with an unknown field", watchdog({"Ethernet0": WATCHDOG}), \
        watchdog({"Ethernet0": WATCHDOG, "Ethernet8": changed(WATCHDOG, other="1")}), {}
    yield "watchdog: an empty row", watchdog({"Ethernet0": WATCHDOG}), \
        watchdog({"Ethernet0": WATCHDOG, "Ethernet8": {}}), {}
    yield "watchdog: a row goes", watchdog({"Ethernet0": WATCHDOG, "Ethernet8": WATCHDOG}), \
        watchdog({"Ethernet0": WATCHDOG}), {}
    yield "watchdog: a row goes and an equal one comes", watchdog({"Ethernet0": WATCHDOG}), \
        watchdog({"Ethernet8": WATCHDOG}), {}
    yield "watchdog: a row goes and another comes", watchdog({"Ethernet0": WATCHDOG}), \
        watchdog({"Ethernet8": changed(WATCHDOG, detection_time="300")}), {}
    yield "watchdog: the table comes", {}, watchdog({"Ethernet0": WATCHDOG}), {}
    yield "watchdog: the table goes", watchdog({"Ethernet0": WATCHDOG}), {}, {}
    for field in ("action", "detection_time", "restoration_time", "pfc_stat_history", "other"):
        with_it = changed(WATCHDOG, **{field: "x"})
        without = changed(WATCHDOG, **{field: None})
        yield f"watchdog: {field} comes", watchdog({"Ethernet0": without}), watchdog({"Ethernet0": with_it}), {}
        yield f"watchdog: {field} goes", watchdog({"Ethernet0": with_it}), watchdog({"Ethernet0": without}), {}
        yield f"watchdog: {field} changes", watchdog({"Ethernet0": with_it}), \
            watchdog({"Ethernet0": changed(WATCHDOG, **{field: "y"})}), {}
    poll = {"POLL_INTERVAL": "200"}
    yield "watchdog: poll interval changes", watchdog({"GLOBAL": poll}), watchdog({"GLOBAL": {"POLL_INTERVAL": "9"}}), {}
    yield "watchdog: poll interval comes", watchdog({"GLOBAL": {}}), watchdog({"GLOBAL": poll}), {}
    yield "watchdog: poll interval goes", watchdog({"GLOBAL": poll}), watchdog({"GLOBAL": {}}), {}
    yield "watchdog: GLOBAL comes", watchdog({"Ethernet0": WATCHDOG}), \
        watchdog({"Ethernet0": WATCHDOG, "GLOBAL": poll}), {}
    yield "watchdog: GLOBAL goes", watchdog({"Ethernet0": WATCHDOG, "GLOBAL": poll}), \
        watchdog({"Ethernet0": WATCHDOG}), {}
    loop = lambda rows: {"LOOPBACK_INTERFACE": rows}
    yield "loopback: Loopback0 goes", loop({"Loopback0": {}, "Loopback1": {}}), loop({"Loopback1": {}}), {}
    yield "loopback: Loopback1 goes", loop({"Loopback0": {}, "Loopback1": {"a": "b"}}), loop({"Loopback0": {}}), {}
    yield "loopback: an address goes", loop({"Loopback0": {}, "Loopback0|10.0.0.1/32": {"a": "b"}}), \
        loop({"Loopback0": {}}), {}
    for field, values in (("fec", ("none", "fc", "auto")), ("speed", ("100000", "200000")), ("mtu", ("1500",))):
        for value in values:
            for known, state in (("known", SUPPORTED), ("unknown", {}), ("other", {"Ethernet0": {"supported_fecs": "N/A"}})):
                yield f"port: {field} {value}, {known}", port(PORT), port(changed(PORT, **{field: value})), state
    yield "port: fec comes", port(changed(PORT, fec=None)), port(changed(PORT, fec="fc")), SUPPORTED
    yield "port: fec goes", port(PORT), port(changed(PORT, fec=None)), SUPPORTED
    yield "port: fec comes where the same goes", \
        {"PORT": {"Ethernet0": changed(PORT, fec=None), "Ethernet8": PORT}}, \
        {"PORT": {"Ethernet0": PORT, "Ethernet8": changed(PORT, fec=None)}}, {}
    yield "port: mtu comes where the same goes", \
        {"PORT": {"Ethernet0": changed(PORT, mtu=None), "Ethernet8": PORT}}, \
        {"PORT": {"Ethernet0": PORT, "Ethernet8": changed(PORT, mtu=None)}}, {}
    yield "port: another row", port(PORT), {"PORT": {"Ethernet0": PORT, "Ethernet8": changed(PORT, speed="1")}}, \
        {"Ethernet8": {"supported_speeds": "100000"}}
    yield "a queue", {"QUEUE": {"Ethernet0|3": {"scheduler": "a"}}}, {"QUEUE": {"Ethernet0|3": {"scheduler": "b"}}}, {}


def load(checkout):
    sys.path.insert(0, checkout)
    for name in ("sonic_yang", "sonic_yang_ext", "sonic_py_common", "swsscommon"):
        sys.modules[name] = types.ModuleType(name)
    common = sys.modules["sonic_py_common"]
    common.logger = types.SimpleNamespace(Logger=type("Logger", (), {"__init__": lambda self, *words: None}))
    common.multi_asic = types.SimpleNamespace(DEFAULT_NAMESPACE="")
    common.device_info = types.SimpleNamespace(is_chassis=lambda: False)
    sys.modules["swsscommon"].swsscommon = types.SimpleNamespace()
    from generic_config_updater import field_operation_validators, gu_common
    with open(gu_common.GCU_FIELD_OP_CONF_FILE) as file:
        tables = json.load(file)["tables"]
    asics = sorted({asic for table in tables.values() for data in table.get("validator_data", {}).values()
                    for scenario in data.values() for asic in scenario["platforms"]})
    return field_operation_validators, gu_common, asics


def main():
    validators, common, asics = load(sys.argv[1])
    recorded = []
    for name, now, target, state in cases():
        validators.read_statedb_entry = lambda scope, table, port, field: state.get(port, {}).get(field)
        words = set()
        passed = 0
        for asic in asics:
            for image in ("SONiC.master.1", "SONiC.20991231.1"):
                validators.get_asic_name = lambda: asic
                validators.device_info.get_sonic_version_info = lambda: {"build_version": image}
                wrapper = common.ConfigWrapper.__new__(common.ConfigWrapper)
                wrapper.scope = ""
                try:
                    wrapper.validate_field_operation(json.loads(json.dumps(now)), json.loads(json.dumps(target)))
                    passed += 1
                except Exception as error:  # noqa: as SONiC's tool does
                    words.add(str(error))
        recorded.append({"name": name, "now": now, "target": target, "ports": state,
                         "refused_by": "none" if not words else "some" if passed else "all",
                         "words": sorted(words)[0] if words else ""})
    with open(sys.argv[2], "w") as file:
        file.write("[\n" + ",\n".join(json.dumps(one) for one in recorded) + "\n]\n")


main()
