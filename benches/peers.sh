#!/usr/bin/env bash
# outpostc beside its peers, on this machine, in one run: prints each time, the ratio, and whether the target is met.
#
#     benches/peers.sh [FOLDER]
#
# FOLDER (default: /tmp/outpost-bench) takes the generated graphs, the built helpers and the Python environments; it
# must be on a disk, or the durable writes cost nothing. Installs ninja with apt-get, and LangGraph and DBOS with pip,
# if they are missing. Ends with 1 if a target is missed. Use a quiet machine.
set -euo pipefail
shopt -s inherit_errexit

here=$(cd "$(dirname "$0")" && pwd)
folder=${1:-/tmp/outpost-bench}
at_once=${AT_ONCE:-$(nproc)} # How many processes run together, for every tool.
rounds=${ROUNDS:-1000}       # Rounds of the measured loop.
repeat=${REPEAT:-5}          # Each time is the best of so many.
mkdir -p "$folder"
cd "$folder"

# ---- what is needed -------------------------------------------------------------------------------------------------

as_root() { if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi; }
if ! command -v ninja >/dev/null; then
  as_root apt-get update -qq
  as_root apt-get install -y -qq --no-install-recommends ninja-build
fi

python_with() { # python_with NAME PACKAGE…: an environment with these packages
  local name=$1
  shift
  [ -x "$name/bin/python" ] || python3 -m venv "$name"
  "$name/bin/pip" install --quiet --disable-pip-version-check "$@"
}
python_with langgraph langgraph langgraph-checkpoint-sqlite
python_with dbos dbos

cargo build --quiet --release --manifest-path "$here/../Cargo.toml"
target=$(cargo metadata --no-deps --format-version 1 --manifest-path "$here/../Cargo.toml" | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
outpostc=$target/release/outpostc
cc -O2 -o spawn "$here/spawn.c"
cc -O2 -shared -fPIC -o count_syncs.so "$here/count_syncs.c" -ldl

# ---- measuring ------------------------------------------------------------------------------------------------------

calculate() { awk "BEGIN { printf \"%.4f\", $1 }"; }
holds() { awk "BEGIN { exit !($1) }"; }

once() { # once COMMAND…: seconds it took; anything but success ends this script
  local start end
  start=$(date +%s%N)
  "$@" >stdout.log 2>stderr.log || { echo "failed: $*" >&2; tail -n 5 stdout.log stderr.log >&2; exit 1; }
  end=$(date +%s%N)
  calculate "($end - $start) / 1e9"
}

best() { # best N COMMAND…: the shortest of N times
  local count=$1 shortest='' took
  shift
  for _ in $(seq "$count"); do
    took=$("$@")
    if [ -z "$shortest" ] || holds "$took < $shortest"; then shortest=$took; fi
  done
  echo "$shortest"
}

missed=0
row() { # row WHAT OURS PEER RATIO TARGET CONDITION
  local verdict=met
  if ! holds "$6"; then
    verdict=MISSED
    missed=1
  fi
  printf '| %-46s | %-22s | %-30s | %8s | %-12s | %-6s |\n' "$1" "$2" "$3" "$4" "$5" "$verdict"
}

fresh_run() { # fresh_run FILE ARGUMENT…: seconds of a journaled run in a project without runs
  rm -rf .outpost
  once "$outpostc" run "$@"
}

echo "machine: $(nproc) cores, $(uname -sr), $(df -T . | awk 'NR == 2 { print $2 }')"
echo "outpostc: $("$outpostc" --version); ninja $(ninja --version); $(langgraph/bin/pip list 2>/dev/null | awk '/^langgraph / { print $1, $2 }'); $(dbos/bin/pip list 2>/dev/null | awk '/^dbos / { print $1, $2 }')"
echo
printf '| %-46s | %-22s | %-30s | %8s | %-12s | %-6s |\n' what outpostc peer ratio target ''
echo '| --- | --- | --- | --- | --- | --- |'

# ---- what would run -------------------------------------------------------------------------------------------------

for tool in outpost ninja; do
  python3 "$here/gen_dag.py" $tool wide.$tool 100 1000 2 2>/dev/null
  python3 "$here/gen_dag.py" $tool dense.$tool 100 100 10 2>/dev/null
  python3 "$here/gen_dag.py" $tool run.$tool 100 100 2 2>/dev/null
done

ours=$(best "$repeat" once "$outpostc" check wide.outpost)
peer=$(best "$repeat" once ninja -f wide.ninja -n --quiet)
ratio=$(calculate "$ours / $peer")
row "check 100,000 tasks, 198,000 edges" "$ours s" "ninja -n $peer s" "$ratio" "<= 1" "$ratio <= 1"

ours=$(best "$repeat" once "$outpostc" check dense.outpost)
peer=$(best "$repeat" once ninja -f dense.ninja -n --quiet)
ratio=$(calculate "$ours / $peer")
row "check 10,000 tasks, 99,000 edges" "$ours s" "ninja -n $peer s" "$ratio" "<= 1" "$ratio <= 1"

# ---- running commands -----------------------------------------------------------------------------------------------

ours=$(best 3 fresh_run run.outpost --concurrency "$at_once")
peer=$(best 3 once ninja -f run.ninja -j"$at_once" --quiet)
ratio=$(calculate "$ours / $peer")
row "run 10,000 commands, $at_once at once, journaled" "$ours s" "ninja -j$at_once $peer s" "$ratio" "<= 1" "$ratio <= 1"
raw=$(best 3 ./spawn 10000 "$at_once")
ratio=$(calculate "$raw / $ours")
row "the same, as a rate" "$(calculate "10000 / $ours") /s" "posix_spawn $(calculate "10000 / $raw") /s" "$ratio" ">= 0.5" "$ratio >= 0.5"

# ---- loops ----------------------------------------------------------------------------------------------------------

python3 "$here/gen_loops.py" loop.outpost 1 "$rounds"

python3 "$here/gen_loops.py" command.outpost 1 "$((rounds / 10))" true
rm -rf .outpost syncs
COUNT_SYNCS=$PWD/syncs LD_PRELOAD=$PWD/count_syncs.so "$outpostc" run command.outpost >/dev/null 2>stderr.log
writes=$(calculate "$(od -An -tu8 syncs) / ($rounds / 10)")
row "durable writes a round of two commands" "$writes" "" "" "<= 2.5" "$writes <= 2.5"

ours=$(calculate "$rounds / $(best 3 fresh_run loop.outpost)")
for peer in langgraph dbos; do
  theirs=$(calculate "$rounds / $(best 3 $peer/bin/python "$here/${peer}_rounds.py" "$rounds")")
  ratio=$(calculate "$ours / $theirs")
  row "rounds of a durable loop of values" "$ours /s" "$peer $theirs /s" "$ratio" ">= 4" "$ratio >= 4"
done
floor=$(calculate "$rounds / $(best 3 python3 "$here/sqlite_writes.py" "$rounds")")
printf '| %-46s | %-22s | %-30s | %8s | %-12s | %-6s |\n' "the same beside bare durable rows" "$ours /s" "SQLite $floor /s" "$(calculate "$ours / $floor")" "" ""

# ---- resuming -------------------------------------------------------------------------------------------------------

python3 "$here/gen_dag.py" outpost gate.outpost 100 1000 2 gate 2>/dev/null
rm -rf .outpost go
"$outpostc" run gate.outpost --run-id bench >/dev/null 2>stderr.log && { echo "the gate was open" >&2; exit 1; }
cp -R .outpost stopped
touch go
resume() {
  rm -rf .outpost
  cp -R stopped .outpost
  sync
  once "$outpostc" resume bench --retry-incomplete
}
ours=$(best 3 resume)
rm -rf stopped
check=$(best "$repeat" once "$outpostc" check gate.outpost)
more=$(calculate "$ours - $check")
row "resume with 100,000 tasks done" "$ours s" "check $check s" "+$more s" "<= +0.3 s" "$more <= 0.3"

# ---- starting -------------------------------------------------------------------------------------------------------

printf 'workflow one {\n  task only { value: 1 }\n  output: only\n}\n' >one.outpost
ours=$(best 20 once "$outpostc" --version)
row "outpostc --version" "$ours s" "" "" "< 10 ms" "$ours < 0.010"
ours=$(best 20 once "$outpostc" run one.outpost --ephemeral)
row "one task, --ephemeral" "$ours s" "" "" "< 10 ms" "$ours < 0.010"
size=$(calculate "$(stat -c %s "$outpostc") / 1e6")
row "size of the binary" "$size MB" "" "" "< 25 MB" "$size < 25"

exit "$missed"
