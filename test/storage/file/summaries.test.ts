import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { describe, expect, it } from "vitest";
import { CorruptLogError } from "../../../src/errors/storedDataErrors.ts";
import { nodeSha256 } from "../../../src/internal/sha256/nodeSha256.ts";
import { nodeFileSystem } from "../../../src/nodejs/nodeFileSystem.ts";
import { decodeState } from "../../../src/storage/file/layout/stateJson.ts";
import {
  agentPath,
  append,
  collect,
  filesBelow,
  nextOwner,
  segmentPaths,
  summaryOf,
  testDirectory,
  testLog,
  TestMachine,
  textsOf,
} from "./support/fixture.ts";
import { TestClock } from "./support/TestClock.ts";

const edit = async (path: string, change: (text: string) => string) =>
  writeFile(path, change(await readFile(path, "utf8")));

function withoutOrder(text: string): string {
  const covered = text.slice(0, text.lastIndexOf(',"checksum"')).replace(/"order":"[^"]*"/, '"order":5');
  return `${covered},"checksum":"${nodeSha256.hex(covered)}"}\n`;
}

const statePath = (directory: string, agentId: string) => join(agentPath(directory, agentId), "state.json");

describe("the list of agents in files", () => {
  it("sorts by order, then by id, and filters by status", async () => {
    const log = testLog(await testDirectory());
    expect(await collect(log.list())).toEqual([]);
    for (const [agentId, status, order] of [
      ["b", "queued", "1"],
      ["a", "queued", "1"],
      ["c", "failed", "0"],
    ] as const) {
      await append(await log.open(agentId, nextOwner()), "x", { summary: summaryOf(agentId, status, order) });
    }
    await append(await log.open("without a status", nextOwner()), "x");
    const ids = async (options: object) => (await collect(log.list(options))).map((item) => item.agentId);
    expect(await ids({})).toEqual(["c", "a", "b"]);
    expect(await ids({ status: "queued" })).toEqual(["a", "b"]);
    expect(await ids({ after: "0", limit: 1 })).toEqual(["a"]);
  });

  it("lets other work run after every few agents", async () => {
    const directory = await testDirectory();
    const log = testLog(directory);
    for (let at = 0; at < 100; at++) {
      const owned = await log.open(`a${at}`, nextOwner());
      await append(owned, "x", { summary: summaryOf(`a${at}`, "queued") });
      await owned.release();
    }
    let turns = 0;
    const count = () => {
      turns += 1;
      if (isListing) setImmediate(count);
    };
    let isListing = true;
    setImmediate(count);
    expect(await collect(testLog(directory).list())).toHaveLength(100);
    isListing = false;
    expect(turns).toBeGreaterThanOrEqual(6);
  });

  it("contains the keys that other tools read", async () => {
    const directory = await testDirectory();
    const owned = await testLog(directory).open("a", nextOwner());
    await append(owned, "x", { summary: { ...summaryOf("a", "waiting"), runId: "r" } });
    await owned.release();
    const state = JSON.parse(await readFile(statePath(directory, "a"), "utf8")) as object;
    expect(state).toMatchObject({
      version: "1.0",
      task_id: "a",
      status: "waiting",
      created_at: "2026-01-01T00:00:00.000Z",
      updated_at: "2026-01-01T00:00:00.000Z",
      data: { note: "waiting" },
      run_id: "r",
      position: 1,
      changing: false,
      checksum: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
    });
  });

  it.each([
    ["lost", (path: string) => rm(path)],
    ["damaged", (path: string) => writeFile(path, "{}")],
    ["empty", (path: string) => writeFile(path, "")],
    ["edited by hand", (path: string) => edit(path, (text) => text.replace("in_progress", "completed"))],
    ["edited with a valid checksum but an invalid shape", (path: string) => edit(path, withoutOrder)],
  ])("reads the log when state.json is %s, and the next owner repairs the file", async (_name, harm) => {
    const directory = await testDirectory();
    const log = testLog(directory);
    const owned = await log.open("a", nextOwner());
    await append(owned, "one", { summary: summaryOf("a", "in_progress") });
    await append(owned, "two");
    await owned.release();
    await harm(statePath(directory, "a"));
    const expected = [{ ...summaryOf("a", "in_progress"), position: 1 }];
    expect(await collect(log.list({ status: "in_progress" }))).toEqual(expected);
    await log.open("a", nextOwner());
    expect(decodeState(await readFile(statePath(directory, "a"), "utf8"), nodeSha256)).toMatchObject({
      summary: expected[0],
      changing: false,
    });
    expect(await collect(log.list({ status: "in_progress" }))).toEqual(expected);
  });

  it.each(["releases", "appends"])("reads no log after an owner that changes no status %s", async (step) => {
    const directory = await testDirectory();
    const first = await testLog(directory).open("a", nextOwner());
    await append(first, "one", { summary: summaryOf("a", "waiting") });
    await first.release();
    const next = await testLog(directory).open("a", nextOwner());
    if (step === "appends") await append(next, "two");
    else await next.release();
    const read: string[] = [];
    const readFile = (path: string, start?: number, length?: number) => {
      read.push(basename(path));
      return nodeFileSystem.readFile(path, start, length);
    };
    const log = testLog(directory, { fileSystem: { ...nodeFileSystem, readFile } });
    expect(await collect(log.list())).toEqual([{ ...summaryOf("a", "waiting"), position: 1 }]);
    expect(read).toEqual(["state.json"]);
  });

  it("marks state.json as changing before a status change, and reads the log until the change is complete", async () => {
    const directory = await testDirectory();
    const seen: unknown[] = [];
    let settling = true;
    const rename = async (from: string, to: string) => {
      const state = to.endsWith("state.json") ? decodeState(await readFile(from, "utf8"), nodeSha256) : undefined;
      if (state !== undefined) seen.push([state.changing, (await collect(testLog(directory).read("a"))).length]);
      if (state?.changing === false && !settling) throw Object.assign(new Error("made to fail"), { code: "EIO" });
      return nodeFileSystem.rename(from, to);
    };
    const log = testLog(directory, { fileSystem: { ...nodeFileSystem, rename } });
    const owned = await log.open("a", nextOwner());
    await append(owned, "one", { summary: summaryOf("a", "queued") });
    expect(seen).toEqual([[true, 0]]);
    expect(await collect(log.list())).toMatchObject([{ status: "queued", position: 1 }]);
    await append(owned, "two");
    expect(seen).toEqual([
      [true, 0],
      [false, 2],
    ]);
    settling = false;
    await append(owned, "three", { summary: summaryOf("a", "in_progress") });
    await append(owned, "four");
    expect(await collect(log.list())).toMatchObject([{ status: "in_progress", position: 3 }]);
  });

  it("completes state.json at the next heartbeat", async () => {
    const directory = await testDirectory();
    const clock = new TestClock();
    const owned = await testLog(directory, { clock }).open("a", nextOwner());
    await append(owned, "one", { summary: summaryOf("a", "queued") });
    const state = async () => decodeState(await readFile(statePath(directory, "a"), "utf8"), nodeSha256);
    expect(await state()).toMatchObject({ changing: true, end: { position: 0 } });
    clock.advance(5_000);
    await expect.poll(state).toMatchObject({ changing: false, summary: { position: 1 }, end: { position: 1 } });
  });

  it("ignores the state.json of a replaced owner", async () => {
    const directory = await testDirectory();
    const machine = new TestMachine();
    const first = machine.start();
    await append(await testLog(directory, { processIdentity: first }).open("a", nextOwner()), "one", {
      summary: summaryOf("a", "queued"),
    });
    const stale = await readFile(statePath(directory, "a"));
    machine.end(first);
    const log = testLog(directory, { processIdentity: machine.start() });
    await append(await log.open("a", nextOwner()), "two", { summary: summaryOf("a", "in_progress") });
    await writeFile(statePath(directory, "a"), stale);
    expect(await collect(log.list({ status: "in_progress" }))).toMatchObject([{ position: 2 }]);
  });

  it("skips directories of other content and agents under a wrong name", async () => {
    const directory = await testDirectory();
    const log = testLog(directory);
    await append(await log.open("a", nextOwner()), "x", { summary: summaryOf("a", "queued") });
    await mkdir(join(directory, "tasks", "lost+found"));
    await writeFile(join(directory, "tasks", ".DS_Store"), "");
    expect(await collect(log.list())).toHaveLength(1);
    const [segment = ""] = await segmentPaths(directory, "a");
    await mkdir(join(agentPath(directory, "b"), "checkpoints"), { recursive: true });
    await writeFile(join(agentPath(directory, "b"), "checkpoints", "1.jsonl"), await readFile(segment));
    expect(await collect(log.list())).toMatchObject([
      { agentId: "a", status: "queued" },
      { agentId: basename(agentPath(directory, "b")), status: "unreadable", data: { code: "corrupt_log" } },
    ]);
    await expect(collect(log.read("b"))).rejects.toBeInstanceOf(CorruptLogError);
  });
});

describe("removal from files", () => {
  it("drops an agent with all its bytes, and continues its positions and generations", async () => {
    const directory = await testDirectory();
    const machine = new TestMachine();
    const log = testLog(directory, { processIdentity: machine.start() });
    const owned = await log.open("a", nextOwner());
    await append(owned, "canary", { summary: summaryOf("a", "canary") });
    await append(owned, "canary");
    const reference = await log.blobs.put("a", 1, Buffer.from("canary"));
    await owned.drop();
    for (const [path, content] of await filesBelow(directory))
      expect([path, content.includes("canary")]).toEqual([path, false]);
    expect(await collect(log.read("a"))).toEqual([]);
    expect(await collect(log.list())).toEqual([]);
    expect(await log.owner("a")).toBeUndefined();
    expect(await log.blobs.get("a", reference)).toBeUndefined();
    const again = await log.open("a", nextOwner());
    expect([again.generation, again.position]).toEqual([3, 2]);
    await again.append({ id: "x", records: [] }, 2);
    expect(await collect(log.read("a"))).toMatchObject([{ position: 3, prev: "" }]);
    await again.release();
    expect((await log.open("a", nextOwner())).position).toBe(3);
  });

  it("removes only entries that a pruned record names, and every reader continues", async () => {
    const directory = await testDirectory();
    const log = testLog(directory);
    const owned = await log.open("a", nextOwner());
    for (const text of ["one", "two", "three", "four"]) await append(owned, text, { snapshot: text === "four" });
    const entries = await collect(log.read("a"));
    const gaps = [{ first: 2, last: 3, before: entries[0]?.checksum, after: entries[2]?.checksum }];
    await owned.append({ id: "p", records: [{ kind: "pruned", gaps } as never] }, 4);
    const kept = [1, 4, 5];
    expect((await collect(log.read("a"))).map(({ position }) => position)).toEqual(kept);
    await owned.prune();
    expect(owned.generation).toBe(2);
    expect((await collect(log.read("a"))).map(({ position }) => position)).toEqual(kept);
    expect((await collect(log.read("a", { after: 1 }))).map(({ position }) => position)).toEqual([4, 5]);
    for (const content of (await filesBelow(directory)).values()) expect(content.includes("three")).toBe(false);
    await append(owned, "after");
    expect(await segmentPaths(directory, "a")).toHaveLength(1);
    await owned.release();
    const next = await log.open("a", nextOwner());
    await append(next, "next owner");
    expect((await collect(log.read("a"))).map(({ position }) => position)).toEqual([1, 4, 5, 6, 7]);
  });

  it("detects a missing line that no pruned record names", async () => {
    const directory = await testDirectory();
    const log = testLog(directory);
    const owned = await log.open("a", nextOwner());
    for (const text of ["one", "two", "three"]) await append(owned, text);
    const [segment = ""] = await segmentPaths(directory, "a");
    const lines = (await readFile(segment, "utf8")).split("\n");
    await writeFile(segment, lines.toSpliced(3, 1).join("\n"));
    await expect(collect(log.read("a"))).rejects.toMatchObject({ code: "corrupt_log", lastPosition: 1 });
    await writeFile(segment, lines.toSpliced(2, 1).join("\n"));
    await expect(collect(log.read("a"))).rejects.toBeInstanceOf(CorruptLogError);
    await writeFile(segment, [...lines.slice(0, 3), lines[4], lines[3], ""].join("\n"));
    await expect(collect(log.read("a")).then(textsOf)).rejects.toBeInstanceOf(CorruptLogError);
  });

  it("permits only one of two processes that both consider themselves the owner", async () => {
    const directory = await testDirectory();
    const machine = new TestMachine();
    const first = machine.start();
    const stale = await testLog(directory, { processIdentity: first }).open("a", nextOwner());
    await append(stale, "one");
    machine.end(first);
    const owned = await testLog(directory, { processIdentity: machine.start() }).open("a", nextOwner());
    await expect(stale.prune()).rejects.toMatchObject({ code: "ownership_lost" });
    await owned.prune();
    await append(owned, "two");
    expect(textsOf(await collect(testLog(directory).read("a")))).toEqual(["one", "two"]);
  });
});
