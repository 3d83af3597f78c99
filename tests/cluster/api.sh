#!/usr/bin/env bash
# An API server with its etcd on loopback, without nodes or controllers: what tests of the client need.
#   api.sh up FOLDER        starts both; FOLDER/kubeconfig (JSON) has the contexts admin and user, who may do nothing,
#                           FOLDER/audit.log tells who wrote what
#   api.sh keep FOLDER      as up, but a server that runs there stays, with its data
#   api.sh restart FOLDER   kills the API server and starts it again, with the same port and data
#   api.sh env FOLDER       prints the exports with which kubectl, of the pinned version, finds it
#   api.sh down FOLDER      kills both and removes the folder
# ETCD_FLAGS, where it is set, stands in the place of --unsafe-no-fsync, which is right for tests only.
# The programs are built at the first use (build.sh). Needs curl and openssl. As any user.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/cluster/programs.sh
source "$here/programs.sh"

# Below the ports that the kernel gives to outgoing connections.
free_port() {
  local port
  while port=$((20000 + RANDOM % 12000)); do
    (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port"; return; }
  done
}

write_audit_policy() {
  cat >"$folder/audit-policy.json" <<'JSON'
{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
 "rules": [{"level": "Metadata", "verbs": ["create", "update", "patch", "delete"]}, {"level": "None"}]}
JSON
}

use_ports() {
  server="https://127.0.0.1:$(<"$folder/port")"
  etcd="http://127.0.0.1:$(<"$folder/etcd-port")"
}

start() {
  start_api_server --bind-address=127.0.0.1 --secure-port="${server##*:}" --service-cluster-ip-range=10.0.0.0/24 \
    --endpoint-reconciler-type=none --authorization-mode=RBAC --disable-admission-plugins=ServiceAccount \
    --allow-privileged=true
}

up() {
  down
  make_folder
  make_certificates IP:127.0.0.1,DNS:localhost
  free_port >"$folder/port"
  free_port >"$folder/etcd-port"
  use_ports
  write_kubeconfig "$folder/kubeconfig" admin user
  write_audit_policy
  start_etcd
  start
  say "ready: export KUBECONFIG=$folder/kubeconfig"
}

is_up() { [[ -n $(program_pid etcd) && -n $(program_pid apiserver) ]]; }

keep() {
  is_up || { up; return; }
  use_ports
  wait_until 180 "the API server was ready" is_ready
  say "is up: $folder"
}

restart() {
  use_ports
  kill_program apiserver
  start
}

down() {
  kill_program apiserver
  kill_program etcd
  rm -rf "$folder"
}

usage() {
  sed -n 2,10p "${BASH_SOURCE[0]}" >&2
  exit 2
}

environment() {
  [[ -e $folder/kubeconfig ]] || { say "no API server is up in $folder"; exit 1; }
  bin=$("$here/build.sh" kubectl)
  print_environment
}

[[ $# == 2 ]] || usage
use_folder "$2"
case $1 in
  up | keep | restart) bin=$("$here/build.sh" etcd kube-apiserver) && "$1" ;;
  env) environment ;;
  down) down ;;
  *) usage ;;
esac
