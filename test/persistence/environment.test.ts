import {
  AIAgent,
  Persistence,
  persistence,
  strategy,
  type AgentContext,
  type Environment,
  type EnvironmentMismatch,
  type PersistenceStorageProvider,
} from "agent-persistence";
import { SimulatedClock } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { judgeEnvironment, type EnvironmentFacts, type RecoveryInfo } from "../../src/persistence/judgeEnvironment.ts";
import { Fault, Stopped } from "./durableAgent.ts";
import { storages } from "./storages.ts";

/** An environment that a test changes. Hashes stand for contents. */
export class TestEnvironment implements Environment {
  readonly workingDirectory: string;
  readonly files = new Map<string, string>();
  readonly versions = new Map<string, string>();
  readonly directories: Set<string>;
  looks = 0;

  constructor(workingDirectory = "/work") {
    this.workingDirectory = workingDirectory;
    this.directories = new Set([workingDirectory]);
  }

  async hasDirectory(path: string): Promise<boolean> {
    return this.directories.has(path);
  }
  async hashOf(path: string, directory: string): Promise<string | undefined> {
    this.looks++;
    return this.files.get(`${directory}/${path}`);
  }
  async lookUp(name: string, wanted: string) {
    const found = this.versions.get(name);
    return { ...(found !== undefined && { found }), satisfied: found === wanted };
  }
}

/** Requires two files and a version in its first node, changes one of the files itself, and stops in the second. */
export function requiringAgent(
  storage: PersistenceStorageProvider<never>,
  environment: TestEnvironment | undefined,
  fault = new Fault(),
): AIAgent<string, string> {
  const graph = strategy<string, string>("s", (g) => {
    const first = g.node("first", (input: string, context: AgentContext) => {
      context.require({ files: ["read.txt", "written.txt", "absent.txt"], environment: { node: "22" } });
      context.setProgress(40, "half of it");
      environment?.files.set("/work/written.txt", "by the agent");
      return input;
    });
    const second = g.node("second", (input: string) => {
      fault.strike();
      return input;
    });
    g.edge(g.start, first);
    g.edge(first, second);
    g.edge(second, g.finish);
  });
  return new AIAgent({
    id: "a",
    llmModel: "none",
    promptExecutor: { execute: () => Promise.reject(new Error("no model")) },
    strategy: graph,
  }).install(Persistence, { storage, clock: new SimulatedClock(), ...(environment && { environment }) });
}

const readable = () => {
  const environment = new TestEnvironment();
  environment.files.set("/work/read.txt", "r1");
  environment.files.set("/work/written.txt", "w1");
  environment.versions.set("node", "22");
  return environment;
};

describe.each(storages)("$name: what a run requires", (storage) => {
  it("is recorded as it is when a checkpoint is saved, and looked at when one is validated", async () => {
    const opened = await storage.open();
    const environment = readable();
    await expect(requiringAgent(opened(), environment).run("in")).rejects.toBeInstanceOf(Stopped);
    const outside = persistence(requiringAgent(opened(), environment)).agent();
    const latest = await outside.getLatestCheckpoint();
    expect(latest?.recoveryInfo).toEqual({
      resumePoint: "second",
      requiredContext: ["read.txt", "written.txt", "absent.txt"],
      fileHashes: { "read.txt": "r1", "written.txt": "by the agent", "absent.txt": null },
      workingDirectory: "/work",
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
    environment.files.set("/work/read.txt", "r2");
    environment.files.delete("/work/written.txt");
    environment.versions.set("node", "20");
    environment.directories.clear();
    const changed = await outside.validateCheckpoint();
    expect(changed.valid).toBe(false);
    expect(Object.values(changed.environmental).map(({ ok }) => ok)).toEqual([false, false, false]);
    expect(changed.mismatches).toEqual([
      { kind: "working_directory_missing", path: "/work" },
      { kind: "file_modified_externally", path: "read.txt", expected: "r1", found: "r2" },
      { kind: "file_deleted", path: "written.txt" },
      { kind: "environment_not_satisfied", name: "node", wanted: "22", found: "20" },
    ]);
  });

  it("is not looked at without an environment, and the validation says so", async () => {
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

it("nothing is read for a run that requires nothing", async () => {
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
    ["nothing required", info, facts, []],
    ["no directory recorded", info, { ...facts, directoryExists: false }, []],
    [
      "directory gone",
      { ...info, workingDirectory: "/w" },
      { ...facts, directoryExists: false },
      [{ kind: "working_directory_missing", path: "/w" }],
    ],
    ["file the same", { ...file, fileHashes: { f: "1" } }, holding("1"), []],
    [
      "file another",
      { ...file, fileHashes: { f: "1" } },
      holding("2"),
      [{ kind: "file_modified_externally", path: "f", expected: "1", found: "2" }],
    ],
    ["file gone", { ...file, fileHashes: { f: "1" } }, holding(undefined), [{ kind: "file_deleted", path: "f" }]],
    ["file that was never there", { ...file, fileHashes: { f: null } }, holding(undefined), []],
    ["file that has come", { ...file, fileHashes: { f: null } }, holding("1"), []],
    ["file that nobody hashed, there", file, holding("1"), []],
    ["file that nobody hashed, gone", file, holding(undefined), [{ kind: "file_deleted", path: "f" }]],
    ["name satisfied", name, { ...facts, answers: new Map([["git", { found: "2.4", satisfied: true }]]) }, []],
    [
      "name not satisfied",
      name,
      { ...facts, answers: new Map([["git", { found: "1.8", satisfied: false }]]) },
      [{ kind: "environment_not_satisfied", name: "git", wanted: ">=2", found: "1.8" }],
    ],
    ["name unknown", name, facts, [{ kind: "environment_not_satisfied", name: "git", wanted: ">=2" }]],
  ])("%s", (_name, required, found, expected) => {
    expect(judgeEnvironment(required, found)).toEqual(expected);
  });
});
