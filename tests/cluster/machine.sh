# Sourced by cluster.sh: a machine within this machine for the cluster in $folder. Processes, mounts, interfaces and
# packet filters are in namespaces of their own and vanish with their first process, the holder. Here are only one end
# of a link with a route to it, and the cgroups of the pods. All names come from the folder's path, so that a machine
# is found, and removed, without any file; the first free 10.N.0.0/16, N from 128, is written to $folder/network.
# Needs root and iproute2.
# shellcheck shell=bash

name_machine() {
  local id
  id=$(sha256sum <<<"$folder" | cut -c1-8)
  # An interface's name has at most 15 characters.
  link=caravan$id
  cgroup=/caravan-$id
}

# Prints the holder's pid, or nothing. (An argument of grep would find grep.)
holder() {
  grep -lszxF -f - /proc/[0-9]*/cmdline <<<"caravan-cluster $folder" | cut -d/ -f3 || true
}

# Sets $inside, and the addresses.
enter_machine() {
  local network
  network=$(<"$folder/network")
  pods=$network.0.0/24 gateway=$network.0.1 services=$network.128.0/20 dns=169.254.20.10
  node_address=$network.255.2 server=https://$network.255.2:6443 etcd=http://127.0.0.1:2379
  # Not this machine's environment: a proxy or a token has no business there.
  inside=(nsenter --target "$(holder)" --net --mount --pid --uts -- env -i HOME="$folder"
    PATH="$bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    KUBECONFIG="$folder/kubeconfig" KUBECACHEDIR="$folder/cache")
}

has_holder() { [[ -n $(holder) ]]; }

start_holder() {
  setsid unshare --net --mount --pid --uts --mount-proc --propagation private --kill-child \
    "$here/holder.sh" "$folder" >"$folder/holder.log" 2>&1 </dev/null &
  wait_until 60 "the namespaces were there" has_holder
}

# The route is the claim: of two clusters that want the same network, one gets it.
connect_machine() {
  local number
  ip link add "$link" type veth peer name eth0 netns "$(holder)"
  ip link set "$link" up
  for number in {128..254}; do
    [[ -z $(ip route show root "10.$number.0.0/16") ]] || continue
    ip route add "10.$number.0.0/16" via "10.$number.255.2" dev "$link" onlink 2>/dev/null || continue
    ip address add "10.$number.255.1/30" dev "$link"
    echo "10.$number" >"$folder/network"
    return
  done
  say "no network from 10.128.0.0/16 to 10.254.0.0/16 is free"
  exit 1
}

# There is no way out to other machines: what a pod wants there fails at once.
configure_network() {
  [[ -e /proc/sys/net/bridge ]] || modprobe br_netfilter
  "${inside[@]}" bash -euc "
    ip link set lo up
    ip address add $node_address/30 dev eth0
    ip link set eth0 up
    ip link add cni0 type bridge
    ip address add $gateway/24 dev cni0
    ip address add $dns/32 dev cni0
    ip link set cni0 up
    ip route add $services dev cni0
    for switch in ipv4/ip_forward ipv4/conf/all/route_localnet bridge/bridge-nf-call-iptables; do
      echo 1 >/proc/sys/net/\$switch
    done"
}

# All pods together have of a busy machine what three threads of other tests have; the default is one.
make_cgroups() {
  local root=/sys/fs/cgroup controller name
  if [[ -e $root/cgroup.controllers ]]; then
    for controller in $(<$root/cgroup.controllers); do
      echo "+$controller" >$root/cgroup.subtree_control || say "no cgroup controller $controller for pods"
    done
    mkdir "$root$cgroup"
    [[ ! -e $root$cgroup/cpu.weight ]] || echo 300 >"$root$cgroup/cpu.weight"
    return
  fi
  for controller in "$root"/*/; do
    [[ -e $controller/tasks ]] && mkdir -p "$controller$cgroup"
  done
  for name in cpuset.cpus cpuset.mems; do cat "$root/cpuset/$name" >"$root/cpuset$cgroup/$name"; done
  echo 3072 >"$root/cpu$cgroup/cpu.shares"
}

cgroup_folders() { find /sys/fs/cgroup -mindepth 1 -maxdepth 2 -type d -name "${cgroup#/}"; }

are_cgroups_gone() {
  cgroup_folders | while read -r each; do find "$each" -depth -type d -exec rmdir {} + || true; done
  [[ -z $(cgroup_folders) ]]
}

is_link_gone() {
  ip link delete "$link" || true
  [[ ! -e /sys/class/net/$link ]]
}

make_machine() {
  start_holder
  connect_machine
  enter_machine
  configure_network
  make_cgroups
}

remove_machine() {
  local pid
  pid=$(holder)
  if [[ -n $pid ]]; then
    kill -9 "$pid"
    while has_threads "$pid"; do sleep 0.05; done
  fi
  wait_until 60 "the link $link was gone" is_link_gone
  wait_until 60 "the cgroups $cgroup were gone" are_cgroups_gone
}
