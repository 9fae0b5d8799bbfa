# The project's tests.
if ! test -e greeting.txt; then
  echo "greeting.txt is missing"
  exit 1
fi
if ! grep -q world greeting.txt; then
  echo "greeting.txt does not greet the world"
  exit 1
fi
if test -n "$(git status --porcelain)"; then
  echo "there is work that is not committed"
  exit 1
fi
