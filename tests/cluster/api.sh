#!/usr/bin/env bash
# An API server with its etcd on loopback, without nodes or controllers: what tests of the client need.
#   api.sh up FOLDER        starts both; FOLDER/kubeconfig (JSON) has the contexts admin and user, who may do nothing
#   api.sh restart FOLDER   kills the API server and starts it again, with the same port and data
#   api.sh down FOLDER      kills both and removes the folder
# The programs are built at the first use (build.sh). Needs curl and openssl. As any user.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
verb=${1:?up, restart or down} folder=${2:?a folder}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)

say() { printf 'api.sh: %s\n' "$*" >&2; }

# The first thread is a zombie, without a command line, while others still hold the port.
has_threads() { # PID
  local state
  state=$(cut -d' ' -f3 "/proc/$1/stat" 2>/dev/null) || return 1
  [[ $state != Z || $(find "/proc/$1/task" -mindepth 1 -maxdepth 1 2>/dev/null | wc -l) -gt 1 ]]
}

kill_program() { # NAME
  local pid
  [[ -e $folder/$1.pid ]] || return 0
  pid=$(<"$folder/$1.pid")
  # The pid may be somebody else's by now.
  if grep -qsF "$folder" "/proc/$pid/cmdline"; then kill -9 "$pid"; fi
  while has_threads "$pid"; do sleep 0.05; done
  rm -f "$folder/$1.pid"
}

start_program() { # NAME COMMAND...
  local name=$1
  shift
  setsid "$@" >>"$folder/$name.log" 2>&1 </dev/null &
  echo $! >"$folder/$name.pid"
}

# Below the ports that the kernel gives to outgoing connections.
free_port() {
  local port
  while port=$((20000 + RANDOM % 12000)); do
    (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port"; return; }
  done
}

certificate() { # NAME SUBJECT EXTENSIONS
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$1.key" -subj "$2" 2>/dev/null |
    openssl x509 -req -CA ca.crt -CAkey ca.key -CAcreateserial -days 30 -out "$1.crt" -extfile <(printf '%b' "$3") 2>/dev/null
}

make_certificates() {
  (
    cd "$folder"
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca.key -out ca.crt -days 30 \
      -subj /CN=caravan-test-authority -addext keyUsage=critical,keyCertSign 2>/dev/null
    certificate server /CN=kube-apiserver 'subjectAltName=IP:127.0.0.1,DNS:localhost\nextendedKeyUsage=serverAuth'
    certificate admin /O=system:masters/CN=admin 'extendedKeyUsage=clientAuth'
    certificate user /CN=user 'extendedKeyUsage=clientAuth'
    openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out accounts.key 2>/dev/null
  )
}

write_kubeconfig() {
  cat >"$folder/kubeconfig" <<JSON
{"apiVersion": "v1", "kind": "Config", "current-context": "admin",
 "contexts": [{"name": "admin", "context": {"cluster": "test", "user": "admin"}},
              {"name": "user", "context": {"cluster": "test", "user": "user"}}],
 "clusters": [{"name": "test",
               "cluster": {"server": "https://127.0.0.1:$(<"$folder/port")", "certificate-authority": "ca.crt"}}],
 "users": [{"name": "admin", "user": {"client-certificate": "admin.crt", "client-key": "admin.key"}},
           {"name": "user", "user": {"client-certificate": "user.crt", "client-key": "user.key"}}]}
JSON
}

start_etcd() {
  local url
  url="http://127.0.0.1:$(<"$folder/etcd-port")"
  start_program etcd "$bin/etcd" --data-dir "$folder/etcd" --unsafe-no-fsync --listen-peer-urls http://127.0.0.1:0 \
    --listen-client-urls "$url" --advertise-client-urls "$url"
}

start_api_server() {
  local port
  port=$(<"$folder/port")
  start_program apiserver "$bin/kube-apiserver" --etcd-servers="http://127.0.0.1:$(<"$folder/etcd-port")" \
    --bind-address=127.0.0.1 --secure-port="$port" --service-cluster-ip-range=10.0.0.0/24 \
    --endpoint-reconciler-type=none --profiling=false --authorization-mode=RBAC \
    --disable-admission-plugins=ServiceAccount --client-ca-file="$folder/ca.crt" \
    --tls-cert-file="$folder/server.crt" --tls-private-key-file="$folder/server.key" \
    --service-account-issuer=https://kubernetes.default.svc --service-account-key-file="$folder/accounts.key" \
    --service-account-signing-key-file="$folder/accounts.key"
  for _ in $(seq 600); do
    if curl -fs --cacert "$folder/ca.crt" --cert "$folder/admin.crt" --key "$folder/admin.key" -o "$folder/readyz" \
      "https://127.0.0.1:$port/readyz"; then
      say "ready: export KUBECONFIG=$folder/kubeconfig"
      return
    fi
    sleep 0.2
  done
  tail -n 20 "$folder"/*.log >&2
  say "the API server did not become ready"
  exit 1
}

up() {
  down
  mkdir -p "$folder"
  make_certificates
  free_port >"$folder/port"
  free_port >"$folder/etcd-port"
  write_kubeconfig
  start_etcd
  start_api_server
}

restart() {
  kill_program apiserver
  start_api_server
}

down() {
  kill_program apiserver
  kill_program etcd
  rm -rf "$folder"
}

case $verb in
  up | restart) bin=$("$here/build.sh" etcd kube-apiserver) && "$verb" ;;
  down) down ;;
  *) sed -n 2,6p "${BASH_SOURCE[0]}" >&2; exit 2 ;;
esac
