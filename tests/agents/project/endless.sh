# Never ends. It and a child with a session of its own, which ignores TERM, hold the FIFO $1 open.
exec 9>"$1"
setsid sh -c 'trap "" TERM HUP; echo ready >&9; while :; do read line <never; done' &
trap "" TERM
wait
while :; do read line <never; done
