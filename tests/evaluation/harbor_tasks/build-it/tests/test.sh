#!/bin/sh
if grep -q z9 /app/out/program; then echo 1; else echo 0; fi >/logs/verifier/reward.txt
