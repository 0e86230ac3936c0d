import {
  AIAgent,
  type AgentContext,
  type EnvironmentMismatch,
  InMemoryPersistenceStorageProvider,
  Persistence,
  persistence,
  strategy,
} from "agent-persistence";
import { describe, expect, it } from "vitest";
import {
  compareEnvironment,
  type EnvironmentFacts,
  type RecoveryInfo,
} from "../../src/environment/EnvironmentMismatch.ts";
import { Fault, Stopped } from "../persistence/support/durableAgent.ts";
import { requiringAgent } from "../persistence/support/requiringAgent.ts";
import { storages } from "../persistence/support/storages.ts";
import { TestEnvironment } from "../persistence/support/TestEnvironment.ts";

describe.each(storages)("$name: required environments", (storage) => {
  it("are recorded when a checkpoint is saved, and compared when it is validated", async () => {
    const opened = await storage.open();
    const environment = TestEnvironment.readable();
    await expect(requiringAgent(opened(), environment).run("in")).rejects.toBeInstanceOf(Stopped);
    const outside = persistence(requiringAgent(opened(), environment)).agent();
    const latest = await outside.getLatestCheckpoint();
    expect(latest?.recoveryInfo).toEqual({
      resumePoint: "second",
      requiredContext: ["read.txt", "written.txt", "absent.txt"],
      fileHashes: { "read.txt": "r1", "written.txt": "by the agent", "absent.txt": null },
      workingDirectory: "/project",
      environment: { node: "22" },
    });
    expect(await outside.validateCheckpoint()).toMatchObject({
      valid: true,
      mismatches: [],
      environmental: {
        workingDirectoryExists: { ok: true },
        filesUnchanged: { ok: true },
        dependenciesAvailable: { ok: true },
      },
    });
    environment.files.set("/project/read.txt", "r2");
    environment.files.delete("/project/written.txt");
    environment.versions.set("node", "20");
    environment.directories.clear();
    const changed = await outside.validateCheckpoint();
    expect(changed.valid).toBe(false);
    expect(Object.values(changed.environmental).map(({ ok }) => ok)).toEqual([false, false, false]);
    expect(changed.mismatches).toEqual([
      { kind: "working_directory_missing", path: "/project" },
      { kind: "file_modified_externally", path: "read.txt", expected: "r1", found: "r2" },
      { kind: "file_deleted", path: "written.txt" },
      { kind: "environment_not_satisfied", name: "node", wanted: "22", found: "20" },
    ]);
  });

  it("are not compared without a given environment, and the validation reports this", async () => {
    const opened = await storage.open();
    const agent = requiringAgent(opened(), undefined);
    await expect(agent.run("in")).rejects.toBeInstanceOf(Stopped);
    const found = await persistence(agent).agent().validateCheckpoint();
    const notChecked = { ok: true, notChecked: "no environment is configured" };
    expect(found).toMatchObject({
      valid: true,
      environmental: {
        workingDirectoryExists: notChecked,
        filesUnchanged: notChecked,
        dependenciesAvailable: notChecked,
      },
    });
    const { recoveryInfo } = (await persistence(agent).agent().getLatestCheckpoint()) ?? {};
    expect(recoveryInfo).not.toHaveProperty("workingDirectory");
    expect(recoveryInfo).not.toHaveProperty("fileHashes");
  });
});

it("a changed file with the name __proto__ is found, and a missing environment value with this name", async () => {
  const environment = new TestEnvironment();
  environment.files.set("/project/__proto__", "before");
  environment.versions.set("__proto__", "1");
  const fault = new Fault();
  const graph = strategy<string, string>("s", (g) => {
    const first = g.node("first", (input: string, context: AgentContext) => {
      context.require({ files: ["__proto__"], environment: JSON.parse('{"__proto__":"1"}') });
      return input;
    });
    const second = g.node("second", (input: string) => (fault.strike(), input));
    g.edge(g.start, first);
    g.edge(first, second);
    g.edge(second, g.finish);
  });
  const promptExecutor = { execute: () => Promise.reject(new Error("no model")) };
  const agent = new AIAgent({ id: "a", llmModel: "none", promptExecutor, strategy: graph }).install(Persistence, {
    storage: new InMemoryPersistenceStorageProvider(),
    environment,
  });
  await expect(agent.run("in")).rejects.toBeInstanceOf(Stopped);
  environment.files.set("/project/__proto__", "after");
  environment.versions.clear();
  expect((await persistence(agent).agent().validateCheckpoint()).mismatches).toEqual([
    { kind: "file_modified_externally", path: "__proto__", expected: "before", found: "after" },
    { kind: "environment_not_satisfied", name: "__proto__", wanted: "1" },
  ]);
});

it("a run without requirements reads no environment", async () => {
  const environment = new TestEnvironment();
  const graph = strategy<string, string>("s", (g) => {
    const only = g.node("only", (input: string) => input);
    g.edge(g.start, only);
    g.edge(only, g.finish);
  });
  const promptExecutor = { execute: () => Promise.reject(new Error("no model")) };
  await new AIAgent({ llmModel: "none", promptExecutor, strategy: graph })
    .install(Persistence, { environment })
    .run("in");
  expect(environment.looks).toBe(0);
});

describe("the verdict on an environment", () => {
  const info: RecoveryInfo = { resumePoint: "n", requiredContext: [], environment: {} };
  const facts: EnvironmentFacts = { directoryExists: true, hashes: new Map(), answers: new Map() };
  const file = { ...info, requiredContext: ["f"] };
  const name = { ...info, environment: { git: ">=2" } };
  const holding = (hash: string | undefined) => ({ ...facts, hashes: new Map([["f", hash]]) });
  it.each<[string, RecoveryInfo, EnvironmentFacts, readonly EnvironmentMismatch[]]>([
    ["no requirements", info, facts, []],
    ["no directory recorded", info, { ...facts, directoryExists: false }, []],
    [
      "directory deleted",
      { ...info, workingDirectory: "/w" },
      { ...facts, directoryExists: false },
      [{ kind: "working_directory_missing", path: "/w" }],
    ],
    ["file unchanged", { ...file, fileHashes: { f: "1" } }, holding("1"), []],
    [
      "file changed",
      { ...file, fileHashes: { f: "1" } },
      holding("2"),
      [{ kind: "file_modified_externally", path: "f", expected: "1", found: "2" }],
    ],
    ["file deleted", { ...file, fileHashes: { f: "1" } }, holding(undefined), [{ kind: "file_deleted", path: "f" }]],
    [
      "file of unknown hash with the name of a member of objects",
      { ...info, requiredContext: ["constructor"] },
      { ...facts, hashes: new Map([["constructor", "1"]]) },
      [],
    ],
    ["file that never existed", { ...file, fileHashes: { f: null } }, holding(undefined), []],
    ["file that is new", { ...file, fileHashes: { f: null } }, holding("1"), []],
    ["file without a hash, existing", file, holding("1"), []],
    ["file without a hash, deleted", file, holding(undefined), [{ kind: "file_deleted", path: "f" }]],
    ["name satisfied", name, { ...facts, answers: new Map([["git", { found: "2.4", satisfied: true }]]) }, []],
    [
      "name not satisfied",
      name,
      { ...facts, answers: new Map([["git", { found: "1.8", satisfied: false }]]) },
      [{ kind: "environment_not_satisfied", name: "git", wanted: ">=2", found: "1.8" }],
    ],
    ["name unknown", name, facts, [{ kind: "environment_not_satisfied", name: "git", wanted: ">=2" }]],
  ])("after a comparison: %s", (_name, required, found, expected) => {
    expect(compareEnvironment(required, found)).toEqual(expected);
  });
});
