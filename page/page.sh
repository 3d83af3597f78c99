#!/usr/bin/env bash
# The page of the job service, from npm packages that package-lock.json pins.
#
#   page.sh installed      whether the npm packages are there
#   page.sh install        installs them into CARAVAN_CACHE
#   page.sh build FILE.cc  bundles the page and writes it as C++, for service/page/page.h
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${CARAVAN_CACHE:-$HOME/.cache/caravan}/npm
# Named after what is in it, so that checkouts which differ do not disturb each other.
packages=$cache/page-$(cat -- "$here/package.json" "$here/package-lock.json" | sha256sum | cut -c1-12)

install() {
  mkdir -p "$packages"
  exec 9>"$packages.lock"
  flock 9
  [[ ! -e $packages/installed ]] || return 0
  cp "$here/package.json" "$here/package-lock.json" "$packages"
  # Nothing of what is installed runs while it is installed.
  npm ci --prefix "$packages" --ignore-scripts --no-audit --no-fund
  touch "$packages/installed"
}

case ${1:-} in
  installed) [[ -e $packages/installed ]] ;;
  install) install ;;
  build)
    [[ -e $packages/installed ]] || { echo "the page's npm packages are not installed: ./dev setup" >&2; exit 1; }
    NODE_PATH=$packages/node_modules node "$here/build.cjs" "$2"
    ;;
  *) sed -n '2,6s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
