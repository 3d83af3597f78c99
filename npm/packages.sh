# shellcheck shell=bash
# To be sourced. npm packages as a folder's package-lock.json pins them, by version and hash, in CARAVAN_CACHE.
#
#   npm_folder NAME FOLDER     where the packages of FOLDER are; named after what is asked for, so that checkouts which
#                              differ do not disturb each other
#   npm_install NAME FOLDER    installs them there, unless they are there
#   npm_installed NAME FOLDER  whether they are there

npm_cache=${CARAVAN_CACHE:-$HOME/.cache/caravan}/npm

npm_digest() { cat -- "$@" | sha256sum | cut -c1-12; }

npm_folder() { echo "$npm_cache/$1-$(npm_digest "$2/package.json" "$2/package-lock.json")"; }

npm_installed() { [[ -e $(npm_folder "$@")/installed ]]; }

npm_install() {
  local packages
  packages=$(npm_folder "$@")
  mkdir -p "$packages"
  exec 9>"$packages.lock"
  flock 9
  [[ ! -e $packages/installed ]] || return 0
  cp "$2/package.json" "$2/package-lock.json" "$packages"
  # Nothing of what is installed runs while it is installed.
  npm ci --prefix "$packages" --ignore-scripts --no-audit --no-fund
  touch "$packages/installed"
}
