"""DBOS for Python on SQLite: one workflow of ROUNDS times two durable steps.

    dbos_rounds.py ROUNDS

Prints the seconds it took.
"""

import logging
import sys
import tempfile
import time

from dbos import DBOS, DBOSConfig

logging.disable(logging.WARNING)


@DBOS.step()
def attempt(number):
    return {"round": number}


@DBOS.step()
def check(number):
    return f"{number} " + "x" * 300


@DBOS.workflow()
def loop(rounds):
    for number in range(1, rounds + 1):
        attempt(number)
        check(number)
    return rounds


def main():
    rounds = int(sys.argv[1])
    with tempfile.TemporaryDirectory(dir=".") as folder:
        DBOS(config=DBOSConfig(name="rounds", system_database_url=f"sqlite:///{folder}/dbos.sqlite"))
        DBOS.launch()
        loop(2)  # The first workflow also pays for what is set up lazily.
        start = time.perf_counter()
        assert loop(rounds) == rounds
        took = time.perf_counter() - start
        DBOS.destroy()
    print(f"{took:.6f}")


main()
