# Sourced by api.sh and cluster.sh: what an API server needs, alone or in a cluster. Everything is in $folder:
# NAME.pid and NAME.log of each program, keys and certificates in pki/, kubeconfig (JSON, contexts admin and user).
# Uses $bin, the programs' folder; $server and $etcd, their URLs; ${inside[@]}, words before each command, as nsenter.
# Needs curl and openssl.
# shellcheck shell=bash

inside=()

say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }

# use_folder PATH: a new one, an empty one, or one that was used before, since it is removed in the end.
use_folder() {
  folder=$(realpath -m "$1")
  if [[ -d $folder && ! -e $folder/.cluster && -n $(ls -A "$folder") ]]; then
    say "$folder holds other files; name a new or an empty folder"
    exit 2
  fi
}

make_folder() {
  mkdir -p "$folder/pki"
  touch "$folder/.cluster"
}

wait_until() { # SECONDS WHAT COMMAND...
  local deadline=$((SECONDS + $1)) what=$2
  shift 2
  until "$@" >/dev/null 2>&1; do
    if ((SECONDS > deadline)); then
      tail -n 20 "$folder"/*.log >&2
      say "in vain waited until $what; the logs are in $folder"
      exit 1
    fi
    sleep 0.1
  done
}

# The first thread is a zombie, without a command line, while others still hold the port.
has_threads() { # PID
  local state
  state=$(cut -d' ' -f3 "/proc/$1/stat" 2>/dev/null) || return 1
  [[ $state != Z || $(find "/proc/$1/task" -mindepth 1 -maxdepth 1 2>/dev/null | wc -l) -gt 1 ]]
}

start_program() { # NAME COMMAND...
  local name=$1
  shift
  # Before what computes beside it, where it may: else an API server waits for tests that do not wait for it.
  # shellcheck disable=SC2016
  setsid "${inside[@]}" sh -c 'echo -10 2>/dev/null >/proc/self/autogroup; exec "$@"' sh "$@" >>"$folder/$name.log" 2>&1 </dev/null &
  echo $! >"$folder/$name.pid"
}

# program_pid NAME: prints nothing when it does not run. The pid may be somebody else's by now.
program_pid() {
  local pid
  pid=$(cat "$folder/$1.pid" 2>/dev/null) || return 0
  grep -qsF "$folder" "/proc/$pid/cmdline" || return 0
  # What nsenter started is its child.
  if grep -qsx nsenter "/proc/$pid/comm"; then pid=$(cat "/proc/$pid/task/$pid/children" 2>/dev/null) || return 0; fi
  echo "${pid% }"
}

kill_program() { # NAME
  local pid
  pid=$(program_pid "$1")
  if [[ -n $pid ]]; then
    kill -9 "$pid"
    while has_threads "$pid"; do sleep 0.05; done
  fi
  rm -f "$folder/$1.pid"
}

make_authority() {
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$folder/pki/ca.key" \
    -out "$folder/pki/ca.crt" -days 30 -subj /CN=caravan-test-authority \
    -addext keyUsage=critical,keyCertSign,digitalSignature 2>/dev/null
}

certificate() { # NAME SUBJECT EXTENSIONS
  local at="$folder/pki/$1"
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$at.key" -subj "$2" 2>/dev/null |
    openssl x509 -req -CA "$folder/pki/ca.crt" -CAkey "$folder/pki/ca.key" -CAcreateserial -days 30 -out "$at.crt" \
      -extfile <(printf '%b' "$3") 2>/dev/null
}

server_certificate() { # NAME ALTERNATIVE-NAMES
  certificate "$1" "/CN=$1" "subjectAltName=$2\nextendedKeyUsage=serverAuth"
}

client_certificate() { # NAME SUBJECT
  certificate "$1" "$2" 'extendedKeyUsage=clientAuth'
}

# make_certificates ALTERNATIVE-NAMES: of the API server and of those who may and may not do everything.
make_certificates() {
  make_authority
  server_certificate apiserver "$1"
  client_certificate admin /O=system:masters/CN=admin
  client_certificate user /CN=user
  openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out "$folder/pki/accounts.key" 2>/dev/null
}

write_kubeconfig() { # FILE USER...
  local file=$1 user keys contexts=() users=() pki="$folder/pki" IFS=,
  shift
  for user; do
    keys="{\"client-certificate\": \"$pki/$user.crt\", \"client-key\": \"$pki/$user.key\"}"
    contexts+=("{\"name\": \"$user\", \"context\": {\"cluster\": \"test\", \"user\": \"$user\"}}")
    users+=("{\"name\": \"$user\", \"user\": $keys}")
  done
  cat >"$file" <<JSON
{"apiVersion": "v1", "kind": "Config", "current-context": "$1",
 "clusters": [{"name": "test", "cluster": {"server": "$server", "certificate-authority": "$pki/ca.crt"}}],
 "contexts": [${contexts[*]}],
 "users": [${users[*]}]}
JSON
}

start_etcd() {
  local flags
  read -ra flags <<<"${ETCD_FLAGS---unsafe-no-fsync}"
  start_program etcd "$bin/etcd" --data-dir "$folder/etcd" "${flags[@]}" --listen-peer-urls http://127.0.0.1:0 \
    --listen-client-urls "$etcd" --advertise-client-urls "$etcd"
}

is_ready() {
  local pki="$folder/pki"
  curl -fs -m 5 --noproxy '*' --cacert "$pki/ca.crt" --cert "$pki/admin.crt" --key "$pki/admin.key" "$server/readyz"
}

# start_api_server FLAG...: with the policy in $folder/audit-policy.json; waits until it is ready.
start_api_server() {
  local pki="$folder/pki"
  start_program apiserver "$bin/kube-apiserver" --etcd-servers="$etcd" --profiling=false \
    --client-ca-file="$pki/ca.crt" --tls-cert-file="$pki/apiserver.crt" --tls-private-key-file="$pki/apiserver.key" \
    --service-account-issuer=https://kubernetes.default.svc --service-account-key-file="$pki/accounts.key" \
    --service-account-signing-key-file="$pki/accounts.key" --audit-policy-file="$folder/audit-policy.json" \
    --audit-log-path="$folder/audit.log" "$@"
  wait_until 180 "the API server was ready" is_ready
}

# What `eval` needs to use the API server from outside.
print_environment() {
  printf 'export KUBECONFIG=%q KUBECACHEDIR=%q PATH=%q:"$PATH"\n' "$folder/kubeconfig" "$folder/cache" "$bin"
}

# print_network_exception NETWORK: what `eval` needs to reach it beside a proxy. Programs read one of the
# names first, and the other only where that is not set; * is everything, to some only where it stands alone.
print_network_exception() {
  # shellcheck disable=SC2016
  printf 'case ",${NO_PROXY:-},,${no_proxy:-}," in
  *,\*,*) NO_PROXY="*" ;;
  *,%s,*,%s,*) ;;
  *) NO_PROXY="%s${NO_PROXY:+,$NO_PROXY}${no_proxy:+,$no_proxy}" ;;
esac
export NO_PROXY no_proxy="$NO_PROXY"\n' "$1" "$1" "$1"
}
