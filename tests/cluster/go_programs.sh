# Sourced by what builds programs of pinned versions from Go modules. Needs versions.env; uses $ROOT, the folder of builds.
# shellcheck shell=bash

ROOT="${CARAVAN_CACHE:-$HOME/.cache/caravan}/kubernetes"
# -mod=mod: what is needed is looked up during the build, and nothing else is downloaded.
# GOGC: the compiler takes more memory, and an eighth less time. A ninth are notes for debuggers, which no linker keeps.
export CGO_ENABLED=0 GOGC=500 GOFLAGS="-mod=mod -modcacherw -gcflags=all=-dwarf=false -p=${JOBS:-$(nproc)}"

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
