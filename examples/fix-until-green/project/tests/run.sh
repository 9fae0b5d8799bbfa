#!/bin/sh
# Tests slug.sh; prints one line a test and ends with 1 if any failed.
cd "$(dirname "$0")/.." || exit 2
number=0
failed=0

# expect NAME TITLE SLUG
expect() {
  number=$((number + 1))
  got=$(sh slug.sh "$2")
  if [ "$got" = "$3" ]; then
    echo "ok $number - $1"
  else
    failed=$((failed + 1))
    echo "not ok $number - $1: slug of '$2' is '$got', expected '$3'"
  fi
}

expect "a word stays as it is" "hello" "hello"
expect "capitals become small letters" "Hello" "hello"
expect "one dash between two words" "hello,  world" "hello-world"
expect "no dash at either end" "Hello, World!" "hello-world"

echo "1..$number"
[ "$failed" -eq 0 ] || exit 1
