// Lays out the graphs that `bench-layout DIR` wrote with dagre, for comparison. Not part of CI.
//   npm install @dagrejs/dagre     (in any folder, and run from there)
//   node dagre.mjs DIR [--clusters] [MOST_NODES]
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const require = createRequire(join(process.cwd(), "package.json"));
const dagre = require("@dagrejs/dagre");
const [dir, ...rest] = process.argv.slice(2);
const withClusters = rest.includes("--clusters");
const most = Number(rest.find((word) => /^\d+$/.test(word)) ?? 1000);

for (const name of readdirSync(dir).filter((name) => name.endsWith(".json")).sort()) {
  const { nodes, edges, clusters } = JSON.parse(readFileSync(join(dir, name), "utf8"));
  if (nodes.length > most) continue;
  const graph = new dagre.graphlib.Graph({ multigraph: true, compound: withClusters });
  graph.setGraph({ nodesep: 24, ranksep: 36 });
  graph.setDefaultEdgeLabel(() => ({}));
  nodes.forEach(({ width, height }, n) => graph.setNode(`n${n}`, { width, height }));
  if (withClusters) {
    clusters.forEach((_, n) => graph.setNode(`c${n}`, {}));
    clusters.forEach((parent, n) => parent !== null && graph.setParent(`c${n}`, `c${parent}`));
    nodes.forEach(({ cluster }, n) => cluster !== null && graph.setParent(`n${n}`, `c${cluster}`));
  }
  edges.forEach(([from, to], n) => graph.setEdge(`n${from}`, `n${to}`, {}, `e${n}`));
  const start = process.cpuUsage();
  let result = "";
  try {
    dagre.layout(graph);
  } catch (error) {
    result = ` failed: ${String(error).slice(0, 60)}`;
  }
  const { user, system } = process.cpuUsage(start);
  console.log(`${name.padEnd(24)} ${((user + system) / 1e3).toFixed(1).padStart(10)} ms${result}`);
}
