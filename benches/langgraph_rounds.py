"""LangGraph with its SQLite saver: a loop of two nodes, ROUNDS times, durable after each node.

    langgraph_rounds.py ROUNDS

Prints the seconds it took.
"""

import sqlite3
import sys
import tempfile
import time
from pathlib import Path
from typing import TypedDict

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph


class State(TypedDict):
    round: int
    feedback: str


def build(rounds):
    graph = StateGraph(State)
    graph.add_node("attempt", lambda state: {"round": state["round"] + 1})
    graph.add_node("check", lambda state: {"feedback": f"{state['round']} " + "x" * 300})
    graph.add_edge(START, "attempt")
    graph.add_edge("attempt", "check")
    graph.add_conditional_edges("check", lambda state: END if state["round"] >= rounds else "attempt")
    return graph


def main():
    rounds = int(sys.argv[1])
    with tempfile.TemporaryDirectory(dir=".") as folder:
        connection = sqlite3.connect(Path(folder) / "saver.db", check_same_thread=False)
        app = build(rounds).compile(checkpointer=SqliteSaver(connection))
        settings = {"recursion_limit": 2 * rounds + 10, "configurable": {"thread_id": "1"}}
        start = time.perf_counter()
        end = app.invoke({"round": 0, "feedback": ""}, settings, durability="sync")
        took = time.perf_counter() - start
        connection.close()
    assert end["round"] == rounds, end
    print(f"{took:.6f}")


main()
