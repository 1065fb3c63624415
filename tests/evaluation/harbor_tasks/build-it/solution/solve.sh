#!/bin/sh
cd /app && COMPILER=tcc sh build.sh
