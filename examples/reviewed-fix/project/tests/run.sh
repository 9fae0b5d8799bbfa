#!/bin/sh
# Tests initials.sh; prints one line a test and ends with 1 if any failed.
cd "$(dirname "$0")/.." || exit 2
failed=0

# expect NAME INITIALS
expect() {
  got=$(sh initials.sh "$1")
  if [ "$got" = "$2" ]; then
    echo "ok - $1"
  else
    failed=1
    echo "not ok - $1: got '$got', expected '$2'"
  fi
}

expect "Ada Lovelace" "AL"
expect "grace hopper" "GH"
expect "  Alan Turing" "AT"

exit "$failed"
