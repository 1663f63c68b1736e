import assert from "node:assert/strict";
import { test } from "node:test";
import { cameraSaid, saidCamera, zoomedAt } from "../src/logic/camera.ts";
import type { PlacedEdgeDoc, PlacedGraphDoc } from "../src/api/types.ts";
import { corners, edgeAt } from "../src/logic/ways.ts";

const edge = (link: string | null, points: [number, number][], is_curve: boolean) => ({ from: "a", to: "b", link, points: points.map(([x, y]) => ({ x, y })), is_curve }) as PlacedEdgeDoc;
const STRAIGHT = edge("s1..s2", [[0, 0], [0, 100], [200, 100]], false);
const CURVE = edge("s3..s4", [[300, 0], [300, 50], [400, 50], [400, 100]], true);
const PATTERN = edge(null, [[600, 0], [600, 100]], false);
const graph = { nodes: [{ id: "a" }, { id: "b" }], edges: [STRAIGHT, CURVE, PATTERN] } as unknown as PlacedGraphDoc;

test("the nearest arrow is meant, and none from far away", () => {
  assert.equal(edgeAt(graph, 3, 50, 6), STRAIGHT);
  assert.equal(edgeAt(graph, 100, 104, 6), STRAIGHT);
  assert.equal(edgeAt(graph, 100, 50, 6), undefined, "the box of an arrow is not the arrow");
  assert.equal(edgeAt(graph, 350, 50, 6), CURVE);
  assert.equal(edgeAt(graph, 310, 90, 6), undefined);
});

test("an arrow that stands for no link is not hit", () => {
  assert.equal(edgeAt(graph, 600, 50, 6), undefined);
});

test("a curve begins and ends where its way does", () => {
  const way = corners(CURVE);
  assert.deepEqual([way[0], way.at(-1)], [{ x: 300, y: 0 }, { x: 400, y: 100 }]);
  assert.equal(corners(STRAIGHT).length, 3);
});

test("what a graph is looked at from is said for a screen of any size, and nonsense is not heeded", () => {
  const camera = { x: -120, y: 40, zoom: 0.5 };
  const said = saidCamera(camera, 800, 600);
  assert.equal(said, "1040,520,0.5");
  assert.deepEqual(cameraSaid(said, 800, 600), camera);
  assert.deepEqual(cameraSaid(said, 1000, 800), { x: -20, y: 140, zoom: 0.5 }, "the same place is in the middle");
  for (const nonsense of ["", "1,2", "a,b,c", "1,2,0", "1,2,-1", "1,2,Infinity"]) assert.equal(cameraSaid(nonsense, 800, 600), undefined, nonsense);
});

test("zooming leaves a place of the screen where it is", () => {
  const [before, after] = [{ x: -120, y: 40, zoom: 0.5 }, zoomedAt({ x: -120, y: 40, zoom: 0.5 }, 2, 300, 200)];
  const under = ({ x, y, zoom }: typeof before) => [(300 - x) / zoom, (200 - y) / zoom];
  assert.deepEqual(under(after), under(before));
});
