#!/usr/bin/env bash
# Builds programs of the test cluster from pinned Go modules.
#   build.sh [PROGRAM...]   of the lists below, or a list: all, queues, gangs; prints the folder that holds them
# A program of the pinned version that is there already is not built again. JOBS: packages compiled at once.
# Needs Go; one that is too old fetches the pinned one, as a module.
set -euo pipefail
# shellcheck source=versions.env
source "$(dirname "${BASH_SOURCE[0]}")/../../versions.env"
# And of systems that place whole gangs: Kueue, with the manifests that install it in NAME.config, and the definitions
# of the PodGroups of Volcano and of coscheduling.
KUEUE="kueue-$KUEUE_VERSION"
POD_GROUPS="pod-groups-$VOLCANO_VERSION-$COSCHEDULING_VERSION"
# And their own schedulers, with all that defines their objects in NAME.config.
VOLCANO="volcano-scheduler-$VOLCANO_VERSION"
COSCHEDULING="coscheduling-scheduler-$COSCHEDULING_VERSION"
PROGRAMS=(etcd kube-apiserver kube-controller-manager kube-scheduler kubelet kube-proxy kubectl coredns)
QUEUES=("$KUEUE" "$POD_GROUPS")
GANGS=("$VOLCANO" "$COSCHEDULING")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/cluster/go_programs.sh
source "$here/go_programs.sh"

BIN="$ROOT/bin-$KUBERNETES_VERSION-$ETCD_VERSION-$COREDNS_VERSION"

# build_kubernetes PROGRAM...: together, so that one is linked while another compiles.
build_kubernetes() {
  local stamp=k8s.io/component-base/version
  common_module
  go build -o "$BIN/" -ldflags "-s -w -X $stamp.gitVersion=v$KUBERNETES_VERSION
    -X $stamp.gitMajor=1 -X $stamp.gitMinor=$(cut -d. -f2 <<<"$KUBERNETES_VERSION")" "${@/#/k8s.io/kubernetes/cmd/}"
}

build_etcd() {
  common_module
  go build -o "$BIN/etcd" -ldflags "-s -w" go.etcd.io/etcd/server/v3
}

build_coredns() {
  common_module
  mkdir -p coredns
  cp "$here/coredns/main.go" coredns
  go build -o "$BIN/coredns" -ldflags "-s -w" ./coredns
}

# The program comes last: with it, all is there.
build_kueue() {
  module "$ROOT/src/$KUEUE" "require sigs.k8s.io/kueue v$KUEUE_VERSION"
  rm -rf "$BIN/$KUEUE.config"
  cp -r --no-preserve=mode "$(source_of "sigs.k8s.io/kueue@v$KUEUE_VERSION")/config" "$BIN/$KUEUE.config"
  go build -o "$BIN/$KUEUE" -ldflags "-s -w" sigs.k8s.io/kueue/cmd/kueue
}

copy_pod_groups() {
  local into="$BIN/$POD_GROUPS" volcano coscheduling
  module "$ROOT/src/$POD_GROUPS"
  volcano=$(source_of "volcano.sh/volcano@v$VOLCANO_VERSION")
  coscheduling=$(source_of "sigs.k8s.io/scheduler-plugins@v$COSCHEDULING_VERSION")
  rm -rf "$into.new"
  mkdir -p "$into.new"
  cp --no-preserve=mode "$volcano/config/crd/volcano/bases/scheduling.volcano.sh_podgroups.yaml" \
    "$coscheduling/config/crd/bases/scheduling.x-k8s.io_podgroups.yaml" "$into.new"
  mv "$into.new" "$into"
}

# build_scheduler NAME MODULE VERSION DEFINITIONS: the module's cmd/scheduler. What it replaces is replaced here too,
# since Go asks only the module that is built for that.
build_scheduler() {
  local source
  source=$(cd / && GOFLAGS=-modcacherw source_of "$2@v$3")
  module "$ROOT/src/$1" "require $2 v$3" "$(sed -n '/^replace (/,/^)/p; /^replace [^(]/p' "$source/go.mod")"
  rm -rf "$BIN/$1.config"
  cp -r --no-preserve=mode "$source/$4" "$BIN/$1.config"
  go build -o "$BIN/$1" -ldflags "-s -w" "$2/cmd/scheduler"
}

# build PROGRAM...: those that are not there.
build() {
  local program kubernetes=()
  for program; do [[ $program != kube* || -x $BIN/$program ]] || kubernetes+=("$program"); done
  for program; do
    [[ -x $BIN/$program ]] && continue
    use_go
    case $program in
      etcd) (build_etcd) ;;
      coredns) (build_coredns) ;;
      "$KUEUE") (build_kueue) ;;
      "$POD_GROUPS") (copy_pod_groups) ;;
      "$VOLCANO") (build_scheduler "$VOLCANO" volcano.sh/volcano "$VOLCANO_VERSION" config/crd/volcano/bases) ;;
      "$COSCHEDULING")
        (build_scheduler "$COSCHEDULING" sigs.k8s.io/scheduler-plugins "$COSCHEDULING_VERSION" config/crd/bases) ;;
      kube*) (build_kubernetes "${kubernetes[@]}") ;;
      *) echo "build.sh: no program '$program'; there are ${PROGRAMS[*]} ${QUEUES[*]} ${GANGS[*]}" >&2; exit 2 ;;
    esac
  done
}

[[ ${1:-} == all ]] && set -- "${PROGRAMS[@]}"
[[ ${1:-} == queues ]] && set -- "${QUEUES[@]}"
[[ ${1:-} == gangs ]] && set -- "${GANGS[@]}"
mkdir -p "$BIN"
exec 9>"$ROOT/.lock"
flock 9
build "$@" >&2
echo "$BIN"
