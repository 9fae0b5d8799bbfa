#!/usr/bin/env python3
"""Writes one layered graph of tasks for several tools, so that they can be compared.

    gen_dag.py TOOL FILE LAYERS WIDTH FANIN [ACTION]

TOOL is `outpost`, `ninja` or `make`. A task waits for FANIN tasks of the layer before it.
ACTION is what each task does: `true` runs /bin/true (the default); `value` (outpost only) runs nothing.
With `gate` (outpost only) the tasks are values and one command, which fails while the file `go` is missing, waits for the last layer.

Prints how many tasks and edges were written.
"""

import sys

STRIDE = 7  # Spreads the edges, so that neighbours share few of them.


def graph(layers, width, fanin):
    """Yields each task's number and the numbers of those it waits for."""
    for layer in range(layers):
        for at in range(width):
            above = (layer - 1) * width
            needs = [above + (at + k * STRIDE) % width for k in range(fanin)] if layer else []
            yield layer * width + at, needs


def outpost(tasks, last, action):
    body = 'command: ["true"]' if action == "true" else "value: 1"
    yield "workflow graph {\n"
    for task, needs in tasks:
        after = f"    after: [{', '.join(f't{n}' for n in needs)}]\n" if needs else ""
        yield f"  task t{task} {{\n{after}    {body}\n  }}\n"
    if action == "gate":
        names = ", ".join(f"t{n}" for n in last)
        yield f'  task gate {{\n    after: [{names}]\n    command: ["test", "-e", "go"]\n  }}\n'
    yield "}\n"


def ninja(tasks, last, _action):
    yield "rule t\n  command = true\n"
    for task, needs in tasks:
        yield f"build t{task}: t {' '.join(f't{n}' for n in needs)}\n"
    yield f"build all: phony {' '.join(f't{n}' for n in last)}\ndefault all\n"


def make(tasks, last, _action):
    tasks = list(tasks)
    yield f".PHONY: all {' '.join(f't{task}' for task, _ in tasks)}\n"
    yield f"all: {' '.join(f't{n}' for n in last)}\n"
    for task, needs in tasks:
        yield f"t{task}: {' '.join(f't{n}' for n in needs)}\n\t@true\n"


def main():
    if len(sys.argv) not in (6, 7) or sys.argv[1] not in ("outpost", "ninja", "make"):
        sys.exit(__doc__)
    tool, path = sys.argv[1:3]
    layers, width, fanin = map(int, sys.argv[3:6])
    action = sys.argv[6] if len(sys.argv) > 6 else "true"
    last = range((layers - 1) * width, layers * width)
    write = {"outpost": outpost, "ninja": ninja, "make": make}[tool]
    with open(path, "w", encoding="ascii") as file:
        file.writelines(write(graph(layers, width, fanin), last, action))
    print(f"{path}: {layers * width} tasks, {(layers - 1) * width * fanin} edges", file=sys.stderr)


main()
