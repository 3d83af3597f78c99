#!/usr/bin/env bash
# A Kubernetes cluster of one node on this machine: etcd, the control plane, kubelet, containerd, kube-proxy, CoreDNS.
#   cluster.sh up FOLDER [MANIFEST...]     starts it, and applies the manifests before its controllers start
#   cluster.sh down FOLDER                 ends it, with everything that it made on this machine, and removes the folder
#   cluster.sh import FOLDER IMAGE.tar...  gives OCI image archives to its containerd
#   cluster.sh env FOLDER                  prints the exports with which kubectl, of the pinned version, finds it
#   cluster.sh sh FOLDER [COMMAND...]      runs a command inside: all its processes, mounts and addresses are visible
#   cluster.sh restart FOLDER PROGRAM      kills a program and starts it again, such as apiserver or kubelet
#   cluster.sh status FOLDER               which programs run, their memory, and the pods; fails when it is not up
# FOLDER/kubeconfig (JSON) has the contexts admin and user, who may do nothing; FOLDER/NAME.log is each program's log and
# FOLDER/audit.log what others than the cluster's own programs and administrators asked of the API server. From this
# machine the API server, pods and services are reached at their addresses; nothing leads out of the cluster.
# Several clusters, in folders of their own, may be up at once. What is up stays up; what is not is not taken down.
# Network policies are enforced (network_policies.py); volumes are made by hand (hostPath). Needs root and what `./dev setup` installs.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/cluster/programs.sh
source "$here/programs.sh"
# shellcheck source=tests/cluster/machine.sh
source "$here/machine.sh"
# shellcheck source=tests/cluster/node.sh
source "$here/node.sh"
pause_image=caravan.local/pause:1

# Not through a proxy of the environment, which reaches nothing here.
kubectl() { NO_PROXY='*' KUBECACHEDIR="$folder/cache" "$bin/kubectl" --kubeconfig "$folder/kubeconfig" "$@"; }

is_up() { [[ -e $folder/up && -n $(holder) ]]; }

require_up() {
  is_up || { say "no cluster is up in $folder"; exit 1; }
  enter_machine
}

import_images() { # IMAGE.tar...
  local image
  for image; do "${inside[@]}" ctr --namespace k8s.io images import "$(realpath "$image")" >/dev/null; done
}

import_pause() {
  "$here/../../deploy/images/oci_image.py" "$folder/pause.tar" --name "$pause_image" --entrypoint /pause \
    --file "$folder/pause=/pause" >/dev/null
  import_images "$folder/pause.tar"
}

start_programs() { # MANIFEST...
  local manifest
  start_containerd
  start_etcd
  wait_until 180 "containerd answered" "${inside[@]}" ctr version
  import_pause
  start_apiserver
  for manifest; do kubectl apply --server-side -f "$manifest" >/dev/null; done
  start_controllers
  start_scheduler
  start_kubelet
  start_proxy
  start_dns
  start_policies
}

await_cluster() {
  wait_until 180 "the node was ready" kubectl wait --for=condition=Ready "node/$node" --timeout=1s
  wait_until 180 "names were resolved" "${inside[@]}" bash -c ": </dev/tcp/$dns/53"
  wait_until 180 "there was a service account" kubectl get serviceaccount default
}

verb_up() {
  is_up && { say "is up: $folder"; return; }
  verb_down
  make_folder
  gcc -Os -static -s -o "$folder/pause" "$here/pause.c"
  make_machine
  write_settings
  start_programs "$@"
  await_cluster
  touch "$folder/up"
  say "ready: export KUBECONFIG=$folder/kubeconfig"
}

verb_down() {
  remove_machine
  rm -rf "$folder"
}

verb_import() {
  require_up
  import_images "$@"
}

verb_env() {
  require_up
  print_environment
  print_network_exception "$(<"$folder/network").0.0/16"
}

verb_sh() {
  require_up
  exec "${inside[@]}" "${@:-bash}"
}

verb_restart() {
  require_up
  [[ " ${programs[*]} " == *" ${1:-} "* ]] || { say "no program '${1:-}'; there are ${programs[*]}"; exit 2; }
  kill_program "$1"
  "start_$1"
}

print_memory() { # PROGRAM
  local pid memory="does not run"
  pid=$(program_pid "$1")
  [[ -z $pid ]] || memory=$(awk '/VmRSS/ { print int($2 / 1024), "MiB" }' "/proc/$pid/status")
  printf '%-12s %s\n' "$1" "$memory"
}

verb_status() {
  local program
  require_up
  for program in "${programs[@]}"; do print_memory "$program"; done
  kubectl get pods --all-namespaces
}

usage() {
  sed -n 2,9p "${BASH_SOURCE[0]}" >&2
  exit 2
}

[[ $# -ge 2 ]] || usage
verb=$1
case $verb in
  up | down | import | sh | restart | status) [[ $(id -u) == 0 ]] || { say "$verb needs root"; exit 1; } ;;
  env) ;;
  *) usage ;;
esac
use_folder "$2"
name_machine
[[ $verb == down ]] || bin=$("$here/build.sh" all)
"verb_$verb" "${@:3}"
