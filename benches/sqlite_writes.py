"""The floor of durable bookkeeping: ROWS rows of 300 bytes, each in a transaction of its own (WAL, synchronous=FULL).

    sqlite_writes.py ROWS

Prints the seconds it took.
"""

import sqlite3
import sys
import tempfile
import time
from pathlib import Path


def main():
    rows = int(sys.argv[1])
    with tempfile.TemporaryDirectory(dir=".") as folder:
        connection = sqlite3.connect(Path(folder) / "rows.db", isolation_level=None)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, body TEXT)")
        start = time.perf_counter()
        for _ in range(rows):
            connection.execute("INSERT INTO rows (body) VALUES (?)", ("x" * 300,))
        took = time.perf_counter() - start
        connection.close()
    print(f"{took:.6f}")


main()
