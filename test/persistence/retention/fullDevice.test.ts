import { persistence, strategy } from "agent-persistence";
import { FilePersistenceStorageProvider, type FileSystem } from "agent-persistence/file";
import { SimulatedFileSystem } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { changingFiles, delegating } from "../../powerloss/delegating.ts";
import { TestMachine } from "../../storage/file/support/fixture.ts";
import { durableAgent } from "../support/durableAgent.ts";
import { checkpointsOf } from "../support/stored.ts";

const block = 4096;
const blocks = (bytes: number) => Math.max(1, Math.ceil(bytes / block)) * block;

/** A device of so many bytes, which are given in blocks. */
function smallDevice(capacity: number): FileSystem {
  const fileSystem = new SimulatedFileSystem();
  const assertRoom = (more: number) => {
    const used = [...fileSystem.files().values()].reduce((sum, { length }) => sum + blocks(length), 0);
    if (used + more > capacity) throw Object.assign(new Error("no room"), { code: "ENOSPC" });
  };
  const files = changingFiles(fileSystem, (file) => ({
    write: async (bytes) => {
      assertRoom(blocks(bytes.length) - block);
      return file.write(bytes);
    },
  }));
  const create = async (path: string) => {
    assertRoom(block);
    return files.create(path);
  };
  return delegating(files, { create });
}

const steps = 40;
const growing = (size: number) =>
  strategy<string, string>("growing", (graph) => {
    let step = 0;
    const node = graph.node("node", () => `${++step}`.padEnd(size, "x"));
    graph.edge(graph.start, node);
    graph.edge(node, node, { when: () => step % steps !== 0 });
    graph.edge(node, graph.finish, { when: () => step % steps === 0 });
  });

async function fillerOf(fileSystem: FileSystem, bytes: number): Promise<string> {
  await fileSystem.mkdir("/data");
  const file = await fileSystem.create("/data/filler");
  await file.write(new Uint8Array(bytes));
  return "/data/filler";
}

/** A device on which one agent is done, and others have taken all the room that was left. */
async function fullDevice() {
  const fileSystem = smallDevice(1024 * 1024);
  const machine = new TestMachine();
  const agent = (size = 4_000) =>
    durableAgent(
      growing(size),
      new FilePersistenceStorageProvider({ directory: "/data", fileSystem, processIdentity: machine.start() }),
    );
  await agent().run("go");
  const filler = await fileSystem.create("/data/filler");
  const refused = async () => {
    for (;;) await filler.write(new Uint8Array(block));
  };
  await expect(refused()).rejects.toMatchObject({ code: "ENOSPC" });
  await expect(agent().run("go", { agentId: "another" })).rejects.toMatchObject({ reason: "full" });
  return agent;
}

describe("on a full device", () => {
  it("prune() frees space", async () => {
    const agent = await fullDevice();
    const before = (await checkpointsOf(agent())).length;
    const report = await persistence(agent()).prune({ agentId: "a" });
    expect(report).toMatchObject({ failed: [], pruned: [{ agentId: "a" }] });
    expect(report.pruned[0]?.outstanding).toBeUndefined();
    expect((await checkpointsOf(agent())).length).toBeLessThan(before);
  });

  it("deleteAgent() frees space, so another agent can run", async () => {
    const agent = await fullDevice();
    await persistence(agent()).deleteAgent("a");
    expect(await checkpointsOf(agent())).toEqual([]);
    await expect(agent(10).run("go", { agentId: "small" })).resolves.toMatchObject({ status: "completed" });
  });

  it("deleteAgent() creates the reserve that had no room before", async () => {
    const fileSystem = smallDevice(1024 * 1024);
    const filler = await fillerOf(fileSystem, 900 * 1024);
    const storage = new FilePersistenceStorageProvider({ directory: "/data", fileSystem });
    const agent = durableAgent(growing(10), storage);
    await agent.run("go");
    expect(await storage.log.makeRoom?.()).toBe(false);
    await fileSystem.unlink(filler);
    await persistence(agent).deleteAgent("a");
    expect(await storage.log.makeRoom?.()).toBe(true);
  });

  it("the next process replaces a reserve that a power loss has emptied", async () => {
    const fileSystem = new SimulatedFileSystem();
    await fileSystem.mkdir("/data");
    await (await fileSystem.create("/data/reserve")).close();
    const storage = new FilePersistenceStorageProvider({ directory: "/data", fileSystem, reserveBytes: 5_000 });
    await durableAgent(growing(10), storage).run("go");
    expect(fileSystem.files().get("/data/reserve")).toHaveLength(5_000);
  });

  it("deleteAgent() frees space again, because the reserve was restored", async () => {
    const agent = await fullDevice();
    await persistence(agent()).deleteAgent("a");
    await expect(agent().run("go", { agentId: "b" })).rejects.toMatchObject({ reason: "full" });
    await persistence(agent()).deleteAgent("b");
    await persistence(agent()).deleteAgent("another");
    await expect(agent(10).run("go", { agentId: "small" })).resolves.toMatchObject({ status: "completed" });
  });
});
