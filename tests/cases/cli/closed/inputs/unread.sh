# Runs a command whose output nobody reads: the pipe is closed before it starts.
mkfifo hold
{ read -r _ < hold; outpostc "$@"; echo "exit $?" > code; } | { exec 0<&-; echo > hold; }
cat code
rm hold code
