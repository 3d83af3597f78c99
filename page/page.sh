#!/usr/bin/env bash
# The page of the job service, from npm packages that package-lock.json pins.
#
#   page.sh installed      whether the npm packages are there
#   page.sh install        installs them into CARAVAN_CACHE
#   page.sh build FILE.cc  bundles the page and writes it as C++, for service/page/page.h
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=npm/packages.sh
source "$here/../npm/packages.sh"

case ${1:-} in
  installed) npm_installed page "$here" ;;
  install) npm_install page "$here" ;;
  build)
    npm_installed page "$here" || { echo "the page's npm packages are not installed: ./dev setup" >&2; exit 1; }
    NODE_PATH=$(npm_folder page "$here")/node_modules node "$here/build.cjs" "$2"
    ;;
  *) sed -n '2,6s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
