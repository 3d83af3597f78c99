# Sourced by what builds programs of pinned versions from Go modules. Needs versions.env; uses $ROOT, the folder of builds.
# shellcheck shell=bash

ROOT="${CARAVAN_CACHE:-$HOME/.cache/caravan}/kubernetes"
# -mod=mod: what is needed is looked up during the build, and nothing else is downloaded.
# GOGC: the compiler takes more memory, and an eighth less time. A ninth are notes for debuggers, which no linker keeps,
# and a quarter goes to inlining, which Kubernetes' own packages do without.
export CGO_ENABLED=0 GOGC=500 GOFLAGS="-mod=mod -modcacherw -p=${JOBS:-$(nproc)} -gcflags=all=-dwarf=false
  '-gcflags=k8s.io/...=-dwarf=false -l'"

is_new_enough() { [[ $(printf '%s\n' "$GO_VERSION" "$1" | sort -V | head -n1) == "$GO_VERSION" ]]; }

# Debian's Go, which is older, fetches the pinned one, as a module.
use_go() {
  local version module at="$ROOT/go-$GO_VERSION"
  version=$(go env GOVERSION)
  is_new_enough "${version#go}" && return
  module="golang.org/toolchain@v0.0.1-go$GO_VERSION.linux-$(go env GOARCH)"
  if [[ ! -d $at ]]; then
    GOFLAGS=-modcacherw GOMODCACHE="$ROOT/toolchain" go mod download "$module"
    # The archive of a module holds no permissions.
    chmod -R u+x "$ROOT/toolchain/$module/bin" "$ROOT/toolchain/$module/pkg/tool"
    mv "$ROOT/toolchain/$module" "$at"
  fi
  PATH="$at/bin:$PATH"
}

# module FOLDER LINE...: an empty module for the build to fill.
module() {
  mkdir -p "$1"
  cd "$1"
  shift
  [[ -e go.mod ]] || printf '%s\n' "module caravan.dev/cluster" "go ${GO_VERSION%.*}" "$@" >go.mod
}

# source_of MODULE@VERSION: the folder of its files.
source_of() { go mod download -json "$1" | sed -n 's/^[[:space:]]*"Dir": "\(.*\)",\?$/\1/p'; }

# k8s.io/kubernetes replaces these modules by folders of its own, which a module that requires it must do by version.
STAGING=(api apiextensions-apiserver apimachinery apiserver cli-runtime client-go cloud-provider cluster-bootstrap
  code-generator component-base component-helpers controller-manager cri-api cri-client csi-translation-lib
  dynamic-resource-allocation endpointslice externaljwt kms kube-aggregator kube-controller-manager kube-proxy
  kube-scheduler kubectl kubelet metrics mount-utils pod-security-admission sample-apiserver)

# One module of all programs that tests start each day: they are built from the same packages, the newest that one of
# them asks for, and each of these is compiled once.
common_module() {
  local name lines=()
  for name in "${STAGING[@]}"; do
    lines+=("replace k8s.io/$name => k8s.io/$name v0.${KUBERNETES_VERSION#1.}")
  done
  for name in "k8s.io/kubernetes v$KUBERNETES_VERSION" "go.etcd.io/etcd/server/v3 v$ETCD_VERSION" \
    "github.com/coredns/coredns v$COREDNS_VERSION" "helm.sh/helm/v3 v$HELM3_VERSION" "helm.sh/helm/v4 v$HELM4_VERSION" \
    "github.com/yannh/kubeconform v$KUBECONFORM_VERSION"; do
    lines+=("require $name")
  done
  module "$ROOT/src/programs-$(printf '%s\n' "${lines[@]}" | cksum | cut -d' ' -f1)" "${lines[@]}"
}
