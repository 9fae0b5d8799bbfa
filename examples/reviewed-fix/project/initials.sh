#!/bin/sh
# Prints the initials of a name: `sh initials.sh "Ada Lovelace"` should print AL.
printf '%s\n' "$1" |
  sed -e 's/\([^ ]\)[^ ]* */\1/g'
