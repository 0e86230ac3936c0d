import { mkdir, readdir, readFile, rename, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { describe, expect, it } from "vitest";
import type { FileRecordLog } from "../../../src/storage/file/FileRecordLog.ts";
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

/** Two agents, "a" and "b", each with appends of two owners; their processes have ended. */
async function twoAgents(): Promise<{ readonly directory: string; readonly log: FileRecordLog }> {
  const directory = await testDirectory();
  const log = testLog(directory);
  for (const agentId of ["a", "b"]) {
    for (const status of ["queued", "in_progress"]) {
      const owned = await log.open(agentId, nextOwner());
      // Large enough for the next owner to list it instead of carrying it over.
      if (status === "queued") for (let n = 0; n < 3; n++) await append(owned, "x".repeat(70_000));
      await append(owned, status, { summary: summaryOf(agentId, status, "2026") });
      await log.blobs.put(agentId, owned.generation, Buffer.from(status));
      await owned.release();
    }
  }
  return { directory, log };
}

const corrupt = { code: "corrupt_log", agentId: "a" };

describe("removed segments", () => {
  it.each([
    ["all, and state.json remains", ["owners", "blobs"], "every"],
    ["all, and blobs remain", ["owners", "state.json"], "every"],
    ["the newest, and state.json remains", ["owners", "blobs"], "newest"],
  ] as const)("are detected: %s", async (_name, others, which) => {
    const { directory, log } = await twoAgents();
    for (const name of others) await rm(join(agentPath(directory, "a"), name), { recursive: true });
    const segments = await segmentPaths(directory, "a");
    for (const path of which === "every" ? segments : segments.slice(-1)) await rm(path);
    const before = await filesBelow(directory);
    await expect(log.open("a", nextOwner())).rejects.toMatchObject(corrupt);
    await expect(collect(log.read("a"))).rejects.toMatchObject(corrupt);
    expect(await filesBelow(directory)).toEqual(before);
    expect(await collect(log.list())).toMatchObject([
      { status: "unreadable" },
      { agentId: "b", status: "in_progress" },
    ]);
  });

  it("are detected when only the heartbeat file of the owner remains", async () => {
    const directory = await testDirectory();
    const clock = new TestClock();
    await append(await testLog(directory, { clock }).open("a", nextOwner()), "one");
    clock.advance(5_000);
    await expect.poll(() => readdir(join(agentPath(directory, "a"), "owners"))).toEqual(["1.alive"]);
    await rm(join(agentPath(directory, "a"), "checkpoints"), { recursive: true });
    await expect(testLog(directory).open("a", nextOwner())).rejects.toMatchObject(corrupt);
  });

  it("are not reported after an interrupted first open", async () => {
    const directory = await testDirectory();
    const log = testLog(directory);
    for (const name of ["owners", "blobs", "tmp", "checkpoints"])
      await mkdir(join(agentPath(directory, "a"), name), { recursive: true });
    await writeFile(join(agentPath(directory, "a"), "tmp", "1-x"), "{");
    expect(await collect(log.read("a"))).toEqual([]);
    expect(await collect(log.list())).toEqual([]);
    expect((await log.open("a", nextOwner())).position).toBe(0);
  });
});

describe("links instead of files and directories of an agent", () => {
  it.each(["", "checkpoints", "tmp", "owners", "blobs", "state.json"])("are not followed: %s", async (name) => {
    const { directory, log } = await twoAgents();
    const outside = await testDirectory();
    const path = join(agentPath(directory, "a"), name);
    await rename(path, join(outside, "moved"));
    await symlink(join(outside, "moved"), path);
    const before = await filesBelow(outside);
    await expect(log.open("a", nextOwner())).rejects.toMatchObject({ code: "storage_failed", reason: "permission" });
    expect(await filesBelow(outside)).toEqual(before);
    const listed = await collect(log.list());
    expect(listed.find(({ agentId }) => agentId === "b")).toMatchObject({ status: "in_progress" });
    expect(listed).toHaveLength(2);
  });
});

describe("a list with a damaged agent", () => {
  const changed = async (path: string, at: (bytes: Buffer) => number) => {
    const bytes = await readFile(path);
    const place = at(bytes);
    bytes[place] = (bytes[place] ?? 0) ^ 1;
    await writeFile(path, bytes);
  };

  it.each([
    ["in its claims, so that its id is unknown", () => 20, false],
    ["in the line with its status", (bytes: Buffer) => bytes.lastIndexOf("in_progress"), true],
  ] as const)("contains the other agents and reports the damaged one as unreadable: %s", async (_name, at, known) => {
    const { directory, log } = await twoAgents();
    const agentId = known ? "a" : basename(agentPath(directory, "a"));
    await rm(join(agentPath(directory, "a"), "state.json"));
    for (const path of (await segmentPaths(directory, "a")).slice(known ? 1 : 0)) await changed(path, at);
    const listed = await collect(log.list());
    expect(listed).toMatchObject([
      { agentId, status: "unreadable", data: { code: "corrupt_log" } },
      { agentId: "b", status: "in_progress" },
    ]);
    expect(await collect(log.list({ status: "unreadable" }))).toEqual(listed.slice(0, 1));
    expect(await collect(log.list({ status: "in_progress" }))).toEqual(listed.slice(1));
  });

  it.each([
    ["without an order", { status: "queued" }],
    ["without a status", { order: "2026" }],
    ["with texts of another type", { ...summaryOf("a", "queued", "2026"), requestIds: "1" }],
  ])("reports an agent as unreadable whose stored status is %s, until it has a new status", async (_, summary) => {
    const { directory, log } = await twoAgents();
    const owned = await log.open("a", nextOwner());
    await append(owned, "forged", { summary: summary as never });
    await owned.release();
    const state = join(agentPath(directory, "a"), "state.json");
    for (const forget of [async () => {}, () => rm(state)]) {
      await forget();
      expect((await collect(log.list())).map(({ agentId, status }) => [agentId, status])).toEqual([
        ["a", "unreadable"],
        ["b", "in_progress"],
      ]);
      expect(await collect(log.list({ status: "in_progress" }))).toMatchObject([{ agentId: "b" }]);
    }
    const next = await log.open("a", nextOwner());
    await append(next, "valid", { summary: summaryOf("a", "queued", "2026") });
    await next.release();
    expect(await collect(log.list({ status: "queued" }))).toMatchObject([{ agentId: "a", position: 7 }]);
  });

  it("returns damaged agents with similar ids on separate pages", async () => {
    const directory = await testDirectory();
    const log = testLog(directory);
    const agentIds = ["1", "2", "3"].map((end) => `${"é".repeat(100)}${end}`);
    for (const agentId of agentIds) {
      const owned = await log.open(agentId, nextOwner());
      await append(owned, "x", { summary: summaryOf(agentId, "queued", `2026 ${agentId}`) });
      await owned.release();
    }
    await collect(log.list({ status: "queued" }));
    for (const agentId of agentIds) {
      await rm(join(agentPath(directory, agentId), "state.json"));
      for (const path of await segmentPaths(directory, agentId))
        await changed(path, (bytes) => bytes.lastIndexOf("queued"));
    }
    const found: string[] = [];
    for (let order = ""; found.length < agentIds.length + 1;) {
      const [next] = await collect(testLog(directory).list({ after: order, limit: 1 }));
      if (!next) break;
      expect(next.status).toBe("unreadable");
      found.push(next.agentId);
      order = next.order;
    }
    expect(found.toSorted()).toEqual(agentIds);
  });

  it("shows the status of the damaged agent while state.json states it", async () => {
    const { directory, log } = await twoAgents();
    await changed((await segmentPaths(directory, "a")).at(-1) ?? "", (bytes) => bytes.lastIndexOf("in_progress"));
    expect(await collect(log.list())).toMatchObject([{ status: "in_progress" }, { status: "in_progress" }]);
  });

  it("fails when the storage of all agents fails", async () => {
    const { directory } = await twoAgents();
    await rm(join(agentPath(directory, "a"), "state.json"));
    const log = testLog(directory);
    await log.close();
    await expect(collect(log.list())).rejects.toMatchObject({ code: "storage_closed" });
  });
});

describe("an append that a crash cut off", () => {
  it.each([1, 30, -1])("is reported only by the open that skips it: %i bytes", async (cut) => {
    const directory = await testDirectory();
    const machine = new TestMachine();
    const identity = machine.start();
    const owned = await testLog(directory, { processIdentity: identity }).open("a", nextOwner());
    await append(owned, "one");
    const [segment = ""] = await segmentPaths(directory, "a");
    const { length } = await readFile(segment);
    await append(owned, "two");
    const torn = (await readFile(segment)).subarray(length).subarray(0, cut);
    await truncate(segment, length + torn.length);
    machine.end(identity);
    const log = testLog(directory, { processIdentity: machine.start() });
    const next = await log.open("a", nextOwner());
    expect(next.tornTail).toEqual({ file: segment, line: 4, bytes: torn.length });
    expect(textsOf(await collect(log.read("a")))).toEqual(["one"]);
    await next.release();
    expect((await log.open("a", nextOwner())).tornTail).toBeUndefined();
  });

  it("is not reported if every append is complete", async () => {
    const { log } = await twoAgents();
    expect((await log.open("a", nextOwner())).tornTail).toBeUndefined();
  });
});
