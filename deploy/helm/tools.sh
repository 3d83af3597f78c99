#!/usr/bin/env bash
# Builds what the chart is tested with from pinned Go modules: helm3, helm4, kubeconform.
#   tools.sh [PROGRAM...]   of these, or all, or none; prints the folder that holds them
# The folder also has the schemas that kubeconform cannot know by itself: swagger.json, of Kubernetes, and the definitions
# of the Prometheus operator. What is there already is not built again. JOBS: packages compiled at once. Needs Go.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=versions.env
source "$here/../../versions.env"
# shellcheck source=tests/cluster/go_programs.sh
source "$here/../../tests/cluster/go_programs.sh"
PROGRAMS=(helm3 helm4 kubeconform)
MONITORS=(podmonitors prometheusrules servicemonitors)

BIN="$ROOT/charts-$HELM3_VERSION-$HELM4_VERSION-$KUBECONFORM_VERSION-$KUBERNETES_VERSION-$PROMETHEUS_OPERATOR_VERSION"

# Which Kubernetes `helm template` takes for the cluster's, Helm is told where it is linked.
KNOWING_KUBERNETES=(helm.sh/helm/v3/pkg/{chartutil,lint/rules} helm.sh/helm/v4/pkg/{chart/common,chart/v2/lint/rules})

build_helm() { # MAJOR VERSION
  local stamps="-X helm.sh/helm/v$1/internal/version.version=v$2" package
  for package in "${KNOWING_KUBERNETES[@]}"; do
    stamps+=" -X $package.k8sVersionMajor=1 -X $package.k8sVersionMinor=$(cut -d. -f2 <<<"$KUBERNETES_VERSION")"
  done
  common_module
  go build -o "$BIN/helm$1" -ldflags "-s -w $stamps" "helm.sh/helm/v$1/cmd/helm"
}

build_kubeconform() {
  common_module
  go build -o "$BIN/kubeconform" -ldflags "-s -w" github.com/yannh/kubeconform/cmd/kubeconform
}

copy_schemas() {
  local from name
  mkdir -p "$BIN/schemas"
  from=$(source_of "github.com/prometheus-operator/prometheus-operator@v$PROMETHEUS_OPERATOR_VERSION")
  for name in "${MONITORS[@]}"; do
    install -m 644 "$from/example/prometheus-operator-crd/monitoring.coreos.com_$name.yaml" "$BIN/schemas/"
  done
  from=$(source_of "k8s.io/kubernetes@v$KUBERNETES_VERSION")
  install -m 644 "$from/api/openapi-spec/swagger.json" "$BIN/schemas/"
}

build() { # PROGRAM...
  local program
  for program; do
    [[ -x $BIN/$program ]] && continue
    use_go
    case $program in
      helm3) (build_helm 3 "$HELM3_VERSION") ;;
      helm4) (build_helm 4 "$HELM4_VERSION") ;;
      kubeconform) (copy_schemas && build_kubeconform) ;;
      *) echo "tools.sh: no program '$program'; there are ${PROGRAMS[*]}" >&2; exit 2 ;;
    esac
  done
}

[[ $# != 0 ]] || set -- "${PROGRAMS[@]}"
[[ $1 != none ]] || shift
mkdir -p "$BIN"
exec 9>"$ROOT/.lock"
flock 9
build "$@" >&2
echo "$BIN"
