#!/bin/sh
# CCACHE BUILD COMPILER ARGUMENT...: compiles through ccache. What stands behind a precompiled header is found by what that
# header was made of, which is the same in every build and checkout, where its bytes hold their paths: ccache reads
# FILE.sum (its option pch_external_checksum), which this writes beside each that it has compiled. BUILD: the build's folder.
ccache=$1
build=$2
shift 2
export CCACHE_NOHASHDIR=true CCACHE_PCH_EXTSUM=true
export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
# Of what is compiled for a sanitizer, the text behind the preprocessor is in no other build.
case " $* " in *" -fsanitize="*) export CCACHE_DEPEND=true ;; esac
"$ccache" "$@" || exit

output="" dependencies="" previous=""
for argument; do
  case $previous in
    -o) output=$argument ;;
    -MF) dependencies=$argument ;;
  esac
  previous=$argument
done
case $output in
  *.gch | *.pch)
    # The compiler, the options, and every file that was read.
    [ -s "$dependencies" ] || { echo "ccache.sh: no -MF FILE says what $output was made of" >&2; exit 1; }
    {
      "$1" --version &&
        printf '%s\n' "$@" | sed "s|$build|.|g" &&
        sed '1s/^[^:]*://; s/\\$//' "$dependencies" | xargs -r cat
    } >"$output.read" || exit
    sha256sum <"$output.read" >"$output.sum" && rm "$output.read"
    ;;
esac
