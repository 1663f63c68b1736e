"""Reads GraphML with networkx and compares it with the graph that was exported.

In: a folder with NAME.graph.json beside NAME.graphml. Out: a line per broken file; the exit code says whether there was one.
"""

import json
import re
import sys
from pathlib import Path

import networkx

UNSHOWABLE = re.compile("[\u0000-\u0008\u000b-\u001f\u007f-\u009f\ufffe\uffff]")


def showable(text):
    return UNSHOWABLE.sub("\ufffd", text)


def problems(file, graph):
    found = networkx.read_graphml(file, force_multigraph=True)
    if found.number_of_nodes() != len(graph["nodes"]) or found.number_of_edges() != len(graph["edges"]):
        yield f"{found} instead of {len(graph['nodes'])} nodes and {len(graph['edges'])} edges"
    for n, node in enumerate(graph["nodes"]):
        data = found.nodes[f"n{n}"]
        for key in ["id", "label", "detail", "kind"]:
            if data.get(key, "") != showable(node[key]):
                yield f"n{n}: {key} is {data.get(key)!r:.200}, expected {node[key]!r:.200}"
        for key, kind in [("busy_ms", int), ("cost_usd", float), ("is_error", bool)]:
            if not isinstance(data[key], kind):
                yield f"n{n}: {key} is no {kind.__name__}"
        if data["output_tokens"] != node["totals"]["usage"]["output"]:
            yield f"n{n}: tokens differ"
    edges = sorted((int(a[1:]), int(b[1:]), data["relation"]) for a, b, data in found.edges(data=True))
    at = {node["id"]: n for n, node in enumerate(graph["nodes"])}
    wanted = sorted((at[edge["from"]], at[edge["to"]], edge["relation"]) for edge in graph["edges"])
    if edges != wanted:
        yield "edges differ"


def main(folder):
    files = sorted(Path(folder).glob("*.graphml"))
    broken = [] if files else ["no *.graphml was checked"]
    for file in files:
        graph = json.loads(file.with_suffix(".graph.json").read_text(encoding="utf-8"))["graphs"][0]
        try:
            broken += [f"{file.name}: {problem}" for problem in problems(file, graph)]
        except Exception as error:  # whatever networkx raises, the file is broken
            broken.append(f"{file.name}: {error!r}")
    print(*broken, f"{len(files)} × .graphml", sep="\n", file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
