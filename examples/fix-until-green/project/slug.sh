#!/bin/sh
# Turns a title into a slug: `sh slug.sh "Hello, World!"` should print hello-world.
printf '%s\n' "$1" |
  sed -e 's/[^A-Za-z0-9]/-/g'
