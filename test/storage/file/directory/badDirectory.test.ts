import { mkdtemp, readdir, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AIAgent, Persistence } from "agent-persistence";
import { FilePersistenceStorageProvider, FileRecordLog } from "agent-persistence/file";
import { scriptedModel } from "agent-persistence/testing";
import { expect, it } from "vitest";

it("a path that cannot be a directory is refused with the system error code", async () => {
  const home = await mkdtemp(join(tmpdir(), "agent-persistence-"));
  await writeFile(join(home, "file"), "");
  const storage = new FilePersistenceStorageProvider({ directory: join(home, "file", "agents") });
  const agent = new AIAgent({ promptExecutor: scriptedModel(["hi"]), llmModel: "m" }).install(Persistence, { storage });
  await expect(agent.run("hello")).rejects.toMatchObject({
    code: "storage_failed",
    reason: "unavailable",
    message: expect.stringContaining("(unavailable, ENOTDIR)") as string,
  });
  await rm(home, { recursive: true });
});

it("a file instead of a directory is refused and lists no agents", async () => {
  const home = await mkdtemp(join(tmpdir(), "agent-persistence-"));
  await writeFile(join(home, "file"), "");
  const { log } = new FilePersistenceStorageProvider({ directory: join(home, "file") });
  const refused = {
    code: "storage_failed",
    reason: "unavailable",
    message: expect.stringContaining("is a file") as unknown,
  };
  await expect(log.open("a", { host: "h", processId: 1, nonce: "n" })).rejects.toMatchObject(refused);
  await expect(log.list()[Symbol.asyncIterator]().next()).rejects.toMatchObject(refused);
  await rm(home, { recursive: true });
});

it("a resume is refused if a file replaces the directory of all agents", async () => {
  const home = await mkdtemp(join(tmpdir(), "agent-persistence-"));
  const storage = new FilePersistenceStorageProvider({ directory: home });
  const agent = new AIAgent({ promptExecutor: scriptedModel(["hi"]), llmModel: "m" }).install(Persistence, { storage });
  await agent.run("hello", { agentId: "a" });
  await rename(join(home, "tasks"), join(home, "moved"));
  await writeFile(join(home, "tasks"), "");
  await expect(agent.resume({ agentId: "a" })).rejects.toMatchObject({ code: "storage_failed", reason: "permission" });
  await rm(join(home, "tasks"));
  await rename(join(home, "moved"), join(home, "tasks"));
  expect(await agent.resume({ agentId: "a" })).toMatchObject({ status: "completed" });
  await rm(home, { recursive: true });
});

const wrong = (value: unknown): never => value as never;

it.each<[string, string, (log: FileRecordLog) => Promise<unknown>]>([
  ["no owner", "", (log) => log.open("a", wrong(undefined))],
  ["an owner without a nonce", "nonce", (log) => log.open("a", wrong({ host: "h", processId: 1 }))],
  ["a stop for no reason", "", (log) => log.requestStop("a", wrong(undefined))],
  ["a salvage into a path", "", (log) => log.salvage("a", wrong("./copy"))],
  ["a read of no options", "", (log) => log.read("a", wrong("all")).next()],
  ["a misspelled option of a read", "", (log) => log.read("a", wrong({ from: 1 })).next()],
])("a FileRecordLog refuses %s", async (_name, path, call) => {
  const home = await mkdtemp(join(tmpdir(), "agent-persistence-"));
  await expect(call(new FileRecordLog({ directory: home }))).rejects.toMatchObject({
    code: "invalid_input",
    problems: [{ path }],
  });
  expect(await readdir(home)).toEqual([]);
  await rm(home, { recursive: true });
});

it("a salvage of an unknown agent is refused", async () => {
  const home = await mkdtemp(join(tmpdir(), "agent-persistence-"));
  const to = new FileRecordLog({ directory: join(home, "to") });
  await expect(new FileRecordLog({ directory: join(home, "from") }).salvage("typo", to)).rejects.toMatchObject({
    code: "invalid_input",
    problems: [{ path: "agentId", expected: expect.stringContaining('"typo"') as unknown }],
  });
  await rm(home, { recursive: true });
});
