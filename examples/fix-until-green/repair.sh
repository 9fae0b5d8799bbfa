#!/bin/sh
# Stands where a coding agent would: reads the goal and the feedback, changes work/slug.sh, commits.
# It knows three mends and does those that the text asks for. Prints the id of the commit it leaves.
#
# A round that was stopped half-way may be repeated, so every mend looks first whether it was made.
set -eu
cd "$(dirname "$0")/work"
# A Git that was killed may have left its lock; nothing else works in this repository.
rm -f .git/index.lock
asked=$(cat)
echo "repair ${OUTPOST_ROUND:-0}" >>calls.log

# asks WORDS: whether the goal says so, or the feedback has a failed test of that name.
asks() {
  printf '%s\n' "$asked" | grep -v '^ok ' | grep -q "$1"
}

# mend SCRIPT: edits slug.sh with sed, and never leaves half a file.
mend() {
  sed "$1" slug.sh >slug.sh.new
  mv slug.sh.new slug.sh
}

if asks "small letters" && ! grep -q "tr '" slug.sh; then
  mend "s/^printf.*|\$/& tr '[:upper:]' '[:lower:]' |/"
fi
if asks "one dash between" && ! grep -q 'A-Za-z0-9\]\[' slug.sh; then
  mend 's/\[^A-Za-z0-9\]/&[^A-Za-z0-9]*/'
fi
if asks "no dash at either end" && ! grep -q 's/^-//' slug.sh; then
  mend "s/^  sed .*/& -e 's\/^-\/\/' -e 's\/-\$\/\/'/"
fi

git add slug.sh
git diff --cached --quiet || git commit -q -m "Repair slug.sh, round ${OUTPOST_ROUND:-0}"
git rev-parse --short HEAD
