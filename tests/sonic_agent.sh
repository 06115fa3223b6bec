#!/usr/bin/env bash
# sonic_agent.sh LOCKSTEP: a SONiC switch through lockstep-agent on it: applied, saved, checkpointed; refused by its host policy;
# and whatever is killed in mid-change, it is again as it was. The switch is a real redis-server with an /etc of its own; what is
# there is read with redis-cli and Python, not with lockstep.
set -euo pipefail
. "$(dirname "$0")/needs.sh"
. "$(dirname "$0")/expect.sh"
for program in redis-server redis-cli; do command -v $program >/dev/null || not_tested_but_on_ci "needs $program"; done
own_machine leaf0 "it has an /etc of its own" "$0" "$@"
agent=$(dirname "$lockstep")/lockstep-agent
sources=$(realpath "$(dirname "$0")/..")
export LOCKSTEP_PKI_DIR=$work/controller
models=${LOCKSTEP_SHARED_DATA:-$sources/../shared/data}/sonic-yang
[ -d "$models" ] || models=

# ends_with_this COMMAND...: starts it; it ends with this script, however that ends.
ends_with_this() { setpriv --pdeathsig KILL -- "$@" </dev/null & }
# until_true SECONDS WHAT COMMAND...
until_true() {
  local i
  for ((i = 0; i < $1 * 10; ++i)); do "${@:3}" >/dev/null 2>&1 && return; sleep 0.1; done
  fail "not within $1 s: $2"
  return 1
}
redis() { redis-cli -s "$work/redis.sock" -n 4 "$@"; }
# Every row, but for those of Lockstep's own: who names them is in the others.
dump() {
  redis EVAL "
    local rows = {}
    for _, key in ipairs(redis.call('KEYS', '*|*')) do
      local hash, fields = redis.call('HGETALL', key), {}
      for i = 1, #hash, 2 do fields[#fields + 1] = hash[i] .. '=' .. hash[i + 1] end
      table.sort(fields)
      if not key:find('|lockstep-', 1, true) then rows[#rows + 1] = key .. ' ' .. table.concat(fields, ' ') end
    end
    table.sort(rows)
    return rows" 0
}

ip link set lo up
mkdir -p /etc/sonic
ends_with_this redis-server --port 0 --unixsocket "$work/redis.sock" --save "" --dir "$work" >/dev/null
until_true 20 "redis-server answers" redis PING
for number in 1 2 3 4; do
  redis HSET "PORT|swp$number" lanes "$number" speed 400000 mtu 9100 admin_status up >/dev/null
done
for number in 0 1; do redis HSET "PORT|up$number" lanes "9$number" speed 400000 mtu 9100 admin_status up >/dev/null; done
redis HSET "DEVICE_METADATA|localhost" hostname leaf0 frr_mgmt_framework_config true >/dev/null
redis HSET "BUFFER_POOL|ingress_lossless_pool" type ingress mode dynamic size 40000000 >/dev/null
redis HSET "VLAN|Vlan7" vlanid 7 description storage >/dev/null
redis SET CONFIG_DB_INITIALIZED 1 >/dev/null
# What the switch's daemons would say.
neighbor() {
  redis-cli -s "$work/redis.sock" -n 0 HSET "PORT_TABLE:$1" oper_status up >/dev/null
  redis-cli -s "$work/redis.sock" -n 0 HSET "LLDP_ENTRY_TABLE:$1" lldp_rem_sys_name "$2" lldp_rem_port_id_subtype 5 lldp_rem_port_id "$3" >/dev/null
}
for number in 1 2 3 4; do neighbor "swp$number" "gpu$number" rail0; done
for number in 0 1; do
  neighbor "up$number" "spine$number" down0
  redis-cli -s "$work/redis.sock" -n 6 HSET "NEIGH_STATE_TABLE|up$number" state Established >/dev/null
done
ends_with_this python3 -B "$sources/tests/redis_kill_point.py" "$work/passed.sock" "$work/redis.sock" "$work"
until_true 20 "the way to Redis" test -S "$work/passed.sock"
cat >"$work/database_config.json" <<JSON
{"INSTANCES": {"redis": {"hostname": "127.0.0.1", "port": 6379, "unix_socket_path": "$work/passed.sock"}},
 "DATABASES": {"APPL_DB": {"id": 0, "separator": ":", "instance": "redis"},
               "CONFIG_DB": {"id": 4, "separator": "|", "instance": "redis"},
               "STATE_DB": {"id": 6, "separator": "|", "instance": "redis"}}}
JSON

cp -r "$sources/examples/rail-pod" "$work/specs"
sed -i 's/drivers: \[linux, frr\]/drivers: [sonic]/; s|  # connect: .*|  connect: {agent: "https://{name}.invalid:7443"}|' "$work/specs/devices.yaml"
echo "127.0.0.1 leaf0.invalid" >>/etc/hosts
sed -i 's/^hosts:.*/hosts: files/' /etc/nsswitch.conf # no other device is to be found, at once
specs=$work/specs
approved=(--only leaf0 --yes --no-measure --approve far-end,drain,approval:traffic)

"$lockstep" ca init "$work/ca" --cluster rail-pod >/dev/null
"$lockstep" ca issue "$work/ca" --role device --name leaf0 --dns leaf0.invalid --out "$work/leaf0" >/dev/null
"$lockstep" ca issue "$work/ca" --role controller --name controller --out "$work/controller" >/dev/null
for folder in leaf0 controller; do cp "$work/ca/ca.crt" "$work/ca/ca.crl" "$work/$folder/"; done
cat >"$work/leaf0/agent.yaml" <<YAML
apiVersion: lockstep.dev/v1alpha1
kind: AgentConfig
spec:
  cluster: rail-pod
  drivers: [sonic]
  listen: "127.0.0.1:7443"
  tls: {ca: ca.crt, certificate: leaf0.crt, key: leaf0.key, revoked: ca.crl}
  journal: $work/journal
  sonic: {databases: $work/database_config.json${models:+, models: $models}}
YAML
# libyang 2.1.30 loses the value of a union that an XPath expression compares (yang_models.hpp): not ours to report.
echo leak:lyplg_type_store_union >"$work/leaks"
export LSAN_OPTIONS=suppressions=$work/leaks:print_suppressions=0
start_agent() {
  rm -f "$work/ready"
  ends_with_this "$agent" --config "$work/leaf0/agent.yaml" run --ready "$work/ready" 2>>"$work/agent.log"
  agent_process=$!
  until_true 20 "the agent is ready: $(cat "$work/agent.log")" test -e "$work/ready"
}
plan_changes() { "$lockstep" plan "$specs" --only leaf0 -o json 2>/dev/null | python3 -c 'import json,sys; print(json.load(sys.stdin)["summary"]["changes"])'; }
plan_steps() { "$lockstep" plan "$specs" --only leaf0 -o json 2>/dev/null | python3 -c 'import json,sys; print(len(json.load(sys.stdin)["steps"]))'; }
saved() { python3 -c 'import json,sys; print(json.load(open("/etc/sonic/config_db.json"))'"$1"')'; }

start_agent
[ "$(plan_changes)" -gt 20 ] || fail "there is nothing to plan"
expect 2 "switch-config/saved" "$lockstep" plan "$specs" --only leaf0 --details
[ ! -e /etc/sonic/config_db.json ] || fail "a plan has saved something"

expect 0 "done, 1 device touched" "$lockstep" apply "$specs" "${approved[@]}"
[ "$(plan_changes)" = 0 ] || fail "a second plan is not empty"
[ "$(redis HGET "PORT_QOS_MAP|swp1" pfc_enable)" = 3 ] || fail "PFC is not on"
[ "$(redis HGET "PORT|swp1" admin_status)" = up ] || fail "a port is left down"
[ "$(saved '["PORT_QOS_MAP"]["swp1"]["pfc_enable"]')" = 3 ] || fail "it is not saved"
[ "$(saved '["VLAN"]["Vlan7"]["vlanid"]')" = 7 ] || fail "a row of others is not saved"
checkpoints=(/etc/sonic/checkpoints/lockstep-*.cp.json)
[ -e "${checkpoints[0]}" ] || fail "there is no checkpoint"

# What is killed before the change is kept: it is rolled back, and nothing was saved (at each transaction: tests/contract). The change is one
# step, for which every port is shut down in turn.
before=$(dump)
before_saved=$(cat /etc/sonic/config_db.json)
sed -i 's/bandwidth: 60%/bandwidth: 70%/; s/bandwidth: 40%/bandwidth: 30%/' "$specs/roce.yaml"
[ "$(plan_steps)" = 2 ] || fail "the change is $(plan_steps) steps, and not one and one that saves"
# killed_in_mid_change N: the agent and the controller are killed instead of their Nth transaction.
killed_in_mid_change() {
  local controller
  rm -f "$work/reached"
  echo "$1" >"$work/at"
  "$lockstep" apply "$specs" "${approved[@]}" </dev/null >"$work/killed.log" 2>&1 &
  controller=$!
  until_true 60 "transaction $1: $(cat "$work/killed.log")" test -e "$work/reached" || true
  kill -KILL "$agent_process" "$controller"
  wait "$agent_process" "$controller" 2>/dev/null || true
  rm -f "$work/at"
}
is_as_before() { [ "$(dump)" = "$before" ]; }
killed_in_mid_change 6
is_as_before && fail "nothing had been changed before transaction 6"
start_agent
until_true 60 "the rollback of what came before transaction 6: $(diff <(echo "$before") <(dump) || true)" is_as_before || true
[ "$(cat /etc/sonic/config_db.json)" = "$before_saved" ] || fail "what was not kept has been saved"

expect 0 "done, 1 device touched" "$lockstep" apply "$specs" "${approved[@]}"
[ "$(plan_changes)" = 0 ] || fail "a plan after the kills is not empty"
[ "$(cat /etc/sonic/config_db.json)" != "$before_saved" ] || fail "what was kept is not saved"

# What somebody else has changed and not saved would be lost or come back at the next boot.
redis HSET "PORT|swp1" mtu 1500 >/dev/null
expect 2 "interface[swp1]/mtu" "$lockstep" drift "$specs" --only leaf0
expect 0 "done, 1 device touched" "$lockstep" apply "$specs" "${approved[@]}"
[ "$(saved '["PORT"]["swp1"]["mtu"]')" = 9000 ] || fail "it is not saved again"
python3 - <<'PY'
import json
config = json.load(open("/etc/sonic/config_db.json"))
config["PORT"]["swp1"]["mtu"] = "1400"
json.dump(config, open("/etc/sonic/config_db.json", "w"), indent=4)
PY
expect 2 "switch-config/saved" "$lockstep" drift "$specs" --only leaf0
expect 0 "done, 1 device touched" "$lockstep" apply "$specs" "${approved[@]}"
[ "$(saved '["PORT"]["swp1"]["mtu"]')" = 9000 ] || fail "the saved file is left wrong"

# The switch's owner says which tables raw: may set; the default is none.
python3 - "$specs/devices.yaml" <<'PY'
import re, sys
text = open(sys.argv[1]).read()
text = re.sub(r"(names: leaf\[0-1\]\n)", r'\1  raw: [{driver: sonic, names: leaf0, set: {"VLAN|Vlan7": {description: compute}}}]\n', text, count=1)
open(sys.argv[1], "w").write(text)
PY
expect 1 "table of CONFIG_DB 'VLAN' is not among spec.tables" "$lockstep" apply "$specs" "${approved[@]}"
[ "$(redis HGET "VLAN|Vlan7" description)" = storage ] || fail "a table was changed against the switch's policy"
mkdir -p /etc/lockstep
cat >/etc/lockstep/host.yaml <<'YAML'
apiVersion: lockstep.dev/v1alpha1
kind: HostPolicy
spec: {device: leaf0, tables: {allow: [VLAN]}}
YAML
expect 0 "done, 1 device touched" "$lockstep" apply "$specs" "${approved[@]}"
[ "$(saved '["VLAN"]["Vlan7"]["description"]')" = compute ] || fail "raw: is not saved"

kill "$agent_process"
wait "$agent_process" || fail "the agent ended with $?"
failed_none
