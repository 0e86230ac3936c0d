import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFile, lstat, readdir, readFile, rename, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  AgentBusyError,
  OwnershipLostError,
  PositionConflictError,
  StorageClosedError,
} from "../../../src/errors/storageErrors.ts";
import { CorruptLogError, UnsupportedFormatError } from "../../../src/errors/storedDataErrors.ts";
import { InvalidAgentIdError } from "../../../src/errors/agentErrors.ts";
import { StopRequestedError } from "../../../src/errors/runErrors.ts";
import { FileRecordLog } from "../../../src/storage/file/FileRecordLog.ts";
import { nodeFileSystem } from "../../../src/nodejs/nodeFileSystem.ts";
import {
  agentPath,
  append,
  collect,
  filesBelow,
  message,
  nextOwner,
  segmentPaths,
  summaryOf,
  testDirectory,
  testLog,
  TestMachine,
  textsOf,
} from "./support/fixture.ts";
import { bundleWorker } from "../../kill/bundleWorker.ts";
import { TestClock } from "./support/TestClock.ts";
import { cases, every } from "../../soak/cases.ts";

describe("a log in files", () => {
  it("reads back all appends, including from another process", async () => {
    const directory = await testDirectory();
    const log = testLog(directory);
    const owned = await log.open("a", nextOwner());
    await append(owned, "one");
    await owned.append({ id: "my own", records: [message("two"), message("three")] }, 1);
    const entries = await collect(testLog(directory).read("a"));
    expect(entries).toMatchObject([
      { position: 1, generation: 1, id: "1-1", prev: "", records: [message("one")] },
      {
        position: 2,
        generation: 1,
        id: "my own",
        prev: entries[0]?.checksum,
        records: [message("two"), message("three")],
      },
    ]);
  });

  it("continues across many owners", async () => {
    const directory = await testDirectory();
    const log = testLog(directory);
    const texts: string[] = [];
    for (let run = 1; run <= 12; run++) {
      const owned = await log.open("a", nextOwner());
      expect([owned.generation, owned.position]).toEqual([run, texts.length]);
      for (let n = 0; n < run % 4; n++) {
        texts.push(`${run}/${n}`);
        await append(owned, `${run}/${n}`);
      }
      await owned.release();
    }
    expect(textsOf(await collect(log.read("a")))).toEqual(texts);
    expect(textsOf(await collect(log.read("a", { after: 4, upTo: 7 })))).toEqual(texts.slice(4, 7));
    expect(await segmentPaths(directory, "a")).toHaveLength(1);
  });

  it("lists large segments, copies small ones and reads all of them", async () => {
    const directory = await testDirectory();
    const log = testLog(directory);
    const texts: string[] = [];
    const large = "x".repeat(20_000);
    for (let run = 0; run < 9; run++) {
      const owned = await log.open("a", nextOwner());
      for (let n = 0; n < 6; n++) {
        texts.push(`${run}/${n}${large}`);
        await append(owned, texts.at(-1) ?? "", { snapshot: run === 1 && n === 3 });
      }
      await owned.release();
      expect(textsOf(await collect(log.read("a")))).toEqual(texts);
    }
    const count = (await segmentPaths(directory, "a")).length;
    expect(count).toBeGreaterThan(1);
    expect(count).toBeLessThan(9);
    expect(textsOf(await collect(log.read("a", { sinceSnapshot: true })))).toEqual(texts.slice(9));
    expect(textsOf(await collect(log.read("a", { after: 20 })))).toEqual(texts.slice(20));
  });

  it("limits the number and size of files over many short runs", async () => {
    const runs = cases(100, 1_000);
    const directory = await testDirectory();
    const unsynced = {
      ...nodeFileSystem,
      fsyncDir: async () => {},
      create: async (path: string) => ({
        ...(await nodeFileSystem.create(path)),
        fsync: async () => {},
        fdatasync: async () => {},
      }),
    };
    const log = testLog(directory, { fileSystem: unsynced });
    for (let run = 0; run < runs; run++) {
      const owned = await log.open("a", nextOwner());
      await append(owned, "x".repeat(200));
      await owned.release();
    }
    const files = await filesBelow(agentPath(directory, "a"));
    const bytes = [...files.values()].reduce((total, content) => total + content.length, 0);
    expect(bytes).toBeLessThan(runs * 400 * 2);
    expect(files.size).toBeLessThan(16);
    expect(await collect(log.read("a"))).toHaveLength(runs);
  });

  it("acknowledges a repeated id at the same position and refuses any other", async () => {
    const log = testLog(await testDirectory());
    const owned = await log.open("a", nextOwner());
    await owned.append({ id: "x", records: [] }, 0);
    await owned.append({ id: "y", records: [] }, 1);
    expect(await owned.append({ id: "x", records: [] }, 0)).toBe(1);
    await expect(owned.append({ id: "z", records: [] }, 0)).rejects.toBeInstanceOf(PositionConflictError);
    await expect(owned.append({ id: "z", records: [] }, 3)).rejects.toMatchObject({ expected: 3, found: 2 });
    expect(await append(owned, "on")).toBe(3);
  });

  it("stores concurrent appends in call order", async () => {
    const log = testLog(await testDirectory());
    const owned = await log.open("a", nextOwner());
    await Promise.all([0, 1, 2, 3].map((n) => owned.append({ id: `id${n}`, records: [message(`${n}`)] }, n)));
    await owned.release();
    expect(textsOf(await collect(log.read("a")))).toEqual(["0", "1", "2", "3"]);
  });

  it("is unaffected by later changes to the appended objects", async () => {
    const log = testLog(await testDirectory());
    const owned = await log.open("a", nextOwner());
    const records = [{ kind: "message", text: "given" }];
    const first = owned.append({ id: "1-1", records }, 0);
    const second = owned.append({ id: "1-2", records }, 1);
    records[0]!.text = "changed";
    await Promise.all([first, second]);
    expect(textsOf(await collect(log.read("a")))).toEqual(["given", "given"]);
    await expect(owned.append({ id: "1-3", records: [{ kind: "x", n: 1n } as never] }, 2)).rejects.toBeInstanceOf(
      TypeError,
    );
    expect(await append(owned, "still usable")).toBe(3);
  });

  it("is private: directories 0700, files 0600, and links are not followed", async () => {
    const directory = await testDirectory();
    const log = testLog(directory);
    const owned = await log.open("a", nextOwner());
    await append(owned, "x", { summary: summaryOf("a", "queued") });
    await log.blobs.put("a", 1, new Uint8Array([1]));
    for (const item of await readdir(directory, { recursive: true, withFileTypes: true })) {
      const mode = (await lstat(join(item.parentPath, item.name))).mode & 0o777;
      expect([item.name, mode.toString(8)]).toEqual([item.name, item.isDirectory() ? "700" : "600"]);
    }
    await owned.release();
    const [segment = ""] = await segmentPaths(directory, "a");
    await writeFile(join(directory, "elsewhere"), await readFile(segment));
    await rm(segment);
    await symlink(join(directory, "elsewhere"), segment);
    await expect(collect(log.read("a"))).rejects.toMatchObject({ code: "storage_failed", reason: "permission" });
  });

  it("refuses an agent directory that is a link", async () => {
    const directory = await testDirectory();
    const outside = await testDirectory();
    await (await testLog(directory).open("other", nextOwner())).release();
    await symlink(outside, agentPath(directory, "a"));
    await expect(testLog(directory).open("a", nextOwner())).rejects.toMatchObject({ code: "storage_failed" });
    expect(await readdir(outside)).toEqual([]);
  });
});

describe.each(["owners", "tmp", "checkpoints"])("a directory `%s` of an agent that is a link", (name) => {
  it("is not followed by requests to stop and looks at the owner", async () => {
    const directory = await testDirectory();
    const outside = await testDirectory();
    await testLog(directory).open("a", nextOwner());
    const linked = join(agentPath(directory, "a"), name);
    await rename(linked, join(outside, name));
    await symlink(join(outside, name), linked);
    const before = await filesBelow(outside);
    const log = testLog(directory, { processIdentity: { ...new TestMachine().start(), sinceBootMs: () => 1 } });
    for (const use of [() => log.owner("a"), () => log.requestStop("a", "x")])
      await expect(use()).rejects.toMatchObject({ code: "storage_failed", reason: "permission", path: linked });
    expect(await filesBelow(outside)).toEqual(before);
  });
});

describe("a `tasks` directory that is a link", () => {
  it("is not followed by opening, reading, listing or salvaging", async () => {
    const directory = await testDirectory();
    const outside = await testDirectory();
    await (await testLog(directory).open("a", nextOwner())).release();
    await rename(join(directory, "tasks"), join(outside, "tasks"));
    await symlink(join(outside, "tasks"), join(directory, "tasks"));
    const before = await readdir(outside, { recursive: true });
    const log = testLog(directory);
    const to = testLog(await testDirectory());
    const uses = {
      open: () => log.open("a", nextOwner()),
      "open another": () => log.open("b", nextOwner()),
      read: () => collect(log.read("a")),
      owner: () => log.owner("a"),
      list: () => collect(log.list()),
      "list some": () => collect(log.list({ status: "queued" })),
      salvage: () => log.salvage("a", to),
    };
    for (const [name, use] of Object.entries(uses)) {
      const refused = { code: "storage_failed", reason: "permission", path: join(directory, "tasks") };
      expect([name, await use().then(String, (error: unknown) => error)]).toMatchObject([name, refused]);
    }
    expect(await readdir(outside, { recursive: true })).toEqual(before);
  });

  it("is refused, although the storage directory may be a link", async () => {
    const directory = await testDirectory();
    const link = join(await testDirectory(), "linked");
    await symlink(directory, link);
    const owned = await testLog(link).open("a", nextOwner());
    await append(owned, "x", { summary: summaryOf("a", "queued") });
    await owned.release();
    expect(await collect(testLog(link).list())).toMatchObject([{ agentId: "a" }]);
  });
});

describe("the owner of a log in files", () => {
  it("is exclusive across processes until it releases", async () => {
    const directory = await testDirectory();
    const machine = new TestMachine();
    const log = testLog(directory, { processIdentity: machine.start() });
    const other = testLog(directory, { processIdentity: machine.start() });
    const owner = nextOwner();
    const owned = await log.open("a", owner);
    for (const contender of [log, other]) {
      const error: unknown = await contender.open("a", nextOwner()).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(AgentBusyError);
      expect(error).toMatchObject({
        owner: { nonce: owner.nonce, processId: 100, generation: 1 },
        retryAfterMs: 15_000,
      });
    }
    expect(await other.owner("a")).toMatchObject({ nonce: owner.nonce, generation: 1, state: "alive" });
    await owned.release();
    await owned.release();
    expect(await other.owner("a")).toBeUndefined();
    await expect(append(owned, "late")).rejects.toBeInstanceOf(StorageClosedError);
    expect((await other.open("a", nextOwner())).generation).toBe(2);
  });

  it("is a single winner among many concurrent opens", async () => {
    const directory = await testDirectory();
    const machine = new TestMachine();
    for (let round = 0; round < 10; round++) {
      const contenders = Array.from({ length: 4 }, () => testLog(directory, { processIdentity: machine.start() }));
      const outcomes = await Promise.allSettled(contenders.map((log) => log.open("a", nextOwner())));
      const won = outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []));
      const lost = outcomes.flatMap((outcome): unknown[] => (outcome.status === "rejected" ? [outcome.reason] : []));
      expect(won).toHaveLength(1);
      expect(lost.every((error) => error instanceof AgentBusyError)).toBe(true);
      await append(won[0]!, `${round}`);
      await won[0]!.release();
    }
    expect(textsOf(await collect(testLog(directory).read("a")))).toEqual(Array.from({ length: 10 }, (_, n) => `${n}`));
  });

  it("is replaced immediately after its process ends, and acknowledges no later append", async () => {
    const directory = await testDirectory();
    const machine = new TestMachine();
    const first = machine.start();
    const stale = await testLog(directory, { processIdentity: first }).open("a", nextOwner());
    await append(stale, "one");
    machine.end(first);
    const log = testLog(directory, { processIdentity: machine.start() });
    expect(await log.owner("a")).toMatchObject({ state: "gone" });
    const owned = await log.open("a", nextOwner());
    await expect(append(stale, "stale")).rejects.toBeInstanceOf(OwnershipLostError);
    expect(stale.lost.reason).toBeInstanceOf(OwnershipLostError);
    await expect(append(stale, "stale")).rejects.toBeInstanceOf(OwnershipLostError);
    await append(owned, "two");
    expect(textsOf(await collect(log.read("a")))).toEqual(["one", "two"]);
    await stale.release();
    await append(owned, "three");
    expect(textsOf(await collect(log.read("a")))).toEqual(["one", "two", "three"]);
  });

  it("of another machine or namespace is never considered dead", async () => {
    const directory = await testDirectory();
    const elsewhere = new TestMachine("boot-2");
    const first = elsewhere.start();
    elsewhere.end(first);
    await testLog(directory, { processIdentity: first }).open("a", nextOwner());
    await expect(testLog(directory).open("a", nextOwner())).rejects.toBeInstanceOf(AgentBusyError);
  });

  it("is replaced after one silent lease on the clock of the contender", async () => {
    const directory = await testDirectory();
    const machine = new TestMachine();
    const clock = new TestClock();
    const stale = await testLog(directory, { processIdentity: machine.start() }).open("a", nextOwner());
    await append(stale, "one");
    const log = testLog(directory, { processIdentity: machine.start(), clock });
    clock.advance(60_000);
    await expect(log.open("a", nextOwner())).rejects.toMatchObject({ retryAfterMs: 15_000 });
    clock.advance(10_000);
    await expect(log.open("a", nextOwner())).rejects.toMatchObject({ retryAfterMs: 5_000 });
    clock.advance(5_000);
    expect(await log.owner("a")).toMatchObject({ state: "silent" });
    expect((await log.open("a", nextOwner())).generation).toBe(2);
    await expect(append(stale, "stale")).rejects.toBeInstanceOf(OwnershipLostError);
  });

  it("keeps the log while it renews the lease", async () => {
    const directory = await testDirectory();
    const machine = new TestMachine();
    const [ownClock, clock] = [new TestClock(), new TestClock()];
    const owned = await testLog(directory, { processIdentity: machine.start(), clock: ownClock }).open(
      "a",
      nextOwner(),
    );
    const log = testLog(directory, { processIdentity: machine.start(), clock });
    const alive = () => readFile(join(agentPath(directory, "a"), "owners/1.alive"), "utf8").catch(() => "none");
    for (let third = 0; third < 12; third++) {
      await expect(log.open("a", nextOwner())).rejects.toBeInstanceOf(AgentBusyError);
      const before = await alive();
      ownClock.advance(5_000);
      clock.advance(5_000);
      await expect.poll(alive).not.toBe(before);
    }
    await append(owned, "still mine");
  });

  it("learns at a renewal about a stop request or a lost log", async () => {
    const directory = await testDirectory();
    const machine = new TestMachine();
    const clock = new TestClock();
    const identity = machine.start();
    const owned = await testLog(directory, { processIdentity: identity, clock }).open("a", nextOwner());
    const other = testLog(directory, { processIdentity: machine.start() });
    await other.requestStop("a", "the user cancelled");
    clock.advance(5_000);
    await expect.poll(() => owned.lost.aborted).toBe(true);
    expect(owned.lost.reason).toBeInstanceOf(StopRequestedError);
    expect(owned.lost.reason).toMatchObject({ reason: "the user cancelled" });
    expect(await append(owned, "the end")).toBe(1);
    await owned.release();
    await other.requestStop("a", "nobody");
    const next = await testLog(directory, { processIdentity: identity, clock }).open("a", nextOwner());
    machine.end(identity);
    await other.open("a", nextOwner());
    clock.advance(5_000);
    await expect.poll(() => next.lost.reason).toBeInstanceOf(OwnershipLostError);
  });

  it("is replaced by another process after a kill", async () => {
    const directory = await testDirectory();
    const program = await bundleWorker(await testDirectory(), "../storage/file/support/appendUntilKilled.ts");
    const child = spawn(process.execPath, [program, directory], { stdio: ["ignore", "pipe", "inherit"] });
    let acknowledged = "";
    for await (const chunk of child.stdout) {
      acknowledged += String(chunk);
      if (acknowledged.split("\n").length > 20) child.kill("SIGKILL");
    }
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    const last = Number(acknowledged.trimEnd().split("\n").at(-1));
    const log = new FileRecordLog({ directory, clock: new TestClock() });
    const owned = await log.open("a", nextOwner());
    expect(owned.position).toBeGreaterThanOrEqual(last);
    expect(await append(owned, "on")).toBe(owned.position);
    expect((await collect(log.read("a"))).map(({ position }) => position)).toEqual(
      Array.from({ length: owned.position }, (_, n) => n + 1),
    );
  });
});

describe("leftovers of a crash in a log in files", () => {
  it("are skipped for every torn end of the last append", async () => {
    const directory = await testDirectory();
    const machine = new TestMachine();
    const identity = machine.start();
    const owned = await testLog(directory, { processIdentity: identity }).open("a", nextOwner());
    await append(owned, "one");
    const [segment = ""] = await segmentPaths(directory, "a");
    const { size } = await lstat(segment);
    await append(owned, "two");
    const whole = await readFile(segment);
    const log = testLog(directory, { processIdentity: machine.start() });
    for (let length = whole.length - 1; length >= size; length--) {
      await truncate(segment, length);
      expect(textsOf(await collect(log.read("a")))).toEqual(["one"]);
    }
    await appendFile(segment, Buffer.concat([whole.subarray(size, size + 30), Buffer.alloc(500)]));
    expect(textsOf(await collect(log.read("a")))).toEqual(["one"]);
    machine.end(identity);
    const next = await log.open("a", nextOwner());
    expect(next.position).toBe(1);
    await append(next, "another two");
    expect(textsOf(await collect(log.read("a")))).toEqual(["one", "another two"]);
  });

  it("count as an empty segment if the opening lines are cut at any length", async () => {
    const directory = await testDirectory();
    const log = testLog(directory);
    const owned = await log.open("a", nextOwner());
    await append(owned, "one");
    await append(owned, "two");
    await owned.release();
    const [first = ""] = await segmentPaths(directory, "a");
    const before = await readFile(first);
    await (await log.open("a", nextOwner())).release();
    const [second = ""] = await segmentPaths(directory, "a");
    const whole = await readFile(second);
    await writeFile(first, before);
    const claimEnd = whole.indexOf(10) + 1;
    const openEnd = whole.indexOf(10, whole.indexOf('{"open"')) + 1;
    for (let length = claimEnd; length < openEnd; length += every(6, 1)) {
      await writeFile(second, whole.subarray(0, length));
      expect(textsOf(await collect(log.read("a")))).toEqual(["one", "two"]);
    }
  });

  it("differ from damage, because a torn line is skipped only at the end", async () => {
    const directory = await testDirectory();
    const log = testLog(directory);
    const owned = await log.open("a", nextOwner());
    for (const text of ["one", "two", "three"]) await append(owned, text);
    const [segment = ""] = await segmentPaths(directory, "a");
    const bytes = await readFile(segment);
    bytes[bytes.indexOf("two")] = 0;
    await writeFile(segment, bytes);
    const error: unknown = await collect(log.read("a")).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(CorruptLogError);
    expect(error).toMatchObject({ agentId: "a", file: segment, line: 4, lastPosition: 1 });
    expect(String(error)).not.toContain("one");
  });

  it("are refused if a newer version wrote them", async () => {
    const directory = await testDirectory();
    const log = testLog(directory);
    await (await log.open("a", nextOwner())).release();
    const [segment = ""] = await segmentPaths(directory, "a");
    await writeFile(segment, (await readFile(segment, "utf8")).replace('"format":2', '"format":3'));
    await expect(collect(log.read("a"))).rejects.toBeInstanceOf(UnsupportedFormatError);
    await expect(log.open("a", nextOwner())).rejects.toMatchObject({ found: 3, supported: 2 });
  });
});

describe("a storage of files", () => {
  it("refuses calls after close and releases its agents", async () => {
    const directory = await testDirectory();
    const log = testLog(directory);
    const owned = await log.open("a", nextOwner());
    await log.close();
    await log.close();
    await expect(append(owned, "late")).rejects.toBeInstanceOf(StorageClosedError);
    await expect(log.open("a", nextOwner())).rejects.toBeInstanceOf(StorageClosedError);
    await expect(collect(log.read("a"))).rejects.toBeInstanceOf(StorageClosedError);
    expect((await testLog(directory).open("a", nextOwner())).generation).toBe(2);
  });

  it("works without links for a single process", async () => {
    const directory = await testDirectory();
    const refuse = () => Promise.reject(Object.assign(new Error("no links here"), { code: "EPERM" }));
    const log = testLog(directory, { fileSystem: { ...nodeFileSystem, link: refuse } });
    expect(log.capabilities.processes).toBe("many");
    for (const text of ["one", "two"]) {
      const owned = await log.open("a", nextOwner());
      await append(owned, text);
      await expect(log.open("a", nextOwner())).rejects.toBeInstanceOf(AgentBusyError);
      await owned.release();
    }
    expect(log.capabilities.processes).toBe("one");
    expect(textsOf(await collect(log.read("a")))).toEqual(["one", "two"]);
  });

  it.each([
    ["empty", ""],
    ["too long", "é".repeat(513)],
    ["half a character", "a\ud800"],
    ["not text", 7 as unknown as string],
  ])("touches no file for an id that is %s", async (_name, id) => {
    const directory = await testDirectory();
    const log = testLog(directory);
    for (const call of [
      log.open(id, nextOwner()),
      collect(log.read(id)),
      log.owner(id),
      log.requestStop(id, ""),
      log.blobs.get(id, ""),
      log.blobs.put(id, 1, new Uint8Array()),
    ]) {
      await expect(call).rejects.toBeInstanceOf(InvalidAgentIdError);
    }
    expect(await readdir(directory)).toEqual([]);
  });
});
