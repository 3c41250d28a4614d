#!/bin/sh
# Compiles the kernels to SPIR-V. A product by tiles (gemm.glsl) is compiled for several sizes of tiles, as
# NAME-HEIGHTxWIDTH. With an argument, the files are written into that folder.
# glslangValidator 12.0.0 and spirv-val come from Debian 12's glslang-tools and spirv-tools.
set -e
cd "$(dirname "$0")"
out=${1:-.}
compile() { # source, result, definitions
  source=$1 result=$out/$2.spv
  shift 2
  glslangValidator -V --target-env vulkan1.1 --quiet -I. "$@" "$source" -o "$result"
  spirv-val --target-env vulkan1.1 "$result"
}
tile() { # source, height and width of the tile, height of the group of threads
  compile "$1" "${1%.comp}-$2x$3" -DHEIGHT="$4" -DROWS=$(($2 / $4)) -DCOLUMNS=$(($3 / 8)) -DREAD=$(($3 / $4))
}
for f in *.comp; do
  if grep -q gemm.glsl "$f"; then
    tile "$f" 128 64 16
    tile "$f" 128 32 16
    tile "$f" 64 64 8
    tile "$f" 64 32 8
    tile "$f" 64 16 8
    tile "$f" 32 32 8
  else
    compile "$f" "${f%.comp}"
  fi
done
