#!/usr/bin/env bash
# The page that draws the boards with Grafana's own panel components.
#
#   renderer.sh installed    whether its npm packages are there
#   renderer.sh install      installs them, as package-lock.json pins them, into CARAVAN_CACHE
#   renderer.sh build        makes the bundle from the sources here, unless it is there, and prints its folder
#
# Folders are named after what is in them, so that checkouts which differ do not disturb each other.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=npm/packages.sh
source "$here/../../npm/packages.sh"

packages=$(npm_folder dashboards "$here")
sources=("$here"/*.ts "$here"/*.tsx)
bundle=$npm_cache/bundle-$(npm_digest "$here/package-lock.json" "${sources[@]}")

build() {
  npm_installed dashboards "$here" || { echo "the renderer's packages are not installed: ./dev setup" >&2; exit 1; }
  if [[ ! -e $bundle/main.js ]]; then
    scratch=$(mktemp -d "$npm_cache/bundle-XXXXXX.new")
    trap 'rm -rf "$scratch"' EXIT
    # The sources lie outside of the folder with the packages: NODE_PATH says where these are.
    NODE_PATH=$packages/node_modules "$packages/node_modules/.bin/esbuild" "$here/main.tsx" --bundle --minify --jsx=automatic \
      --define:process.env.NODE_ENV='"production"' --outdir="$scratch" --log-level=error \
      --loader:.ttf=dataurl --loader:.svg=dataurl --loader:.png=dataurl --loader:.woff2=dataurl >&2
    mv -T "$scratch" "$bundle" 2>/dev/null || true  # somebody else was faster
  fi
  echo "$bundle"
}

case ${1:-} in
  installed) npm_installed dashboards "$here" ;;
  install) npm_install dashboards "$here" ;;
  build) build ;;
  *) sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
