import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import {
  persistence,
  strategy,
  type AgentCheckpointData,
  type EnvironmentMismatch,
  type PersistenceEvent,
} from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import {
  recoverTask,
  recoverTasks,
  recoveryOptions,
  type RecoveryOption,
  type RecoveryOutcome,
  type RecoveryParticipant,
} from "agent-persistence/task";
import { describe, expect, it } from "vitest";
import { durableAgent, Fault, Stopped } from "../../persistence/support/durableAgent.ts";
import { requiringAgent } from "../../persistence/support/requiringAgent.ts";
import { logStorages, storages } from "../../persistence/support/storages.ts";
import { recordsOf } from "../../persistence/support/stored.ts";
import { TestEnvironment } from "../../persistence/support/TestEnvironment.ts";
import { testDirectory } from "../../storage/file/support/fixture.ts";
import { offeredOptions } from "../../../src/task/recovery/Recovery.ts";

const steps = ["find_checkpoint", "verify_environment", "restore_state", "resume_execution"];
const modified: EnvironmentMismatch = {
  kind: "file_modified_externally",
  path: "read.txt",
  expected: "r1",
  found: "r2",
};
const deleted: EnvironmentMismatch = { kind: "file_deleted", path: "written.txt" };

/** Does what it is asked to, and remembers it. */
function participant(can: readonly RecoveryOption[], found: readonly EnvironmentMismatch[] = []) {
  const applied: string[] = [];
  const able: RecoveryParticipant = {
    findMismatches: async () => found,
    optionsFor: () => can,
    prepare: async (mismatch, option) => async () => void applied.push(`${option} ${mismatch.kind}`),
  };
  return { applied, able };
}

describe.each(storages)("$name: recover", (storage) => {
  it("finds, verifies, restores, notifies and resumes", async () => {
    const opened = await storage.open();
    const environment = TestEnvironment.readable();
    const fault = new Fault();
    await expect(requiringAgent(opened(), environment, { fault }).run("in")).rejects.toBeInstanceOf(Stopped);
    fault.repair();
    const told: PersistenceEvent[] = [];
    const agent = requiringAgent(opened(), environment, { fault, onEvent: (event) => void told.push(event) });
    const before = await persistence(agent).agent().getLatestCheckpoint();
    const report = await recoverTask(agent, { agentId: "a" });
    expect(report).toMatchObject({
      agentId: "a",
      checkpointId: before?.checkpointId,
      finished: false,
      result: { status: "completed", output: "in" },
    });
    expect(report.steps.map(({ step }) => step)).toEqual(steps);
    expect(report.steps.flatMap(({ checks }) => Object.keys(checks))).toEqual([
      "hasRequiredFields",
      "schemaValid",
      "checksumMatch",
      "blobsAccessible",
      "logComplete",
      "workingDirectoryExists",
      "filesUnchanged",
      "dependenciesAvailable",
    ]);
    const kinds = told.map((event) => (event.type === "recovery_step" ? event.step : event.type));
    const recovery = kinds.filter((kind) => steps.includes(kind) || kind === "recovery_notice");
    expect(recovery).toEqual([...steps.slice(0, 3), "recovery_notice", "resume_execution"]);
    expect(told.find(({ type }) => type === "recovery_notice")).toMatchObject({
      task: "a",
      nodeId: "second",
      iteration: 1,
      progress: 40,
      progressSummary: "half of it",
    });
  });
});

describe.each(logStorages)("$name: recover a finished agent", (storage) => {
  async function finished() {
    const opened = await storage.open();
    const environment = TestEnvironment.readable();
    const fault = new Fault();
    fault.repair();
    const agent = () => requiringAgent(opened(), environment, { fault });
    await agent().run("in");
    environment.files.set("/project/read.txt", "r2");
    const end = await persistence(agent()).agent().getLatestCheckpoint();
    return { opened, agent, end };
  }

  it("returns its result without checking the environment", async () => {
    const { opened, agent, end } = await finished();
    const before = await recordsOf(opened());
    const report = await recoverTask(agent(), { confirm: "always", onConfirm: () => false });
    expect(report).toMatchObject({
      finished: true,
      checkpointId: end?.checkpointId,
      result: { status: "completed", output: "in" },
    });
    expect(report.steps.map(({ step }) => step)).toEqual(["find_checkpoint", "resume_execution"]);
    expect(await recordsOf(opened())).toEqual(before);
  });

  it("resumes a newer run from its start", async () => {
    const opened = await storage.open();
    const fault = new Fault();
    const graph = strategy<string, string>("s", (g) => {
      const only = g.node("only", (input: string) => {
        if (input === "second") fault.strike();
        return input;
      });
      g.edge(g.start, only);
      g.edge(only, g.finish);
    });
    const agent = () => durableAgent(graph, opened(), { automatic: false });
    await agent().run("first");
    await expect(agent().run("second")).rejects.toBeInstanceOf(Stopped);
    fault.repair();
    const { finished, checkpointId, result } = await recoverTask(agent());
    expect({ finished, checkpointId, result }).toMatchObject({
      finished: false,
      checkpointId: undefined,
      result: { status: "completed", output: "second" },
    });
  });
});

/** An agent that stopped, whose environment then changed in two ways. */
async function changed(opened: Awaited<ReturnType<(typeof storages)[number]["open"]>>) {
  const environment = TestEnvironment.readable();
  const fault = new Fault();
  await expect(requiringAgent(opened(), environment, { fault }).run("in")).rejects.toBeInstanceOf(Stopped);
  fault.repair();
  environment.files.set("/project/read.txt", "r2");
  environment.files.delete("/project/written.txt");
  return requiringAgent(opened(), environment, { fault });
}

describe.each(logStorages)("$name: recover in a changed environment", (storage) => {
  it("stops with every mismatch and option if no handler exists, without changes", async () => {
    const opened = await storage.open();
    const agent = await changed(opened);
    const before = await recordsOf(opened());
    const { able, applied } = participant(["use_checkpoint", "restore"]);
    await expect(recoverTask(agent, { participants: [able] })).rejects.toMatchObject({
      code: "environment_mismatch",
      agentId: "a",
      mismatches: [
        { kind: "file_modified_externally", path: "read.txt", options: ["use_current", "use_checkpoint", "abort"] },
        { kind: "file_deleted", path: "written.txt", options: ["restore", "skip", "abort"] },
      ],
    });
    expect(applied).toEqual([]);
    expect(await recordsOf(opened())).toEqual(before);
  });

  it("applies the choices after all of them are made, and reports them", async () => {
    const agent = await changed(await storage.open());
    const upstream = { kind: "new_commits_upstream", detail: "3 new commits upstream" } as const;
    const { able, applied } = participant(["use_checkpoint", "merge", "restore", "rebase"], [upstream]);
    const asked: unknown[] = [];
    const choices = ["merge", "restore", "rebase"] as const;
    const report = await recoverTask(agent, {
      participants: [able],
      onEnvironmentMismatch: (mismatch, options) => {
        expect([applied, options]).toEqual([[], recoveryOptions[mismatch.kind]]);
        asked.push(mismatch);
        return choices[asked.length - 1] ?? "abort";
      },
      onConfirm: ({ chosen }) => chosen.length === 3,
    });
    expect(asked).toEqual([modified, deleted, upstream]);
    expect(applied).toEqual(["rebase new_commits_upstream", "merge file_modified_externally", "restore file_deleted"]);
    expect(report.steps[1]?.chosen.map(({ option }) => option)).toEqual(choices);
    expect(report.steps[1]?.checks["filesUnchanged"]).toMatchObject({ ok: false });
    expect(report.result).toMatchObject({ status: "completed" });
  });

  it("accepts the current environment without a participant", async () => {
    const agent = await changed(await storage.open());
    const report = await recoverTask(agent, {
      onEnvironmentMismatch: ({ kind }) => (kind === "file_deleted" ? "skip" : "use_current"),
    });
    expect(report.result).toMatchObject({ status: "completed" });
  });

  it.each([
    ["abort", "abort", /"abort" was chosen/],
    ["an unavailable option", "merge", /which is not an option here: .*; the options are use_current, abort/],
    ["an unknown option", "anything", /"anything" was chosen/],
  ])("is refused by a choice without changes: %s", async (_name, choice, message) => {
    const opened = await storage.open();
    const agent = await changed(opened);
    const before = await recordsOf(opened());
    const refused = recoverTask(agent, { onEnvironmentMismatch: () => choice as RecoveryOption });
    await expect(refused).rejects.toMatchObject({ code: "recovery_refused" });
    await expect(refused).rejects.toThrow(message);
    expect(await recordsOf(opened())).toEqual(before);
  });
});

describe.each(logStorages)("$name: confirmation", ({ open }) => {
  async function stopped() {
    const storage = (await open())();
    const environment = TestEnvironment.readable();
    const fault = new Fault();
    const agent = requiringAgent(storage, environment, { fault });
    await expect(agent.run("in")).rejects.toBeInstanceOf(Stopped);
    fault.repair();
    return { agent, environment, storage };
  }

  it.each([
    ["always", false, 1],
    ["always", true, 1],
    ["on_mismatch", false, 0],
    ["on_mismatch", true, 1],
    [undefined, false, 0],
    [undefined, true, 1],
    ["never", false, 0],
    ["never", true, 0],
  ] as const)("is required when the option says so: %s, with a mismatch: %s", async (confirm, mismatch, times) => {
    const { agent, environment } = await stopped();
    if (mismatch) environment.versions.set("node", "18");
    const shown: AgentCheckpointData[] = [];
    await recoverTask(agent, {
      ...(confirm && { confirm }),
      onEnvironmentMismatch: () => "ignore",
      onConfirm: ({ checkpoint }) => shown.push(checkpoint) > 0,
    });
    expect(shown.map(({ nodeId }) => nodeId)).toEqual(times === 1 ? ["second"] : []);
  });

  it("that is refused leaves the agent unchanged, and requires a handler", async () => {
    const { agent, storage } = await stopped();
    const before = await recordsOf(storage);
    await expect(recoverTask(agent, { confirm: "always", onConfirm: () => false })).rejects.toMatchObject({
      code: "recovery_refused",
    });
    await expect(recoverTask(agent, { confirm: "always" })).rejects.toMatchObject({
      code: "invalid_input",
      problems: [{ path: "onConfirm" }],
    });
    expect(await recordsOf(storage)).toEqual(before);
    expect((await recoverTask(agent)).result).toMatchObject({ status: "completed" });
  });
});

describe("the options of a recovery", () => {
  const mismatches: readonly EnvironmentMismatch[] = [
    modified,
    deleted,
    { kind: "new_commits_upstream", detail: "" },
    { kind: "environment_not_satisfied", name: "git", wanted: "2" },
    { kind: "working_directory_missing", path: "/w" },
  ];
  const checkpoint = {} as AgentCheckpointData;
  const everything: readonly RecoveryOption[] = ["use_checkpoint", "merge", "restore", "rebase"];
  it.each([
    [
      [],
      [
        ["use_current", "abort"],
        ["skip", "abort"],
        ["ignore", "abort"],
        ["ignore", "abort"],
        ["ignore", "abort"],
      ],
    ],
    [[everything], Object.values(recoveryOptions)],
    [
      [["merge"], ["rebase"]],
      [
        ["use_current", "merge", "abort"],
        ["skip", "abort"],
        ["ignore", "rebase", "abort"],
        ["ignore", "abort"],
        ["ignore", "abort"],
      ],
    ],
  ] as const)("depend on the participants: %j", async (can, expected) => {
    const participants = can.map((options) => participant(options).able);
    const offered = await Promise.all(mismatches.map((mismatch) => offeredOptions(mismatch, participants, checkpoint)));
    expect(offered.map(({ options }) => options)).toEqual(expected);
  });

  it("are carried out by the first participant that offers them", async () => {
    const [first, second] = [participant(["merge"]).able, participant(["merge", "use_checkpoint"]).able];
    const { doneBy } = await offeredOptions(modified, [first, second], checkpoint);
    expect([doneBy("merge"), doneBy("use_checkpoint"), doneBy("use_current")]).toEqual([first, second, undefined]);
  });
});

describe("a damaged agent", () => {
  it("is named without recovery from an older checkpoint, and others are recovered", async () => {
    const directory = await testDirectory();
    const environment = TestEnvironment.readable();
    const storage = () => new FilePersistenceStorageProvider({ directory, inlineThresholdBytes: 30 });
    const ids = ["one", "three", "two"];
    const fault = new Fault();
    for (const agentId of ids) {
      const stop = new AbortController();
      const agent = requiringAgent(storage(), environment, {
        fault,
        onEvent: (event) => {
          if (event.type === "checkpoint_saved" && event.nodeId === "second") stop.abort(new Stopped());
        },
      });
      await expect(
        agent.run(`input of ${agentId} ${"x".repeat(40)}`, { agentId, signal: stop.signal }),
      ).rejects.toBeInstanceOf(Stopped);
    }
    fault.repair();
    for (const name of await readdir(join(directory, "tasks")))
      if (name.startsWith("three")) await rm(join(directory, "tasks", name, "blobs"), { recursive: true });
    const outcomes: RecoveryOutcome<string>[] = [];
    for await (const outcome of recoverTasks(requiringAgent(storage(), environment, { fault }))) outcomes.push(outcome);
    expect(outcomes.map(({ agentId }) => agentId)).toEqual(ids);
    expect(outcomes[0]).toMatchObject({ report: { result: { status: "completed" } } });
    expect(outcomes[1]).toMatchObject({
      error: { code: "recovery_refused", reason: expect.stringMatching(/damaged.*blob/) as string },
    });
    expect(outcomes[2]).toMatchObject({ report: { result: { status: "completed" } } });
  });
});
