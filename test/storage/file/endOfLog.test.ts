import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { AgentPersistenceError } from "../../../src/errors/AgentPersistenceError.ts";
import { nodeSha256 } from "../../../src/internal/sha256/nodeSha256.ts";
import { encodeControl } from "../../../src/storage/file/layout/Segment.ts";
import {
  agentPath,
  append,
  collect,
  nextOwner,
  segmentPaths,
  summaryOf,
  testDirectory,
  testLog,
  TestMachine,
  textsOf,
} from "./support/fixture.ts";

const texts = ["one", "two", "three"];
const damaged = { code: "corrupt_log", agentId: "a" };
const linesOf = (bytes: Buffer) => bytes.toString().split("\n").slice(0, -1);
const whole = (lines: readonly string[]) => lines.map((line) => `${line}\n`).join("");

/** An agent that was finished, or whose owner was killed. */
async function written({ released = true, status = "" } = {}) {
  const directory = await testDirectory();
  const machine = new TestMachine();
  const identity = machine.start();
  const owned = await testLog(directory, { processIdentity: identity }).open("a", nextOwner());
  for (const text of texts) await append(owned, text, text === status ? { summary: summaryOf("a", text) } : {});
  if (released) await owned.release();
  machine.end(identity);
  const log = testLog(directory, { processIdentity: machine.start() });
  const [path = ""] = await segmentPaths(directory, "a");
  return { directory, log, path, bytes: await readFile(path) };
}

describe("a log that its owner closed", () => {
  it("is damaged or complete when its file is cut at any length", async () => {
    const { log, path, bytes } = await written({ status: "two" });
    for (let length = 0; length < bytes.length; length += 7) {
      await writeFile(path, bytes.subarray(0, length));
      const outcome: unknown = await collect(log.read("a")).then(textsOf, (error: unknown) => error);
      if (outcome instanceof AgentPersistenceError) expect(outcome).toMatchObject(damaged);
      else expect([length, outcome]).toEqual([length, texts]);
    }
    for (const length of [bytes.indexOf(10) - 5, Math.round(bytes.length / 2)]) {
      await writeFile(path, bytes.subarray(0, length));
      await expect(log.open("a", nextOwner())).rejects.toMatchObject(damaged);
    }
  });

  it("is damaged when appends before the closing line are missing, even without state.json", async () => {
    const { log, path, bytes } = await written();
    const lines = linesOf(bytes);
    for (let missing = 1; missing <= texts.length; missing++) {
      await writeFile(path, whole([...lines.slice(0, -1 - missing), ...lines.slice(-1)]));
      await expect(collect(log.read("a"))).rejects.toMatchObject(damaged);
      await expect(log.open("a", nextOwner())).rejects.toMatchObject(damaged);
    }
  });

  it("is read without checks of its end if an earlier version closed it", async () => {
    const { directory, log, path, bytes } = await written();
    await rm(join(agentPath(directory, "a"), "state.json"), { force: true });
    await writeFile(path, whole(linesOf(bytes).slice(0, -1)) + encodeControl("closed", {}, nodeSha256));
    expect(textsOf(await collect(log.read("a")))).toEqual(texts);
    expect(await log.end("a")).toEqual({ closed: true });
  });
});

describe("a log whose owner was killed", () => {
  it("is damaged when shorter than state.json states, and otherwise reports that it was not closed", async () => {
    const { log, path, bytes } = await written({ released: false, status: "one" });
    const lines = linesOf(bytes);
    for (const count of [1, 2, 3]) {
      await writeFile(path, whole(lines.slice(0, count)));
      await expect(collect(log.read("a"))).rejects.toMatchObject(damaged);
    }
    await writeFile(path, whole(lines.slice(0, -1)));
    expect(textsOf(await collect(log.read("a")))).toEqual(["one", "two"]);
    expect(await log.end("a")).toEqual({ closed: false });
    await writeFile(path, bytes.subarray(0, -20));
    expect(await log.end("a")).toMatchObject({ closed: false, tornTail: { file: path, line: lines.length } });
  });

  it("is damaged when a byte of its last line changes while the machine stays up", async () => {
    const { log, path, bytes } = await written({ released: false });
    const start = bytes.lastIndexOf(10, bytes.length - 2) + 1;
    for (let at = start; at < bytes.length; at++) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ 1;
      await writeFile(path, changed);
      await expect(collect(log.read("a")), `byte ${at}`).rejects.toMatchObject(damaged);
    }
  });

  it("can have a torn last line after a restart of the machine, and reports it", async () => {
    const { directory, path, bytes } = await written({ released: false });
    const log = testLog(directory, { processIdentity: new TestMachine("boot-2").start() });
    const changed = Buffer.from(bytes);
    changed.fill(0, bytes.length - 40, bytes.length - 20);
    await writeFile(path, changed);
    expect(textsOf(await collect(log.read("a")))).toEqual(["one", "two"]);
    expect(await log.end("a")).toMatchObject({ closed: false, tornTail: { file: path } });
  });
});

it("a torn first line is reported by the open that skips it", async () => {
  const { directory, path, bytes } = await written();
  await rm(join(agentPath(directory, "a"), "state.json"), { force: true });
  await writeFile(path, bytes.subarray(0, 20));
  const machine = new TestMachine("boot-2");
  const log = testLog(directory, { processIdentity: machine.start(), leaseMs: 1 });
  expect(await log.end("a")).toEqual({ closed: false, tornTail: { file: path, line: 1, bytes: 20 } });
});
