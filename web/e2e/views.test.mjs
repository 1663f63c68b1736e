// The timeline and the graph as pictures that are worked with: arrows, chains, colours, what grows, what is saved.
import assert from "node:assert/strict";
import { test } from "node:test";
import { arrowShown, curveOf } from "../src/logic/arrows.ts";
import { cameraSaid } from "../src/logic/camera.ts";
import { anotherDemo, DEMO, demo, failing, page, param, picture, putDemo, putRunning, saved, server, session, testPage, until } from "./harness.mjs";
import { manySteps } from "./big.mjs";
import { barPlace, edgePlaces, nodePlace, timelineCanvas, timelinePlaces } from "./places.mjs";

testPage({ options: { viewport: { width: 1600, height: 1000 } }, prepare: putDemo });

test("arrows are shown by sort, and by how sure they are", async () => {
  await page.goto(session());
  const all = await picture();
  const { data } = await timelinePlaces();
  for (const relation of ["calls", "tool_result", "subagent_spawn", "subagent_return"]) assert.ok(data.arrows.some((arrow) => arrow.relation === relation), relation);
  await page.getByRole("group", { name: "Arrows" }).getByLabel("tools").uncheck();
  const withoutTools = await picture();
  assert.notEqual(withoutTools, all);
  await page.getByRole("group", { name: "Arrows" }).getByLabel("starts").uncheck();
  assert.notEqual(await picture(), withoutTools);
  for (const name of ["tools", "starts"]) await page.getByRole("group", { name: "Arrows" }).getByLabel(name).check();
  assert.equal(await picture(), all);
  const unsure = data.arrows.filter((arrow) => arrow.confidence < 1);
  assert.ok(unsure.length > 0 && unsure.every((arrow) => arrow.inferred));
  await page.getByLabel("Least confidence").fill("100");
  assert.notEqual(await picture(), all);
  await page.reload();
  assert.equal(await page.getByLabel("Least confidence").inputValue(), "100");
});

test("pointing at a bar lights what led to it and what it led to, everywhere, and asks once", async () => {
  await page.goto(session());
  await page.locator(".tree-row.step").first().waitFor();
  const asked = [];
  page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  const { x, y } = await barPlace(failing.id);
  await page.mouse.move(x, y);
  const chain = await server.json(`/api/v1/sessions/${demo.id}/chain?of=${failing.id}`);
  assert.ok(chain.cause_count > 0 && chain.effect_count > 0);
  await page.locator(".tree-row.is-chain").first().waitFor();
  const lit = await page.locator(".tree-row.is-chain").count();
  await page.mouse.move(5, 5);
  await until(async () => (await page.locator(".tree-row.is-chain").count()) === 0, "nothing is lit");
  await page.mouse.move(x, y);
  await until(async () => (await page.locator(".tree-row.is-chain").count()) === lit, "it is lit again");
  assert.equal(asked.filter((path) => path.endsWith("/chain")).length, 1);
  assert.equal(param("step"), null);
});

test("a click on an arrow chooses the link, lights its ends and says why", async () => {
  await page.goto(session());
  await page.locator(".tree-row.step").first().waitFor();
  const { data, lanes, scale, at } = await timelinePlaces();
  const arrows = { tool: true, spawn: true, return: true, other: true, error: true };
  const arrow = data.arrows.filter((one) => one.relation === "subagent_return" && arrowShown(one, arrows, 0)).at(-1);
  const { x0, y0, x1, y1, bend0, bend1 } = curveOf(arrow, lanes, scale);
  const onCurve = (t) => {
    const u = 1 - t;
    return at(u * u * (u + 3 * t) * x0 + t * t * (t + 3 * u) * x1, u * u * u * y0 + 3 * u * u * t * (y0 + bend0) + 3 * u * t * t * (y1 + bend1) + t * t * t * y1);
  };
  for (const t of [0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8]) {
    const { x, y } = onCurve(t);
    await page.mouse.click(x, y);
    if (param("edge")) break;
  }
  assert.equal(param("edge"), `${arrow.from_step_id}..${arrow.to_step_id}`);
  const why = page.getByRole("complementary", { name: "Link" });
  const explained = await server.json(`/api/v1/sessions/${demo.id}/explain/${param("edge")}`);
  for (const line of explained.sections[0].lines) await why.getByText(line).first().waitFor();
  await until(async () => (await page.locator(".tree-row.is-selected").count()) > 0, "an end is lit");
  await page.reload();
  await why.getByText(explained.sections[0].lines[0]).waitFor();
  // Both ends are told as people call them, not by ids, and each is a click away.
  const { ends } = explained;
  assert.deepEqual(ends.map(({ id }) => id), [arrow.from_step_id, arrow.to_step_id]);
  for (const end of ends) {
    const told = why.getByRole("list", { name: "Its ends" }).getByRole("listitem").filter({ hasText: `#${end.seq}` });
    const words = await told.innerText();
    for (const word of [end.label, end.agent.label, end.detail]) assert.ok(words.includes(word), `${word}: ${words}`);
    assert.doesNotMatch(words, /msg_|toolu_/);
    await told.getByRole("button").click();
    await until(() => param("step") === end.id && param("edge") === null, "the end of the link is chosen");
    await page.goBack();
  }
});

test("pictures are as sharp as the screen, however high it is", async () => {
  await page.goto(session());
  await timelineCanvas().waitFor();
  for (const height of [701, 703, 709, 719]) {
    await page.setViewportSize({ width: 1283, height });
    await picture(timelineCanvas());
    const sizes = await page.locator("canvas").evaluateAll((all) => all.map((one) => [one.width, one.height, one.getBoundingClientRect().width, one.getBoundingClientRect().height]));
    for (const [wide, high, shownWide, shownHigh] of sizes) assert.deepEqual([shownWide, shownHigh], [wide, high], `at a height of ${height}`);
  }
});

test("what runs grows while nothing is heard of it", async () => {
  const running = await putRunning();
  const { bars, grows_until_ns: until_ns } = await server.json(`/api/v1/sessions/${running.id}/timeline`);
  assert.ok(bars.some((bar) => bar.running) && until_ns > 0);
  await page.goto(`${server.base}/sessions/${running.id}`);
  await timelineCanvas().waitFor();
  const asked = [];
  page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  const look = () => page.locator(".timeline .above").evaluate((one) => one.toDataURL());
  const first = await look();
  await page.waitForTimeout(700);
  const second = await look();
  await page.waitForTimeout(700);
  assert.ok(first !== second && second !== (await look()));
  assert.deepEqual(asked.filter((path) => path.endsWith("/timeline")), []);
});

test("colours tell the type of agent, the same in every session", async () => {
  await page.goto(session());
  const byKind = await picture();
  await page.getByLabel("Colours by").selectOption("agent");
  assert.notEqual(await picture(), byKind);
  const named = () => page.locator(".legend > span", { hasText: "Explore" }).locator(".swatch").evaluate((one) => one.style.background);
  const colour = await named();
  await page.goto(session("?view=graph"));
  assert.equal(await page.getByLabel("Colours by").inputValue(), "agent");
  const { agent_colours: colours } = await server.json("/api/v1/schema");
  const { data } = await (async () => ({ data: await server.json(`/api/v1/sessions/${demo.id}/timeline`) }))();
  const explore = data.lanes.flatMap((lane) => lane.agents).find((agent) => agent.label === "Explore");
  const hex = colours[explore.colour].light;
  assert.equal(colour.replaceAll(" ", ""), `rgb(${[1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)).join(",")})`);
});

for (const [view, label] of [["timeline", "Agent"], ["graph", "test-runner"]]) {
  test(`what is on screen is saved: ${view}`, async () => {
    await page.goto(session(view === "timeline" ? "" : `?view=${view}`));
    await picture();
    await page.getByRole("button", { name: "Export…" }).click();
    const svg = await saved(() => page.getByRole("button", { name: `${view} as SVG` }).click());
    assert.equal(svg.name, `${view}.svg`);
    const text = svg.bytes.toString("utf8");
    assert.ok(text.includes(label) && text.includes("<path"), "a known label is in it");
    const wrong = await page.evaluate((source) => new DOMParser().parseFromString(source, "image/svg+xml").querySelector("parsererror")?.textContent, text);
    assert.equal(wrong, undefined);
    const png = await saved(() => page.getByRole("button", { name: `${view} as PNG` }).click());
    assert.equal(png.bytes.subarray(1, 4).toString(), "PNG");
  });
}

test("the graph lights the path to the root and to the leaves, for what is pointed at and for what is chosen", async () => {
  await page.goto(session("?view=graph"));
  const graph = await server.json(`/api/v1/sessions/${demo.id}/graph?level=step`);
  const plain = await picture();
  const node = graph.nodes.find((one) => one.rank === 1);
  const { x, y } = await nodePlace(graph, node);
  await page.mouse.move(x, y);
  const pointed = await picture();
  assert.notEqual(pointed, plain);
  await page.mouse.move(5, 5);
  assert.equal(await picture(), plain);
  await page.mouse.click(x, y);
  await until(() => node.step_ids.includes(param("step")), "the node is chosen");
  await page.mouse.move(5, 5);
  assert.notEqual(await picture(), plain);
});

test("a step that is found is flown to", async () => {
  await page.goto(session("?view=graph"));
  const before = await picture();
  await page.keyboard.press("Control+k");
  await page.getByLabel("Find anything").last().fill("tool:Bash is:error");
  await page.getByRole("option", { name: /failed/ }).first().click();
  await until(() => param("step") === failing.id, "the step is chosen");
  await picture();
  const svg = await (async () => {
    await page.keyboard.press("x");
    return saved(() => page.getByRole("button", { name: "graph as SVG" }).click());
  })();
  assert.notEqual(await picture(), before);
  // The node that is chosen has the widest border, and lies within the picture.
  const { width } = await page.locator(".graph canvas").boundingBox();
  const places = [...svg.bytes.toString("utf8").matchAll(/stroke-width="([\d.]+)"[^>]* d="M([-\d.]+) /g)].map(([, wide, x]) => [Number(wide), Number(x)]);
  const widest = places.sort((a, b) => b[0] - a[0])[0];
  assert.ok(widest[1] > 0 && widest[1] < width, JSON.stringify(widest));
});

test("agents are folded into one node and opened again", async () => {
  await page.goto(session(`?view=graph&step=${failing.id}`));
  const nodes = async () => Number(/(\d+) nodes/.exec(await page.locator(".graph .tools").textContent())?.[1]);
  const count = await until(nodes, "the nodes");
  await page.getByRole("button", { name: "aggregated" }).click();
  await until(async () => (await nodes()) < 10, "a node per agent");
  assert.equal(param("level"), "agent");
  const fold = page.getByRole("button", { name: "Expand this agent" });
  await fold.click();
  await until(async () => (await nodes()) > 10 && (await nodes()) < count, "one agent is its steps");
  assert.ok(param("open")?.startsWith("a"));
  await page.getByRole("button", { name: "expanded" }).click();
  await until(async () => (await nodes()) === count, "a node per step");
});

test("a click on an arrow of the graph chooses the link, lights its ends and says why, and so does a key", async () => {
  await page.goto(session("?view=graph"));
  const graph = await server.json(`/api/v1/sessions/${demo.id}/graph?level=step`);
  const plain = await picture();
  const seen = [];
  for (const edge of graph.edges) seen.push({ edge, places: await edgePlaces(graph, edge) });
  const { edge, places } = seen.find((one) => one.edge.is_spawn && one.places.length > 2) ?? seen.find((one) => one.places.length > 4);
  for (const { x, y } of places) {
    await page.mouse.move(x, y);
    await page.mouse.click(x, y);
    if (param("edge") === edge.link) break;
  }
  assert.equal(param("edge"), edge.link);
  const why = page.getByRole("complementary", { name: "Link" });
  const explained = await server.json(`/api/v1/sessions/${demo.id}/explain/${edge.link}`);
  for (const line of explained.sections[0].lines) await why.getByText(line).first().waitFor();
  await page.mouse.move(5, 5);
  assert.notEqual(await picture(), plain);
  await page.keyboard.press("Escape");
  await until(() => param("edge") === null, "no link is chosen");
  assert.equal(await picture(), plain);
  // By keyboard: the links of the step that is chosen, one after the other and back.
  await page.goto(session(`?view=graph&step=${failing.id}`));
  await page.getByRole("complementary", { name: "Step" }).getByText("Failed.").waitFor();
  const { edges_in: before, edges_out: after } = await server.json(`/api/v1/sessions/${demo.id}/steps/${failing.id}`);
  const links = [...new Set([...before, ...after].map(({ from, to }) => `${from}..${to}`))];
  assert.ok(links.length > 1);
  for (const link of [...links, links[0]]) {
    await page.keyboard.press("l");
    await until(() => param("edge") === link, "the next link");
  }
  await page.keyboard.press("L");
  await until(() => param("edge") === links.at(-1), "the one before");
  await why.getByRole("region", { name: "Why" }).waitFor();
});

test("a graph over the limit is drawn coarser, says so by name, and offers more", async () => {
  const native = "00000006-0000-4000-8000-000000000000";
  const lines = [...manySteps(native, 6, 21_000)];
  for (let n = 0; n < lines.length; n += 5_000) await server.put(`big/${native}.jsonl`, `${lines.slice(0, n + 5_000).map((one) => JSON.stringify(one)).join("\n")}\n`);
  const large = await server.session(native, 21_000);
  await page.goto(`${server.base}/sessions/${large.id}?view=graph`);
  const notice = page.getByRole("status").filter({ hasText: "max_graph_nodes" });
  await notice.getByText("nodes", { exact: false }).first().waitFor({ timeout: 60_000 });
  assert.match(await notice.textContent(), /A node per step would be .*nodes.*max_graph_nodes.*this is a node per model call/);
  await page.getByRole("button", { name: "model call", pressed: true }).waitFor();
  await notice.getByRole("button", { name: "Only what failed" }).click();
  await page.getByRole("button", { name: "step", exact: true, pressed: true }).waitFor();
  assert.equal(await notice.count(), 0);
  assert.equal(param("q"), "is:error");
});

test("a graph that is refused at every level says so and offers the workflow", async () => {
  const refusal = { error: { code: "too_many_nodes", message: "the graph has 100001 nodes, over the limit `max_graph_nodes` (20000)", hint: "ask for level=agent" } };
  await page.route(/\/graph\?.*level=/, (route) => route.fulfill({ status: 422, json: refusal }));
  await page.goto(session("?view=graph"));
  await page.getByText("max_graph_nodes").waitFor();
  await page.getByRole("button", { name: /Show the workflow/ }).click();
  await page.getByRole("img", { name: /nodes/ }).waitFor();
  assert.equal(param("view"), "workflow");
});

test("a graph that grows stays where it was", async () => {
  const native = `${DEMO.slice(0, -2)}88`;
  const lines = anotherDemo("88").trim().split("\n");
  await server.put(`shop/${native}.jsonl`, `${lines.slice(0, 12).join("\n")}\n`);
  const grows = await server.session(native, 4);
  await page.goto(`${server.base}/sessions/${grows.id}?view=graph`);
  await picture();
  const graph = () => server.json(`/api/v1/sessions/${grows.id}/graph?level=step`);
  const first = await graph();
  await page.mouse.move(700, 600);
  await page.mouse.down();
  await page.mouse.move(650, 560, { steps: 4 });
  await page.mouse.up();
  await server.put(`shop/${native}.jsonl`, lines.join("\n"));
  await server.session(native, grows.steps + 3);
  const second = await until(async () => {
    const now = await graph();
    return now.nodes.length > first.nodes.length && now;
  }, "more nodes");
  const places = new Map(second.nodes.map((node) => [node.id, node.place]));
  const kept = first.nodes.filter((node) => places.has(node.id));
  const dx = places.get(kept[0].id).x - kept[0].place.x;
  const moved = kept.filter((node) => Math.abs(places.get(node.id).x - node.place.x - dx) > 1 || Math.abs(places.get(node.id).y - node.place.y) > 1);
  assert.ok(moved.length * 5 <= kept.length, `${moved.length} of ${kept.length} moved`);
});

/** Moves the graph as a hand does. */
async function dragGraph(dx, dy) {
  const box = await page.locator(".graph canvas").first().boundingBox();
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  await page.mouse.move(x, y);
  await page.mouse.down();
  await page.mouse.move(x + dx, y + dy, { steps: 4 });
  await page.mouse.up();
  await page.mouse.move(5, 5);
}

test("where a graph is looked at from is in the address", async () => {
  await page.goto(session("?view=graph"));
  const whole = await picture();
  const box = await page.locator(".graph canvas").first().boundingBox();
  await page.mouse.move(box.x + 300, box.y + 200);
  await page.mouse.wheel(0, -300);
  await dragGraph(-90, -160);
  await until(() => param("at") !== null, "the address says so");
  assert.notEqual(await picture(), whole);
  const at = param("at");
  await page.reload();
  await picture();
  const graph = await server.json(`/api/v1/sessions/${demo.id}/graph?level=step&fit=true`);
  const camera = cameraSaid(at, box.width, box.height);
  const onScreen = ({ place }) => ({ x: camera.x + (place.x + place.width / 2) * camera.zoom, y: camera.y + (place.y + place.height / 2) * camera.zoom });
  const node = graph.nodes.find((one) => onScreen(one).x > 50 && onScreen(one).x < box.width - 50 && onScreen(one).y > box.height / 2 && onScreen(one).y < box.height - 50);
  await page.mouse.click(box.x + onScreen(node).x, box.y + onScreen(node).y);
  await until(() => node.step_ids.includes(param("step")), "what the address shows is where it says");
  assert.equal(param("at"), at);
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Fit" }).click();
  await until(() => param("at") === null, "nothing needs saying");
});

test("who looks away from the chosen step is left alone while the session grows", async () => {
  const native = `${DEMO.slice(0, -2)}99`;
  const lines = anotherDemo("99").trim().split("\n");
  await server.put(`shop/${native}.jsonl`, `${lines.slice(0, 12).join("\n")}\n`);
  const grows = await server.session(native, 4);
  const { nodes } = await server.json(`/api/v1/sessions/${grows.id}/graph?level=step`);
  await page.goto(session(`?view=graph&step=${nodes[0].step_ids[0]}`, grows.id));
  await picture();
  await dragGraph(-1_100, -700);
  const at = await until(() => param("at"), "the address says where one looks");
  await server.put(`shop/${native}.jsonl`, lines.join("\n"));
  await page.waitForFunction((before) => Number(/(\d+) nodes/.exec(document.querySelector(".graph .tools").textContent)?.[1]) > before, nodes.length);
  await picture();
  await page.waitForTimeout(600);
  assert.equal(param("at"), at);
});
