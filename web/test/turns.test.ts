import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { Overdue, Queue, Turns } from "../src/logic/turns.ts";

/** Questions whose answers are given by hand. */
function asked() {
  const heard: string[] = [];
  const turns = new Turns<string>({ answered: (data) => heard.push(data), failed: (error) => heard.push(`failed ${String(error)}`) });
  const open: { name: string; answer(): void; fail(): void; signal: AbortSignal }[] = [];
  const ask = (question: string, name: string) => turns.ask(question, (signal) => new Promise((resolve, reject) => open.push({ name, signal, answer: () => resolve(name), fail: () => reject(new Error(name)) })));
  return { heard, turns, open, ask };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

test("another question ends the one under way", async () => {
  const { heard, open, ask } = asked();
  ask("a", "first");
  ask("b", "second");
  assert.equal(open[0]?.signal.aborted, true);
  open[0]?.answer();
  open[1]?.answer();
  await settled();
  assert.deepEqual(heard, ["second"]);
});

test("the same question, asked again and again, is answered between", async () => {
  const { heard, open, ask, turns } = asked();
  ask("a", "1");
  ask("a", "2");
  ask("a", "3");
  assert.equal(open.length, 1, "nothing is asked twice at a time");
  assert.equal(open[0]?.signal.aborted, false, "what is under way is not ended by what changes meanwhile");
  open[0]?.answer();
  await settled();
  assert.deepEqual([heard, open.map(({ name }) => name), turns.isBusy], [["1"], ["1", "3"], true]);
  open[1]?.answer();
  await settled();
  assert.deepEqual([heard, turns.isBusy], [["1", "3"], false]);
});

test("a failure is heard, and the next turn comes", async () => {
  const { heard, open, ask } = asked();
  ask("a", "1");
  ask("a", "2");
  open[0]?.fail();
  await settled();
  open[1]?.answer();
  await settled();
  assert.deepEqual(heard, ["failed Error: 1", "2"]);
});

test("nothing is heard of what was stopped", async () => {
  const { heard, open, ask, turns } = asked();
  ask("a", "1");
  turns.stop();
  open[0]?.answer();
  await settled();
  assert.deepEqual([heard, turns.isBusy], [[], false]);
});

test("what waits in a queue begins when what is before it has ended, well or not, and after a pause", async () => {
  const told: string[] = [];
  const waiting: (() => void)[] = [];
  const queue = new Queue(async () => void told.push("pause"), 1_000);
  const work = (name: string) => () => new Promise<string>((resolve, reject) => {
    told.push(name);
    waiting.push(() => (name === "b" ? reject(new Error(name)) : resolve(name)));
  });
  const ended = ["a", "b", "c"].map((name) => queue.add(work(name)).catch(() => "failed"));
  await settled();
  assert.deepEqual(told, ["a"]);
  for (let n = 0; n < 3; n += 1) {
    waiting[n]?.();
    await settled();
  }
  assert.deepEqual(told, ["a", "pause", "b", "pause", "c", "pause"]);
  assert.deepEqual(await Promise.all(ended), ["a", "failed", "c"]);
});

test("what never ends is given up after a while, is told so, and holds nothing up", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  try {
    const queue = new Queue(async () => {}, 1_000);
    let ended: AbortSignal | undefined;
    const hanging = queue.add((signal) => ((ended = signal), new Promise<string>(() => {})));
    const failed = hanging.catch((error: unknown) => error);
    const behind = queue.add(async () => "behind");
    await settled();
    mock.timers.tick(999);
    await settled();
    assert.equal(ended?.aborted, false, "it has all of its time");
    mock.timers.tick(1);
    assert.ok((await failed) instanceof Overdue);
    assert.equal(ended?.aborted, true, "its request is ended, too");
    assert.equal(await behind, "behind");
  } finally {
    mock.timers.reset();
  }
});
