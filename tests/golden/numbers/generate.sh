#!/usr/bin/env bash
# Writes numbers.tsv anew, with the library of the Kubernetes that the test cluster has. Needs Go.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=versions.env
source "$here/../../../versions.env"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp "$here/main.go" "$folder"
cd "$folder"
printf '%s\n' "module caravan.dev/numbers" "go ${GO_VERSION%.*}" \
  "require k8s.io/apimachinery v0.${KUBERNETES_VERSION#1.}" >go.mod
GOFLAGS=-mod=mod go run . >"$here/numbers.tsv"
