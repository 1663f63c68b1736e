"""Reads GraphML with networkx, tables with csv and documents with json, and compares them with the graph that was exported.

In: a folder with NAME.graph.json beside NAME.graphml, NAME.csv and NAME.edges.csv, and other JSON documents. Out: a line per broken
file; the exit code says whether there was one.
"""

import csv
import json
import re
import sys
import unicodedata
from pathlib import Path
from xml.etree import ElementTree

import networkx

UNSHOWABLE = re.compile("[\u0000-\u0008\u000b-\u001f\u007f-\u009f\ufffe\uffff]")


def showable(text):
    return UNSHOWABLE.sub("\ufffd", text)


def graphml_problems(file, graph):
    found = networkx.read_graphml(file, force_multigraph=True)
    if found.number_of_nodes() != len(graph["nodes"]) or found.number_of_edges() != len(graph["edges"]):
        yield f"{found} instead of {len(graph['nodes'])} nodes and {len(graph['edges'])} edges"
    for n, node in enumerate(graph["nodes"]):
        data = found.nodes[f"n{n}"]
        for key in ["id", "label", "detail", "kind"]:
            if data.get(key, "") != showable(node[key]):
                yield f"n{n}: {key} is {data.get(key)!r:.200}, expected {node[key]!r:.200}"
        for key, kind in [("busy_ms", int), ("cost_usd", float), ("is_error", bool)]:
            if key in data and not isinstance(data[key], kind):
                yield f"n{n}: {key} is no {kind.__name__}"
        if data.get("busy_ms") != node["busy_ms"]:
            yield f"n{n}: busy_ms is {data.get('busy_ms')}, expected {node['busy_ms']}"
        usage = node["totals"]["usage"]
        if data.get("output_tokens") != (usage and usage["output"]):
            yield f"n{n}: tokens differ"
    edges = sorted((int(a[1:]), int(b[1:]), data["relation"]) for a, b, data in found.edges(data=True))
    at = {node["id"]: n for n, node in enumerate(graph["nodes"])}
    wanted = sorted((at[edge["from"]], at[edge["to"]], edge["relation"]) for edge in graph["edges"])
    if edges != wanted:
        yield "edges differ"


def rows(file):
    csv.field_size_limit(1 << 30)
    with open(file, encoding="utf-8", newline="") as text:
        return list(csv.DictReader(text, strict=True))


def cell(text):
    """A text as a table has it: without NUL, and never a formula."""
    return ("'" if text[:1] in tuple("=+-@\t\r") else "") + text.replace("\0", "\ufffd")


def node_table_problems(file, graph):
    found = rows(file)
    if len(found) != len(graph["nodes"]):
        yield f"{len(found)} rows instead of {len(graph['nodes'])}"
    for row, node in zip(found, graph["nodes"]):
        for key in ["id", "label", "detail", "kind"]:
            if row[key] != cell(node[key]):
                yield f"{key} is {row[key]!r:.200}, expected {node[key]!r:.200}"
        busy = "" if node["busy_ms"] is None else str(node["busy_ms"])
        if row["busy_ms"] != busy:
            yield f"busy_ms is {row['busy_ms']!r}, expected {busy!r}"


def edge_table_problems(file, graph):
    found = [(row["from"], row["to"], row["relation"]) for row in rows(file)]
    wanted = [(cell(edge["from"]), cell(edge["to"]), edge["relation"]) for edge in graph["edges"]]
    if found != wanted:
        yield f"{len(found)} rows, {len(wanted)} edges, or other ones"


def bones(text):
    """What is left of a text in which blanks and control characters do not count."""
    return "".join(c for c in text if c != "\ufffd" and unicodedata.category(c)[0] not in "ZC")


def picture_problems(file, graph):
    drawn = ElementTree.parse(file).getroot()
    classes = [part.get("class", "").split() for part in drawn.iter()]
    for word, wanted in [("node", len(graph["nodes"])), ("frame", len(graph["groups"]))]:
        found = sum(words[:1] == [word] for words in classes)
        if found != wanted:
            yield f"{found} × {word} instead of {wanted}"
    titles = {bones(part.text or "")[:60] for part in drawn.iter("{http://www.w3.org/2000/svg}title")}
    for node in graph["nodes"]:
        if bones(node["label"] + node["detail"])[:60] not in titles:
            yield f"{node['label']!r:.200} is in no title"


CHECKS = {".svg": picture_problems, ".graphml": graphml_problems, ".edges.csv": edge_table_problems, ".csv": node_table_problems}


def check(file):
    ending = next((ending for ending in CHECKS if file.name.endswith(ending)), None)
    if file.name.endswith((".dot.svg", ".timeline.svg")):
        ElementTree.parse(file)
    elif ending:
        of = file.name.removesuffix(ending)
        graph = json.loads(file.with_name(f"{of}.graph.json").read_text(encoding="utf-8"))["graphs"][0]
        yield from CHECKS[ending](file, graph)
    elif file.suffix == ".json":
        json.loads(file.read_text(encoding="utf-8"))


def main(folder):
    files = sorted(Path(folder).iterdir())
    broken = [f"no *{ending} was checked" for ending in CHECKS if not any(f.name.endswith(ending) for f in files)]
    for file in files:
        try:
            broken += [f"{file.name}: {problem}" for problem in check(file)]
        except Exception as error:  # whatever a reader raises, the file is broken
            broken.append(f"{file.name}: {error!r}")
    counts = [f"{sum(file.name.endswith(ending) for file in files)} × {ending}" for ending in [*CHECKS, ".json"]]
    print(*broken, "   " + ", ".join(counts), sep="\n", file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
