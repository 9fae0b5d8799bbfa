#!/bin/sh
# A very small agent CLI. It asks no model and no network: it shows what a CLI looks like from outside.
#
#     echo "Write a slogan for bread." | sh agent.sh
#     echo "Shorter, please." | sh agent.sh --chat c1
#
# Its first call after work/ was made meets a limit, as those of a real one do at night.
set -eu
cd "$(dirname "$0")"

chat=""
model="plain"
while [ $# -gt 0 ]; do
  case $1 in
    --chat) chat=$2; shift 2 ;;
    --model) model=$2; shift 2 ;;
    *) echo "error: unknown argument $1"; exit 2 ;;
  esac
done
brief=$(cat)

mkdir -p work/chats
echo "chat=${chat:-none} model=$model: $(printf '%s\n' "$brief" | head -n 1)" >>work/calls.log
if [ ! -e work/allowance ]; then
  echo 1 >work/allowance
  echo "error: Daily allowance used up. Come back in 1 second."
  exit 0
fi

if [ -z "$chat" ]; then
  chat=c$(($(ls work/chats | wc -l) + 1))
fi
echo "chat $chat"
echo "reading the brief..."
printf '%s\n' "$brief" >>"work/chats/$chat"

# What it answers depends on what the conversation holds, not on this brief alone.
case $(cat "work/chats/$chat") in
  *bread*Shorter*) answer="Fresh daily." ;;
  *bread*) answer="Our bread is baked every morning, and sold out by noon." ;;
  *) answer="I do not know what you are talking about." ;;
esac
if [ "$model" = "loud" ]; then
  answer=$(printf '%s' "$answer" | tr '[:lower:]' '[:upper:]')
fi
echo "> $answer"
echo "used $(printf '%s' "$brief" | wc -w | tr -d ' ') in, $(printf '%s' "$answer" | wc -w | tr -d ' ') out"
