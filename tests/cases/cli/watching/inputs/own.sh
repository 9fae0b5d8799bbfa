cat > brief
say() { printf '%s\n' "$1"; }
say '{"t":"session","id":"talk-1"}'
if test "$1" = --again; then
  say '{"t":"result","text":"<response>{\"approved\": true}</response>"}'
  say '{"t":"end"}'
  exit
fi
say "{\"t\":\"say\",\"text\":\"\u001b[2J\u202eI know $TOKEN,\r\nand more\"}"
for n in 1 2 3 4 5 6; do say '{"t":"tool","name":"Bash","input":{"command":"ls"}}'; done
say '{"t":"retry","text":"overloaded, 1 of 2"}'
say '{"t":"retry","text":"overloaded, 2 of 2"}'
say '{"t":"usage","in":1500,"out":20}'
say 'not a record'
say '{"t":"result","text":"approved"}'
say '{"t":"end"}'
