import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  persistence,
  strategy,
  type AgentContext,
  type AgentCheckpointData,
  type CheckpointValidation,
} from "agent-persistence";
import { LogPersistenceStorageProvider, type LogRecord } from "agent-persistence/storage";
import { FilePersistenceStorageProvider, FileRecordLog } from "agent-persistence/file";
import { SimulatedFileSystem } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { delegating } from "../../powerloss/delegating.ts";
import { testDirectory, TestMachine } from "../../storage/file/support/fixture.ts";
import { durableAgent, Fault, Stopped } from "../support/durableAgent.ts";
import { storages, logStorages } from "../support/storages.ts";
import { every } from "../../soak/cases.ts";

/** Every so many bytes are changed. */
const stride = every(7, 1);

const large = "x".repeat(20_000);

const small = (fault?: Fault) =>
  strategy<string, string>("s", (graph) => {
    const first = graph.node("first", (input: string, context: AgentContext) => {
      context.llm.append({ role: "user", content: input });
      context.recordDecision({ decision: "so" });
      return new Date(0);
    });
    const second = graph.node("second", (_input: Date) => {
      fault?.strike();
      return "out";
    });
    graph.edge(graph.start, first);
    graph.edge(first, second);
    graph.edge(second, graph.finish);
  });

const failures = ({ structural, integrity }: CheckpointValidation) =>
  Object.entries({ ...structural, ...integrity })
    .filter(([, check]) => !check.ok)
    .map(([name]) => name);

describe.each(storages)("$name: stored checkpoints", (storage) => {
  it("are valid, the newest and older ones, unlike missing ones", async () => {
    const opened = await storage.open();
    const agent = durableAgent(small(new Fault()), opened());
    await expect(agent.run(large)).rejects.toBeInstanceOf(Stopped);
    const outside = persistence(agent).agent();
    const checkpoints = await outside.getCheckpoints();
    const newest = checkpoints.at(-1)?.checkpointId;
    expect(await outside.validateCheckpoint()).toMatchObject({ valid: true, agentId: "a", checkpointId: newest });
    for (const { checkpointId } of checkpoints)
      expect(await outside.validateCheckpoint(checkpointId)).toMatchObject({ valid: true, checkpointId });
    const missing = await outside.validateCheckpoint("none");
    expect([missing.valid, failures(missing)]).toEqual([false, ["hasRequiredFields"]]);
    const nobody = await persistence(agent).agent("nobody").validateCheckpoint();
    expect([nobody.valid, failures(nobody)]).toEqual([false, ["hasRequiredFields"]]);
  });
});

describe("a changed byte of a stored checkpoint", () => {
  it("never makes the library accept changed data, at any position", async () => {
    const fileSystem = new SimulatedFileSystem();
    let changed: { readonly path: string; readonly at: number } | undefined;
    const readFile = async (path: string, start = 0, length?: number) => {
      const bytes = Uint8Array.from(await fileSystem.readFile(path, start, length));
      const at = changed?.path === path ? changed.at - start : -1;
      if (at >= 0 && at < bytes.length) bytes[at] = (bytes[at] ?? 0) ^ 1;
      return bytes;
    };
    const seen = delegating(fileSystem, { readFile });
    const processIdentity = new TestMachine().start();
    const storage = () =>
      new LogPersistenceStorageProvider(new FileRecordLog({ directory: "/data", fileSystem: seen, processIdentity }), {
        inlineThresholdBytes: 60,
      });
    const agent = durableAgent(small(new Fault()), storage());
    await expect(agent.run("x".repeat(80))).rejects.toBeInstanceOf(Stopped);
    const plain = (data: AgentCheckpointData | undefined) => data && { ...data };
    const outside = persistence(agent).agent();
    const stored = plain(await outside.getLatestCheckpoint());
    const outcomes = { valid: 0, reported: 0 };
    for (const [path, content] of fileSystem.files()) {
      // What is derived, and the space that a deletion on a full device needs.
      if (path.endsWith("state.json") || path.endsWith("/reserve")) continue;
      for (let at = 0; at < content.length; at += stride) {
        changed = { path, at };
        const { valid, structural, integrity } = await outside.validateCheckpoint();
        outcomes[valid ? "valid" : "reported"]++;
        if (valid) expect([path, at, plain(await outside.getLatestCheckpoint())]).toEqual([path, at, stored]);
        else expect(JSON.stringify([structural, integrity])).toContain('"reason"');
      }
    }
    expect(outcomes.reported).toBeGreaterThan(1_000 / stride);
    // What it does not depend on: the line that gives the log back, the blobs of the run's input and of the strategy.
    expect(outcomes.valid).toBeLessThan(600 / stride);
  });
});

describe("damaged checkpoints", () => {
  async function interrupted() {
    const directory = await testDirectory();
    const agent = durableAgent(small(new Fault()), new FilePersistenceStorageProvider({ directory }));
    await expect(agent.run(large)).rejects.toBeInstanceOf(Stopped);
    const files = await readdir(directory, { recursive: true, withFileTypes: true });
    const paths = files.filter((item) => item.isFile()).map((item) => join(item.parentPath, item.name));
    return { outside: persistence(agent).agent(), paths };
  }

  it("are reported with the missing or changed blob", async () => {
    for (const harm of [(path: string) => rm(path), (path: string) => writeFile(path, "other")]) {
      const { outside, paths } = await interrupted();
      for (const path of paths.filter((file) => file.includes("/blobs/"))) await harm(path);
      const found = await outside.validateCheckpoint();
      expect([found.valid, failures(found)]).toEqual([false, ["blobsAccessible"]]);
      expect(found.integrity.blobsAccessible).toMatchObject({ reason: expect.stringContaining("blob://") as string });
    }
  });

  it("neither harm nor are replaced by earlier checkpoints", async () => {
    const { outside, paths } = await interrupted();
    const [segment = ""] = paths.filter((path) => path.endsWith(".jsonl"));
    const bytes = await readFile(segment);
    const at = bytes.lastIndexOf('"node":"second"');
    bytes[at + 1] = (bytes[at + 1] ?? 0) ^ 1;
    await writeFile(segment, bytes);
    const newest = await outside.validateCheckpoint();
    expect([newest.valid, newest.checkpointId, failures(newest)]).toEqual([false, undefined, ["checksumMatch"]]);
    expect(newest.integrity.checksumMatch).toMatchObject({ reason: expect.stringContaining("1-1") as string });
    expect(await outside.validateCheckpoint("1-1")).toMatchObject({ valid: true, checkpointId: "1-1" });
    expect((await outside.validateCheckpoint("1-2")).valid).toBe(false);
  });
});

describe.each(logStorages)("$name: records with correct checksums and invalid shapes", (storage) => {
  const lane = { kind: "lane", lane: 1, keep: "nothing" };
  const run = { kind: "run", run: "r", input: "in", at: 0 };
  const checkpoint = { kind: "checkpoint", lane: 1, version: 1, at: 0, node: "first", input: "in", iteration: 0 };
  it.each([
    ["no version", [run, lane, { ...checkpoint, version: "1" }]],
    ["no time", [run, lane, { ...checkpoint, at: 1e300 }]],
    ["a lane that begins at itself", [run, { ...lane, from: 1, keep: "all" }, checkpoint]],
    ["versions that go back", [run, lane, { ...checkpoint, version: 2 }, checkpoint]],
    ["a call without a visit", [run, lane, checkpoint, { kind: "intent", lane: 1, call: "c", tool: "t" }]],
    ["an edit of missing messages", [run, lane, { kind: "edit", lane: 1, remove: 5, insert: [] }, checkpoint]],
    [
      "an invalid history",
      [run, lane, { kind: "message", lane: 1, number: 1, message: { role: "nobody" } }, checkpoint],
    ],
    [
      "a note with invalid contents",
      [
        run,
        lane,
        { kind: "note", lane: 1, key: "k", value: null, packs: [{ blob: "b", contents: [["h"]] }] },
        checkpoint,
      ],
    ],
    [
      "a rollback with invalid participants",
      [run, lane, checkpoint, { kind: "rollback", target: 1, calls: [], closed: [], participants: [{ key: 1 }] }],
    ],
    ["an input that refers to a missing message", [run, lane, { ...checkpoint, input: { $message: 9 } }]],
    ["an invalid value", [run, lane, { ...checkpoint, input: { $rich: 7 } }]],
  ] as const)("are reported, and no run continues from them: %s", async (_name, records) => {
    const opened = await storage.open();
    const owned = await opened().log.open("a", { host: "h", processId: 1, nonce: "n" });
    await owned.append({ id: "1-1", records: records as readonly LogRecord[] }, 0);
    await owned.release();
    const outside = persistence(durableAgent(small(), opened())).agent();
    const found = await outside.validateCheckpoint();
    expect([found.valid, failures(found)]).toEqual([false, ["schemaValid"]]);
  });
});
