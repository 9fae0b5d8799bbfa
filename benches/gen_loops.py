#!/usr/bin/env python3
"""Writes a workflow of loops that are accepted in their last round.

    gen_loops.py FILE LOOPS ROUNDS

Each phase of a round is one action in process, and a rejection carries about 300 characters, so
that what is measured is the bookkeeping. No two rounds say the same: a loop that stalls would say so.
"""

import sys


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    path, loops, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    with open(path, "w", encoding="ascii") as file:
        file.write(f"workflow loops {{\n  concurrency: {max(loops, 1)}\n")
        for loop in range(loops):
            file.write(
                f"  loop l{loop} {{\n"
                f"    maxRounds: {rounds}\n"
                "    attempt { value: { round: round, feedback: feedback ?? \"\" } }\n"
                "    check {\n"
                "      run look { value: candidate.round }\n"
                f"      reject \"${{look}} {'x' * 300}\" when look < {rounds}\n"
                "    }\n"
                "  }\n"
            )
        file.write("}\n")


main()
