import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { intactChain } from "../../../src/storage/file/salvageAgent.ts";
import { nodeFileSystem } from "../../../src/nodejs/nodeFileSystem.ts";
import { linesIn } from "../../../src/storage/file/layout/Segment.ts";
import {
  agentPath,
  append,
  collect,
  filesBelow,
  nextOwner,
  segmentPaths,
  testDirectory,
  testLog,
  textsOf,
} from "./support/fixture.ts";

const large = "x".repeat(70_000);
const texts = [`one ${large}`, `two ${large}`, `three ${large}`, "four", "five"];

/** An agent with two segments: three large appends in a listed one, the fourth carried over, a fifth. */
async function twoSegments(): Promise<string> {
  const directory = await testDirectory();
  const log = testLog(directory);
  const first = await log.open("a", nextOwner());
  for (const text of texts.slice(0, 4)) await append(first, text);
  await first.release();
  const second = await log.open("a", nextOwner());
  await append(second, texts[4] ?? "");
  await second.release();
  expect(await segmentPaths(directory, "a")).toHaveLength(2);
  return directory;
}

async function salvaged(directory: string) {
  const before = await filesBelow(directory);
  const to = testLog(await testDirectory());
  const report = await testLog(directory).salvage("a", to);
  expect(await filesBelow(directory)).toEqual(before);
  return { report, to, found: textsOf(await collect(to.read("a"))) };
}

describe("salvage", () => {
  it("copies the appends before any damaged line and keeps the damaged files", async () => {
    const directory = await twoSegments();
    for (const path of await segmentPaths(directory, "a")) {
      const whole = await readFile(path);
      for (const { start, end } of linesIn(whole, { start: 0, end: whole.length })) {
        const changed = Buffer.from(whole);
        const at = Math.floor((start + end) / 2);
        changed[at] = (changed[at] ?? 0) ^ 1;
        await writeFile(path, changed);
        const { report, to, found } = await salvaged(directory);
        const damaged = texts.findIndex((text) => whole.toString("utf8", start, end).includes(`"${text}"`));
        // The fourth append stands in both segments.
        const kept = damaged < 0 || damaged === 3 ? 5 : damaged;
        expect(found).toEqual(texts.slice(0, kept));
        expect(report).toMatchObject({ agentId: "a", appends: kept, lastPosition: kept });
        expect(report.unreachable).toEqual([1, 2, 3, 4, 5].slice(kept === 5 ? 5 : kept + 1));
        if (kept === 0) continue;
        const owned = await to.open("a", nextOwner());
        expect([owned.position, owned.generation]).toEqual([kept, 4]);
        await append(owned, "on");
        expect(textsOf(await collect(to.read("a")))).toEqual([...texts.slice(0, kept), "on"]);
      }
      await writeFile(path, whole);
    }
  });

  it("copies the remaining appends when segments are missing", async () => {
    const directory = await twoSegments();
    await rm((await segmentPaths(directory, "a")).at(-1) ?? "");
    expect((await salvaged(directory)).found).toEqual(texts.slice(0, 4));
  });

  it("copies intact blobs and names the damaged ones", async () => {
    const directory = await testDirectory();
    const log = testLog(directory);
    const owned = await log.open("a", nextOwner());
    const references = [];
    for (const text of ["kept", "changed", "gone"]) references.push(await log.blobs.put("a", 1, Buffer.from(text)));
    const records = references.map((reference) => ({ kind: "message", message: { $blob: [reference, 4] } }));
    await owned.append({ id: "1-1", records }, 0);
    await owned.release();
    const [kept = "", changed = "", gone = ""] = references;
    const file = (reference: string) => join(agentPath(directory, "a"), "blobs", reference.slice("blob://".length));
    await writeFile(file(changed), "other");
    await rm(file(gone));
    const { report, to } = await salvaged(directory);
    expect(report.lostBlobs).toEqual([changed, gone]);
    expect(await to.blobs.get("a", kept)).toEqual(Buffer.from("kept"));
  });

  it("can be repeated after it ended between the blobs and the log", async () => {
    const directory = await testDirectory();
    const log = testLog(directory);
    const owned = await log.open("a", nextOwner());
    const reference = await log.blobs.put("a", owned.generation, Buffer.from("large"));
    const records = [{ kind: "message", text: "one", message: { $blob: [reference, 5] } }];
    await owned.append({ id: "1-1", records }, 0);
    await owned.release();
    const to = await testDirectory();
    const full = Object.assign(new Error("no space left"), { code: "ENOSPC", syscall: "link" });
    const fileSystem = { ...nodeFileSystem, link: () => Promise.reject(full) };
    const cut = log.salvage("a", testLog(to, { fileSystem }));
    await expect(cut).rejects.toMatchObject({ code: "storage_failed" });
    const target = testLog(to);
    expect(await log.salvage("a", target)).toMatchObject({ appends: 1, lostBlobs: [] });
    expect(textsOf(await collect(target.read("a")))).toEqual(["one"]);
  });

  it("overwrites no agent and creates none from a deleted or unknown one", async () => {
    const directory = await twoSegments();
    const log = testLog(directory);
    await expect(log.salvage("a", log)).rejects.toMatchObject({ code: "agent_exists", agentId: "a" });
    await (await log.open("a", nextOwner())).drop();
    const { report, to } = await salvaged(directory);
    expect(report).toMatchObject({ appends: 0, lostBlobs: [] });
    await expect(testLog(directory).salvage("b", to)).rejects.toMatchObject({ code: "invalid_input" });
    expect(await collect(to.list())).toEqual([]);
  });
});

describe("the chain of intact appends", () => {
  const entry = (position: number, generation: number, checksum: string, prev: string, gaps?: object[]) => ({
    entry: { position, generation, id: "", records: gaps ? [{ kind: "pruned", gaps } as never] : [], checksum, prev },
  });
  const first = entry(1, 1, "a", "");
  const gap = { first: 2, last: 3, before: "a", after: "c" };
  it.each([
    ["nothing", [], { from: 0, kept: [], unreachable: [] }],
    ["in any order", [entry(2, 1, "b", "a"), first], { from: 0, kept: ["a", "b"], unreachable: [] }],
    ["a break", [first, entry(3, 1, "c", "b")], { from: 0, kept: ["a"], unreachable: [3] }],
    ["no start", [entry(2, 1, "b", "a")], { from: 0, kept: [], unreachable: [2] }],
    [
      "two appends after one: the later owner's counts",
      [entry(2, 2, "y", "a"), entry(2, 1, "x", "a"), first, entry(3, 1, "z", "x")],
      { from: 0, kept: ["a", "y"], unreachable: [3] },
    ],
    ["an invalid position", [first, entry(5, 1, "b", "a")], { from: 0, kept: ["a"], unreachable: [5] }],
    ["a gap with a name", [first, entry(4, 1, "d", "c", [gap])], { from: 0, kept: ["a", "d"], unreachable: [] }],
    [
      "a gap whose bytes still exist",
      [first, entry(2, 1, "b", "a"), entry(3, 1, "c", "b"), entry(4, 1, "d", "c", [gap])],
      { from: 0, kept: ["a", "b", "c", "d"], unreachable: [] },
    ],
    ["after a deletion", [entry(8, 4, "h", ""), entry(1, 1, "a", "")], { from: 7, kept: ["h"], unreachable: [] }],
  ] as const)("%s", (_name, found, { from, kept, unreachable }) => {
    const chain = intactChain(found);
    expect(chain.appends.map((append) => append.entry.checksum)).toEqual(kept);
    expect([chain.from, chain.unreachable]).toEqual([from, unreachable]);
  });
});
