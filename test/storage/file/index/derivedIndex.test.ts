import { cp, mkdir, readdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join, sep } from "node:path";
import { nodeFileSystem } from "agent-persistence/file";
import { describe, expect, it } from "vitest";
import { changingFiles, delegating } from "../../../powerloss/delegating.ts";
import type { FileRecordLog } from "../../../../src/storage/file/FileRecordLog.ts";
import { append, collect, nextOwner, summaryOf, testDirectory, testLog, TestMachine } from "../support/fixture.ts";

const agents = [
  ["a", "queued"],
  ["b", "completed"],
  ["c", "queued"],
] as const;

async function change(log: FileRecordLog, agentId: string, status: string): Promise<void> {
  const owned = await log.open(agentId, nextOwner());
  await append(owned, "x", { summary: summaryOf(agentId, status, agentId) });
  await owned.release();
}

/** Three agents, and the index of them. */
async function indexed() {
  const directory = await testDirectory();
  for (const [agentId, status] of agents) await change(testLog(directory), agentId, status);
  await queued(directory);
  const root = join(directory, "index");
  const [boot = ""] = await readdir(root);
  return { directory, root, index: join(root, boot) };
}

/** What a new process finds in the queue. */
async function queued(directory: string, log = testLog(directory)): Promise<readonly string[]> {
  return (await collect(log.list({ status: "queued" }))).map(({ agentId }) => agentId);
}

async function marksIn(index: string): Promise<readonly string[]> {
  const found = await readdir(index, { recursive: true, withFileTypes: true });
  return found.filter((each) => each.isFile() && each.name.startsWith("k")).map((each) => each.name);
}

describe("the index of agents", () => {
  it.each([
    ["the whole index is removed", ({ root }: { readonly root: string }) => rm(root, { recursive: true })],
    ["its marks are removed", ({ index }: { readonly index: string }) => rm(index, { recursive: true })],
    [
      "a file replaces it",
      async ({ root }: { readonly root: string }) => {
        await rm(root, { recursive: true });
        await writeFile(root, "no folder");
      },
    ],
    [
      "a copy replaces it",
      async ({ index }: { readonly index: string }) => {
        await cp(index, `${index} copy`, { recursive: true });
        await rm(index, { recursive: true });
        await rename(`${index} copy`, index);
      },
    ],
  ])("finds every agent after %s", async (_name, damage) => {
    const stored = await indexed();
    await damage(stored);
    await change(testLog(stored.directory), "b", "queued");
    expect(await queued(stored.directory)).toEqual(["a", "b", "c"]);
    await change(testLog(stored.directory), "a", "completed");
    expect(await queued(stored.directory)).toEqual(["b", "c"]);
  });

  it("is ignored if it is an older copy that is put back", async () => {
    const { directory, index } = await indexed();
    await cp(index, join(directory, "copy"), { recursive: true });
    await change(testLog(directory), "b", "queued");
    await rm(index, { recursive: true });
    await cp(join(directory, "copy"), index, { recursive: true });
    expect(await queued(directory)).toEqual(["a", "b", "c"]);
  });

  it("lists only agents of the agent files, whatever marks are added", async () => {
    const { directory, index } = await indexed();
    const [mark = ""] = await readdir(join(index, "completed", "k"));
    await writeFile(join(index, "queued", "k", mark), "");
    await writeFile(join(index, "queued", "k", "k.nobody-1.1.1"), "");
    await writeFile(join(index, "queued", "k", "no mark"), "");
    await writeFile(join(index, "queued", "no folder"), "");
    await mkdir(join(index, "odd status"));
    expect(await queued(directory)).toEqual(["a", "c"]);
    expect((await collect(testLog(directory).list({ limit: 9 }))).map(({ agentId }) => agentId)).toEqual([
      "a",
      "b",
      "c",
    ]);
    // The mark that b's log has passed is gone, and so is that of nobody.
    expect((await marksIn(join(index, "queued"))).length).toBe(2);
  });

  it.each(["index", "marks"])("never follows a link in place of its %s", async (place) => {
    const { directory, root, index } = await indexed();
    const outside = await testDirectory();
    await mkdir(join(outside, "photos"));
    await writeFile(join(outside, "photos", "one"), "");
    const path = place === "index" ? root : index;
    await rm(path, { recursive: true });
    await symlink(outside, path);
    expect(await queued(directory)).toEqual(["a", "c"]);
    await change(testLog(directory), "b", "queued");
    expect(await queued(directory)).toEqual(["a", "b", "c"]);
    expect(await readdir(outside, { recursive: true })).toEqual(["photos", join("photos", "one")]);
  });

  it("of another boot is ignored and removed", async () => {
    const { directory, root, index } = await indexed();
    // No name of it was synced, so a loss of power may have left any of them.
    await rm(join(index, "queued"), { recursive: true });
    const later = testLog(directory, { processIdentity: new TestMachine("boot-2").start() });
    expect(await queued(directory, later)).toEqual(["a", "c"]);
    expect(await readdir(root)).not.toContain(index.slice(root.length + 1));
  });

  it("is optional: if it cannot be written, lists read all agents", async () => {
    const directory = await testDirectory();
    for (const [agentId, status] of agents) await change(testLog(directory), agentId, status);
    const fileSystem = delegating(nodeFileSystem, {
      mkdir: async (path) => {
        if (path.includes("index")) throw Object.assign(new Error(path), { code: "EACCES" });
        await nodeFileSystem.mkdir(path);
      },
    });
    expect(await queued(directory, testLog(directory, { fileSystem }))).toEqual(["a", "c"]);
  });

  it("is neither used nor built by every list on a file system that changes the ids of files", async () => {
    const { directory, index } = await indexed();
    let id = 0;
    const created: string[] = [];
    const fileSystem = delegating(nodeFileSystem, {
      stat: async (path) => ({ ...(await nodeFileSystem.stat(path)), id: String(id++) }),
      create: (path) => (created.push(path), nodeFileSystem.create(path)),
    });
    const log = testLog(directory, { fileSystem });
    expect(await queued(directory, log)).toEqual(["a", "c"]);
    created.length = 0;
    expect(await queued(directory, log)).toEqual(["a", "c"]);
    expect(created).toEqual([]);
    expect((await readdir(index)).filter((name) => name.startsWith("+complete"))).toEqual([]);
  });

  it("has one mark of an agent whose status changes after an owner that changed none", async () => {
    const { directory, index } = await indexed();
    await change(testLog(directory), "a", "waiting");
    await (await testLog(directory).open("a", nextOwner())).release();
    await change(testLog(directory), "a", "completed");
    expect((await marksIn(index)).filter((name) => name.includes(".a-"))).toHaveLength(1);
  });

  it("adds no sync to a save", async () => {
    const syncsOf = async (hasIndex: boolean) => {
      const directory = await testDirectory();
      await change(testLog(directory), "a", "queued");
      if (hasIndex) await queued(directory);
      let syncs = 0;
      const synced = changingFiles(nodeFileSystem, (file) => ({
        fdatasync: () => (syncs++, file.fdatasync()),
        fsync: () => (syncs++, file.fsync()),
      }));
      const fileSystem = delegating(synced, { fsyncDir: (path) => (syncs++, nodeFileSystem.fsyncDir(path)) });
      const log = testLog(directory, { fileSystem });
      await change(log, "a", "in_progress");
      await change(log, "a", "completed");
      return syncs;
    };
    const without = await syncsOf(false);
    expect(without).toBeGreaterThan(0);
    expect(await syncsOf(true)).toBe(without);
  });
});

describe("the index with several users", () => {
  const [user, root] = [1000, 0];
  const runBy = (someone: number) => ({ ...new TestMachine().start(), user: someone });

  /** The files of a storage that one user made, but for the folder of an index that another did. */
  function owned(indexOf = user) {
    const isIndex = (path: string) => path.includes(`${sep}index${sep}`);
    return delegating(nodeFileSystem, {
      stat: async (path) => ({
        ...(await nodeFileSystem.stat(path)),
        owner: isIndex(path) ? indexOf : user,
      }),
    });
  }

  /** What a user finds who may not look into the index. */
  function forbidden(fileSystem = owned(root)) {
    const refused = (path: string) => {
      if (path.includes(`${sep}index`)) throw Object.assign(new Error(path), { code: "EACCES" });
    };
    return delegating(fileSystem, {
      stat: async (path) => (refused(path), fileSystem.stat(path)),
      readdir: async (path) => (refused(path), fileSystem.readdir(path)),
      create: async (path, options) => (refused(path), fileSystem.create(path, options)),
      mkdir: async (path) => (refused(path), fileSystem.mkdir(path)),
      unlink: async (path) => (refused(path), fileSystem.unlink(path)),
    });
  }

  it("is not created by a list of another user", async () => {
    const directory = await testDirectory();
    for (const [agentId, status] of agents) await change(testLog(directory), agentId, status);
    const log = testLog(directory, { fileSystem: owned(), processIdentity: runBy(root) });
    expect(await queued(directory, log)).toEqual(["a", "c"]);
    expect(await readdir(directory)).not.toContain("index");
    await queued(directory, testLog(directory, { fileSystem: owned(), processIdentity: runBy(user) }));
    expect(await readdir(directory)).toContain("index");
  });

  it("created by another user blocks no run or list and shows no outdated status", async () => {
    const { directory } = await indexed();
    const options = { fileSystem: forbidden(), processIdentity: runBy(user) };
    await change(testLog(directory, options), "b", "queued");
    expect(await queued(directory, testLog(directory, options))).toEqual(["a", "b", "c"]);
    const other = { fileSystem: owned(root), processIdentity: runBy(root) };
    expect(await queued(directory, testLog(directory, other))).toEqual(["a", "b", "c"]);
  });

  it("keeps no files of another user and still finds agents that this user runs", async () => {
    const { directory, index } = await indexed();
    const marks = await marksIn(index);
    await change(testLog(directory, { fileSystem: owned(), processIdentity: runBy(root) }), "b", "queued");
    expect((await marksIn(index)).filter((name) => !marks.includes(name))).toEqual([]);
    const own = testLog(directory, { fileSystem: owned(), processIdentity: runBy(user) });
    expect(await queued(directory, own)).toEqual(["a", "b", "c"]);
  });

  it("is abandoned without failing the run if its directory is not writable", async () => {
    const { directory, index } = await indexed();
    const fileSystem = delegating(nodeFileSystem, {
      create: async (path, options) => {
        if (path.includes(`${sep}queued${sep}`)) throw Object.assign(new Error(path), { code: "EACCES" });
        return nodeFileSystem.create(path, options);
      },
    });
    await change(testLog(directory, { fileSystem }), "b", "queued");
    expect(await readdir(index)).not.toContainEqual(expect.stringMatching(/^\+complete/));
    expect(await queued(directory)).toEqual(["a", "b", "c"]);
  });
});
