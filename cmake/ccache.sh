#!/bin/sh
# CCACHE BUILD COMPILER ARGUMENT...: compiles through ccache. What stands behind a precompiled header is found by what that
# header was made of, which is the same in every build and checkout, where its bytes hold their paths: ccache reads
# FILE.sum (its option pch_external_checksum), which this writes beside each that it has compiled. BUILD: the build's folder.
ccache=$1
build=$2
shift 2
"$ccache" "$@" || exit

output=""
previous=""
for argument; do
  [ "$previous" != -o ] || output=$argument
  previous=$argument
done
case $output in
  *.gch | *.pch)
    # The last -o counts. Text without its lines' origins, but with its macros, the options, and the compiler.
    text=$("$@" -E -P -dD -o - | sha256sum) || exit
    { "$1" --version && printf '%s\n' "$text" "$@" | sed "s|$build|.|g"; } | sha256sum >"$output.sum"
    ;;
esac
