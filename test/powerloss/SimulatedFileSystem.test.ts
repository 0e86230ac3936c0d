import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { nodeFileSystem, type FileSystem } from "agent-persistence/file";
import { SimulatedFileSystem, type CrashModel } from "agent-persistence/testing";
import { describe, expect, it, onTestFinished } from "vitest";

const text = (bytes: Uint8Array | undefined) => (bytes === undefined ? "missing" : new TextDecoder().decode(bytes));
const bytes = (content: string) => new TextEncoder().encode(content);

/** What each model leaves of a file, once each. */
function left(fileSystem: SimulatedFileSystem, path: string, model: CrashModel): string[] {
  const states = [...fileSystem.crashStates(fileSystem.position, { models: [model] })];
  return [...new Set(states.map((state) => text(state.restart().files().get(path))))];
}

/** Calls with every kind of answer, and what they answered: for a comparison. */
async function exercise(fileSystem: FileSystem, root: string): Promise<unknown[]> {
  const answers: unknown[] = [];
  const answer = async (action: () => Promise<unknown>) => {
    const found = await action().catch((error: unknown) => (error as { code: string }).code);
    answers.push(found instanceof Uint8Array ? text(found) : found);
  };
  const at = (path: string) => join(root, path);
  await answer(() => fileSystem.mkdir(at("a")));
  await answer(() => fileSystem.mkdir(at("a")));
  await answer(() => fileSystem.mkdir(at("b/c")));
  const file = await fileSystem.create(at("a/one"));
  await answer(() => file.write(bytes("hello ")));
  await answer(() => file.write(bytes("world")));
  await answer(() => file.fdatasync());
  await answer(() => fileSystem.create(at("a/one")).then(() => "made"));
  await answer(() => fileSystem.create(at("b/one")).then(() => "made"));
  await answer(() => fileSystem.link(at("a/one"), at("a/two")));
  await answer(() => fileSystem.link(at("a/one"), at("a/two")));
  await answer(() => fileSystem.link(at("a/none"), at("a/three")));
  await answer(() => fileSystem.unlink(at("a/one")));
  await answer(() => fileSystem.unlink(at("a/one")));
  await answer(() => file.write(bytes("!")));
  await answer(() => file.fsync());
  await answer(() => file.close());
  await answer(() => fileSystem.readFile(at("a/two")));
  await answer(() => fileSystem.readFile(at("a/two"), 6, 5));
  await answer(() => fileSystem.readFile(at("a/two"), 6, 500));
  await answer(() => fileSystem.readFile(at("a/one")));
  await answer(() => fileSystem.readFile(at("a/two/below")));
  await answer(() => fileSystem.rename(at("a/two"), at("three")));
  await answer(() => fileSystem.rename(at("a/two"), at("three")));
  await answer(() => fileSystem.fsyncDir(at("a")));
  await answer(async () => [...(await fileSystem.readdir(root))].sort());
  await answer(() => fileSystem.readdir(at("a")));
  await answer(() => fileSystem.readdir(at("none")));
  // The simulated one has no users.
  await answer(async () => ({ ...(await fileSystem.stat(at("three"))), id: "its own", owner: undefined }));
  await answer(async () => (await fileSystem.stat(at("three"))).id === (await fileSystem.stat(at("a"))).id);
  await answer(() => fileSystem.rmdir(root));
  await answer(() => fileSystem.rmdir(at("three")));
  await answer(() => fileSystem.rmdir(at("none")));
  await answer(() => fileSystem.mkdir(at("empty")));
  await answer(() => fileSystem.rmdir(at("empty")));
  await answer(() => fileSystem.rmdir(at("empty")));
  await answer(async () => (await fileSystem.stat(at("a"))).folder);
  await answer(() => fileSystem.stat(at("none")));
  return answers;
}

describe("the simulated file system", () => {
  it("responds to every call like the real file system", async () => {
    const directory = await mkdtemp(join(tmpdir(), "agent-persistence-"));
    onTestFinished(() => rm(directory, { recursive: true, force: true }));
    const simulated = new SimulatedFileSystem();
    await simulated.mkdir("/root");
    expect(await exercise(simulated, "/root")).toEqual(await exercise(nodeFileSystem, directory));
  });

  it("keeps synced contents of a file, and synced names of a directory", async () => {
    const fileSystem = new SimulatedFileSystem();
    const file = await fileSystem.create("/a");
    await file.write(bytes("one "));
    await file.fsync();
    expect(left(fileSystem, "/a", "amnesia")).toEqual(["missing"]);
    await fileSystem.fsyncDir("/");
    await file.write(bytes("two"));
    expect(left(fileSystem, "/a", "kill")).toEqual(["one two"]);
    expect(left(fileSystem, "/a", "amnesia")).toEqual(["one "]);
    expect(left(fileSystem, "/a", "data first")).toEqual(["one two"]);
    expect(left(fileSystem, "/a", "metadata first")).toEqual(["one ", "one \0\0\0", "one xxx"]);
    expect(left(fileSystem, "/a", "weak").sort()).toEqual(["one \0\0\0", "one ", "one two", "one xxx"].sort());
    await file.fdatasync();
    for (const model of ["amnesia", "weak"] as const) expect(left(fileSystem, "/a", model)).not.toContain("one ");
  });

  it("tears a write at sectors of 512 bytes", async () => {
    const fileSystem = new SimulatedFileSystem();
    const file = await fileSystem.create("/a");
    await fileSystem.fsyncDir("/");
    await file.write(bytes("1".repeat(500)));
    await file.fsync();
    await file.write(bytes("2".repeat(100)));
    expect(left(fileSystem, "/a", "weak").map((found) => found.slice(500))).toContain(
      `${"\0".repeat(12)}${"2".repeat(88)}`,
    );
  });

  it("may lose unsynced data after a kill", async () => {
    const fileSystem = new SimulatedFileSystem();
    const file = await fileSystem.create("/a");
    await fileSystem.fsyncDir("/");
    await file.write(bytes("text"));
    const [killed] = fileSystem.crashStates(fileSystem.position, { models: ["kill"] });
    const restarted = killed?.restart() ?? fileSystem;
    expect(text(await restarted.readFile("/a"))).toBe("text");
    expect(left(restarted, "/a", "amnesia")).toEqual([""]);
  });

  it("never keeps data written before a sync that lied", async () => {
    const fileSystem = new SimulatedFileSystem();
    const file = await fileSystem.create("/a");
    await fileSystem.fsyncDir("/");
    await file.write(bytes("text"));
    fileSystem.inject({ kind: "lying sync", call: 1 + fileSystem.calls.length });
    await expect(file.fdatasync()).rejects.toMatchObject({ code: "EIO" });
    await file.fdatasync();
    expect(left(fileSystem, "/a", "amnesia")).toEqual([""]);
    expect(text(await fileSystem.readFile("/a"))).toBe("text");
  });

  it("fails the given call, or all calls from it on", async () => {
    const fileSystem = new SimulatedFileSystem();
    fileSystem.inject({ kind: "ENOSPC", call: 2 });
    const file = await fileSystem.create("/a");
    await expect(file.write(bytes("text"))).rejects.toMatchObject({ code: "ENOSPC", path: "/a", syscall: "write" });
    expect(await file.write(bytes("more"))).toBe(4);
    expect(text(fileSystem.files().get("/a"))).toBe("temore");
    fileSystem.inject({ kind: "short write", call: 1, fromThenOn: true });
    expect(await file.write(bytes("four"))).toBe(2);
    fileSystem.inject({ kind: "EACCES", call: 1, fromThenOn: true });
    await expect(fileSystem.readdir("/")).rejects.toMatchObject({ code: "EACCES" });
    await expect(file.close()).rejects.toMatchObject({ code: "EACCES" });
    fileSystem.inject(undefined);
    expect(await fileSystem.readdir("/")).toEqual(["a"]);
    expect(fileSystem.calls.map(({ operation }) => operation).slice(0, 3)).toEqual(["create", "write", "write"]);
  });
});
