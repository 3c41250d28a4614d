#!/bin/sh
# Compiles the kernels to SPIR-V. A product by tiles (gemm.glsl) is compiled for four sizes of tiles, as
# NAME-ROWSxCOLUMNS. With an argument, the files are written into that folder.
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
for f in *.comp; do
  name=${f%.comp}
  if grep -q gemm.glsl "$f"; then
    compile "$f" "$name-8x8" -DROWS=8 -DCOLUMNS=8
    compile "$f" "$name-8x2" -DROWS=8 -DCOLUMNS=2
    compile "$f" "$name-8x4" -DROWS=8 -DCOLUMNS=4
    compile "$f" "$name-4x4" -DROWS=4 -DCOLUMNS=4
  else
    compile "$f" "$name"
  fi
done
