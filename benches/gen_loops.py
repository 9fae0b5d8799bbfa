#!/usr/bin/env python3
"""Writes a workflow of loops that are accepted in their last round.

    gen_loops.py FILE LOOPS ROUNDS [ACTION]

Each phase of a round is one action: `value` (the default) is evaluated in process, `true` runs /bin/true.
A rejection carries about 300 characters, and no two rounds say the same: a loop that stalls would say so.
"""

import sys


def main():
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    path, loops, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    command = len(sys.argv) > 4 and sys.argv[4] == "true"
    attempt = 'command: ["true"]  output: { round: round, feedback: feedback ?? "" }' if command else 'value: { round: round, feedback: feedback ?? "" }'
    look = 'command: ["true"]' if command else "value: candidate.round"
    with open(path, "w", encoding="ascii") as file:
        file.write(f"workflow loops {{\n  concurrency: {max(loops, 1)}\n")
        for loop in range(loops):
            file.write(
                f"  loop l{loop} {{\n"
                f"    maxRounds: {rounds}\n"
                f"    attempt {{ {attempt} }}\n"
                "    check {\n"
                f"      run look {{ {look} }}\n"
                f"      reject \"${{candidate.round}} {'x' * 300}\" when candidate.round < {rounds}\n"
                "    }\n"
                "  }\n"
            )
        file.write("}\n")


main()
