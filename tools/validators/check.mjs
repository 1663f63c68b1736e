// Reads exports with the readers of their formats and compares what they found with the graph that was exported.
//
// In: a folder with NAME.graph.json beside NAME.d2, NAME.mmd and NAME.dot.json (what Graphviz made of NAME.dot).
// Out: a line per broken file; the exit code says whether there was one.
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { D2 } from '@terrastruct/d2';
import { JSDOM } from 'jsdom';

const folder = process.argv[2];
const read = (name) => readFileSync(join(folder, name), 'utf8');
const broken = [];

function expect(file, what, found, wanted) {
  if (found !== wanted) {
    const show = (value) => JSON.stringify(value)?.slice(0, 300);
    broken.push(`${file}: ${what}: found ${show(found)}, expected ${show(wanted)}`);
  }
}

// What an export shows of a text: control characters and non-characters cannot be written in most formats.
const showable = (text) => text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\ufffe\uffff]/g, '\ufffd');
const oneLine = (text) => showable(text.split(/\p{White_Space}+/u).filter(Boolean).join(' '));
const isShort = (text) => [...oneLine(text)].length <= 80;

// A reader that never answers has failed too.
function patience() {
  return new Promise((_, reject) => setTimeout(() => reject(new Error('no answer')), 60_000));
}

async function d2(file, graph) {
  const compiled = await compiler.compile(read(file), { layout: 'dagre' });
  const boards = [compiled.diagram, ...(compiled.diagram.layers ?? [])];
  const own = (id) => id.split('.').pop();
  const isNode = (id) => /^s\d+$/.test(own(id));
  const shapes = boards.flatMap((board) => board.shapes ?? []).filter((shape) => isNode(shape.id));
  expect(file, 'nodes', shapes.length, graph.nodes.length);
  const links = boards.flatMap((board) => board.connections ?? []);
  const between = links.filter((link) => isNode(link.src) && isNode(link.dst));
  if (!file.includes('drill')) expect(file, 'edges', between.length, graph.edges.length);
  for (const shape of shapes) {
    const node = graph.nodes[Number(own(shape.id).slice(1)) - 1];
    if (node.detail) expect(file, `tooltip of ${shape.id}`, shape.tooltip.replaceAll('<\u200b', '<'), showable(node.detail));
    const heading = decoded(shape.label.split('\n')[0]);
    if (isShort(node.label)) expect(file, `label of ${shape.id}`, heading.includes(oneLine(node.label)), true);
  }
}

function decoded(text) {
  return text.replace(/&#(\d+);/g, (_, code) => String.fromCodePoint(Number(code)));
}

async function mmd(file, graph) {
  const text = read(file);
  await mermaid.parse(text);
  const { db } = await mermaid.mermaidAPI.getDiagramFromText(text);
  const nodes = [...db.getVertices().values()].filter((vertex) => /^n\d+$/.test(vertex.id));
  expect(file, 'nodes', nodes.length, graph.nodes.length);
  expect(file, 'edges', db.getEdges().length, graph.edges.length);
  expect(file, 'boxes', db.getSubGraphs().length, graph.groups.length);
  for (const vertex of nodes) {
    const node = graph.nodes[Number(vertex.id.slice(1))];
    const label = vertex.text.replace(/ﬂ°°(\d+)¶ß/g, (_, code) => String.fromCodePoint(Number(code)));
    if (isShort(node.label)) expect(file, `label of ${vertex.id}`, label.startsWith(oneLine(node.label)), true);
  }
}

async function dotJson(file, graph) {
  const found = JSON.parse(read(file));
  const objects = found.objects ?? [];
  const nodes = objects.filter((object) => /^n\d+$/.test(object.name));
  expect(file, 'nodes', nodes.length, graph.nodes.length);
  expect(file, 'edges', (found.edges ?? []).length, graph.edges.length);
  const boxes = objects.filter((object) => object.name.startsWith('cluster_'));
  expect(file, 'boxes', boxes.length, graph.groups.length);
  for (const object of nodes) {
    const node = graph.nodes[Number(object.name.slice(1))];
    const label = object.label.replace(/\\([\\n])/g, (_, c) => (c === 'n' ? '\n' : c)).replaceAll('&amp;', '&');
    if (isShort(node.label)) expect(file, `label of ${object.name}`, label.startsWith(oneLine(node.label)), true);
  }
}

const files = readdirSync(folder).sort();
async function checkAll(ending, check) {
  const found = files.filter((file) => file.endsWith(ending));
  if (!found.length) broken.push(`no *${ending} was checked`);
  for (const file of found) {
    const of = file.slice(0, -ending.length).replace(/\.drill$/, '');
    try {
      const graph = JSON.parse(read(`${of}.graph.json`)).graphs[0];
      await Promise.race([check(file, graph), patience()]);
    } catch (error) {
      broken.push(`${file}: ${String(error.message ?? error).slice(0, 500)}`);
    }
  }
  console.error(`   ${found.length} × ${ending}`);
}

// D2 must be done before there is a window: it would take this program for a browser.
const compiler = new D2();
await checkAll('.d2', d2);
globalThis.window = new JSDOM('').window;
globalThis.document = window.document;
const { default: mermaid } = await import('mermaid');
mermaid.initialize({ startOnLoad: false, maxEdges: 1e6, maxTextSize: 1e9 });
await checkAll('.mmd', mmd);
await checkAll('.dot.json', dotJson);
for (const line of broken) console.error(line);
process.exit(broken.length ? 1 : 0);
