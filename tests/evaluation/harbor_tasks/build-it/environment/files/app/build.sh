#!/bin/sh
# Builds the program, with the compiler that is named.
if [ "${COMPILER:-}" != tcc ]; then
    echo "build.sh: error: compiler 'cc' does not know target z9; set COMPILER=tcc" >&2
    exit 2
fi
mkdir -p out
echo "program for z9" >out/program
echo "made the program for z9"
