# Sourced by cluster.sh: the programs of the cluster's node and of its control plane, their settings and how each is
# started. start_NAME starts NAME inside the machine (machine.sh); nothing is waited for but the API server.
# Needs containerd, runc, CNI plugins and nftables.
# shellcheck shell=bash

node=caravan-node
# Of the order in which they start.
programs=(containerd etcd apiserver controllers scheduler kubelet proxy dns policies)

make_node_certificates() {
  make_certificates "DNS:kubernetes.default.svc,IP:127.0.0.1,IP:$node_address,IP:${services%.0/*}.1"
  server_certificate kubelet "DNS:$node,IP:$node_address"
  client_certificate node "/O=system:nodes/CN=system:node:$node"
  client_certificate kubelet-client /O=system:masters/CN=kube-apiserver-kubelet-client
  client_certificate front-proxy /CN=front-proxy
  client_certificate controllers /CN=system:kube-controller-manager
  client_certificate scheduler /CN=system:kube-scheduler
  client_certificate proxy /CN=system:kube-proxy
}

write_kubeconfigs() {
  local user
  write_kubeconfig "$folder/kubeconfig" admin user
  for user in node controllers scheduler proxy; do write_kubeconfig "$folder/pki/$user.kubeconfig" "$user"; done
  [[ -z ${SUDO_UID:-} ]] || chown -R "$SUDO_UID" "$folder/pki" "$folder/kubeconfig"
}

# The kernel grants no CAP_SYS_RESOURCE to root in some virtual machines: without restrict_oom_score_adj, no pod starts.
write_containerd_settings() {
  cat >"$folder/containerd.toml" <<TOML
version = 2
root = "$folder/containerd"
[plugins."io.containerd.internal.v1.opt"]
  path = "$folder/containerd/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "$pause_image"
  disable_apparmor = true
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "$folder/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
TOML
  mkdir -p "$folder/cni"
  cat >"$folder/cni/bridge.conflist" <<JSON
{"cniVersion": "1.0.0", "name": "pods", "plugins": [
  {"type": "bridge", "bridge": "cni0", "isGateway": true, "hairpinMode": true,
   "ipam": {"type": "host-local", "ranges": [[{"subnet": "$pods", "gateway": "$gateway"}]],
            "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
JSON
}

write_kubelet_settings() {
  : >"$folder/resolv.conf"
  cat >"$folder/kubelet.json" <<JSON
{"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
 "syncFrequency": "10s",
 "tlsCertFile": "$folder/pki/kubelet.crt", "tlsPrivateKeyFile": "$folder/pki/kubelet.key",
 "authentication": {"x509": {"clientCAFile": "$folder/pki/ca.crt"}, "webhook": {"enabled": true},
                    "anonymous": {"enabled": false}},
 "authorization": {"mode": "Webhook"},
 "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
 "cgroupDriver": "cgroupfs", "cgroupRoot": "$cgroup", "failCgroupV1": false, "failSwapOn": false,
 "clusterDNS": ["$dns"], "clusterDomain": "cluster.local", "resolvConf": "$folder/resolv.conf",
 "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
 "imageGCHighThresholdPercent": 100, "maxPods": 200, "nodeStatusUpdateFrequency": "5s",
 "podLogsDir": "$folder/pod-logs", "volumePluginDir": "$folder/volume-plugins", "shutdownGracePeriod": "0s"}
JSON
}

write_dns_settings() {
  cat >"$folder/Corefile" <<COREFILE
.:53 {
  errors
  kubernetes cluster.local in-addr.arpa {
    kubeconfig $folder/kubeconfig admin
  }
}
COREFILE
}

# Who else did what: the requests of the programs above would hide those of the tests' subjects.
write_audit_policy() {
  cat >"$folder/audit-policy.json" <<'JSON'
{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": [
  {"level": "None", "userGroups": ["system:masters", "system:nodes", "system:serviceaccounts:kube-system"]},
  {"level": "None", "users": ["system:kube-controller-manager", "system:kube-scheduler", "system:kube-proxy",
                              "system:apiserver", "system:anonymous"]},
  {"level": "Metadata"}]}
JSON
}

write_settings() {
  make_node_certificates
  write_kubeconfigs
  write_containerd_settings
  write_kubelet_settings
  write_dns_settings
  write_audit_policy
}

start_containerd() { start_program containerd containerd --config "$folder/containerd.toml"; }

start_apiserver() {
  local pki="$folder/pki"
  start_api_server --bind-address=0.0.0.0 --advertise-address="$node_address" \
    --service-cluster-ip-range="$services" --authorization-mode=Node,RBAC \
    --enable-admission-plugins=NodeRestriction,OwnerReferencesPermissionEnforcement --allow-privileged=true \
    --kubelet-preferred-address-types=InternalIP --kubelet-client-certificate="$pki/kubelet-client.crt" \
    --kubelet-client-key="$pki/kubelet-client.key" --kubelet-certificate-authority="$pki/ca.crt" \
    --requestheader-client-ca-file="$pki/ca.crt" \
    --requestheader-allowed-names=front-proxy --requestheader-username-headers=X-Remote-User \
    --requestheader-group-headers=X-Remote-Group --requestheader-extra-headers-prefix=X-Remote-Extra- \
    --proxy-client-cert-file="$pki/front-proxy.crt" --proxy-client-key-file="$pki/front-proxy.key"
}

# The limits on requests are raised because tests wait for what comes late otherwise: the first service account, the
# first bound volume.
start_controllers() {
  local pki="$folder/pki" config="$folder/pki/controllers.kubeconfig"
  start_program controllers "$bin/kube-controller-manager" --kubeconfig="$config" \
    --authentication-kubeconfig="$config" --authorization-kubeconfig="$config" --bind-address=127.0.0.1 \
    --leader-elect=false --profiling=false --use-service-account-credentials=true \
    --service-account-private-key-file="$pki/accounts.key" --root-ca-file="$pki/ca.crt" \
    --cluster-signing-cert-file="$pki/ca.crt" --cluster-signing-key-file="$pki/ca.key" \
    --allocate-node-cidrs=false --pvclaimbinder-sync-period=1s --kube-api-qps=500 --kube-api-burst=1000
}

start_scheduler() {
  local config="$folder/pki/scheduler.kubeconfig"
  start_program scheduler "$bin/kube-scheduler" --kubeconfig="$config" --authentication-kubeconfig="$config" \
    --authorization-kubeconfig="$config" --bind-address=127.0.0.1 --leader-elect=false --profiling=false \
    --kube-api-qps=1000 --kube-api-burst=1000
}

start_kubelet() {
  start_program kubelet "$bin/kubelet" --config="$folder/kubelet.json" --kubeconfig="$folder/pki/node.kubeconfig" \
    --root-dir="$folder/kubelet" --cert-dir="$folder/pki/kubelet" --hostname-override="$node" \
    --node-ip="$node_address" --v=2
}

# Sysctls of connection tracking cannot be written in a network namespace.
start_proxy() {
  start_program proxy "$bin/kube-proxy" --kubeconfig="$folder/pki/proxy.kubeconfig" --proxy-mode=nftables \
    --hostname-override="$node" --cluster-cidr="$pods" --conntrack-max-per-core=0 \
    --conntrack-tcp-timeout-established=0 --conntrack-tcp-timeout-close-wait=0
}

# A process of the node at the address of NodeLocal DNSCache, which pods ask directly.
start_dns() { start_program dns "$bin/coredns" -conf "$folder/Corefile"; }

start_policies() { start_program policies "$here/network_policies.py" "$folder/kubeconfig"; }
