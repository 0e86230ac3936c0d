import { createHash } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  AIAgent,
  Persistence,
  persistence,
  strategy,
  type AgentContext,
  type PersistenceStorageProvider,
} from "agent-persistence";
import { nodeEnvironment, recoverTask, type RecoverOptions, type RecoveryOption } from "agent-persistence/task";
import { scriptedModel } from "agent-persistence/testing";
import { ConflictResolver, Workspace, type WorkspaceOptions } from "agent-persistence/workspace";
import { describe, expect, it } from "vitest";
import { Fault } from "../persistence/support/durableAgent.ts";
import { logStorages, memory, type Opened } from "../persistence/support/storages.ts";
import { recordsOf } from "../persistence/support/stored.ts";
import { isAsLeft } from "../../src/workspace/restore/compareFiles.ts";
import { fileHistories } from "../../src/workspace/restore/FileHistory.ts";
import { temporaryFolder, treeOf } from "./fixture.ts";

const required = ["doc.md", "run.sh", "plain.txt", "captured.txt"];
const document = (changed: Readonly<Record<number, string>> = {}) =>
  Array.from({ length: 20 }, (_, at) => `${changed[at] ?? `line ${at}`}\n`).join("");
const left = document({ 2: "the agent's" });

/** Changes two of the files that it needs, one by a command, and stops in its second node. */
class Project {
  readonly root = temporaryFolder();
  readonly fault = new Fault();
  readonly opened: Opened;
  /** What the first node does in addition. */
  inFirst: (context: AgentContext) => Promise<unknown> = async () => {};
  /** What the second node does before it stops. */
  inSecond: (context: AgentContext, workspace: Workspace) => Promise<unknown> = async () => {};

  constructor(opened: Opened) {
    this.opened = opened;
    this.write("doc.md", document());
    this.write("run.sh", "old");
    this.write("plain.txt", "plain");
    this.write("captured.txt", "captured");
    chmodSync(this.at("run.sh"), 0o755);
  }

  at = (path: string): string => join(this.root, path);
  write = (path: string, content: string): void => writeFileSync(this.at(path), content);
  read = (path: string): string | undefined => treeOf(this.root)[path];

  build(options: Partial<WorkspaceOptions> = {}, storage: PersistenceStorageProvider = this.opened()) {
    const workspace = new Workspace({ root: this.root, ...options });
    const work = strategy<string, string>("work", (graph) => {
      const first = graph.node("first", async (input: string, context: AgentContext) => {
        context.require({ files: required });
        await edit(context, "doc.md", "line 2\n", "the agent's\n");
        await edit(context, "run.sh", "old", "new");
        await this.inFirst(context);
        return input;
      });
      const second = graph.node("second", async (input: string, context: AgentContext) => {
        await this.inSecond(context, workspace);
        this.fault.strike();
        return input;
      });
      graph.edge(graph.start, first);
      graph.edge(first, second);
      graph.edge(second, graph.finish);
    });
    const environment = nodeEnvironment({ workingDirectory: this.root });
    const { tools } = workspace;
    const agent = new AIAgent({
      id: "coder",
      promptExecutor: scriptedModel([]),
      llmModel: "m",
      strategy: work,
      tools,
    }).install(Persistence, { storage, environment, participants: [workspace] });
    return { agent, workspace, saved: persistence(agent).agent() };
  }

  /** Runs until it stops. */
  async stop(): Promise<this> {
    await this.fault.stops(this.build().agent.run("go"));
    return this;
  }

  recover(
    choose: RecoveryOption | undefined,
    options: Partial<WorkspaceOptions> = {},
    more: Partial<RecoverOptions> = {},
  ) {
    const { agent, workspace } = this.build(options);
    return recoverTask(agent, {
      participants: [workspace.recovery],
      ...(choose && { onEnvironmentMismatch: () => choose }),
      ...more,
    });
  }
}

function edit(context: AgentContext, path: string, oldText: string, newText: string): Promise<unknown> {
  const input = { path, oldText, newText };
  const call = { type: "tool-call", toolCallId: path, toolName: "edit_file", input } as const;
  return context.tools.execute({ role: "assistant", content: [call] });
}

function write(context: AgentContext, path: string, content: string): Promise<unknown> {
  const call = {
    type: "tool-call",
    toolCallId: `write ${path}`,
    toolName: "write_file",
    input: { path, content },
  } as const;
  return context.tools.execute({ role: "assistant", content: [call] });
}

const stale = document({ 15: "mine" });

describe.each(logStorages)("recovery of files, $name", ({ open }) => {
  it.each<readonly [string, string | undefined, RecoveryOption, string | undefined]>([
    ["doc.md", stale, "use_current", `644 ${stale}`],
    ["doc.md", stale, "use_checkpoint", `644 ${left}`],
    ["doc.md", stale, "merge", `644 ${document({ 2: "the agent's", 15: "mine" })}`],
    ["run.sh", "mine", "use_checkpoint", "755 new"],
    ["run.sh", undefined, "restore", "755 new"],
    ["run.sh", undefined, "skip", undefined],
  ])("the recovery of a workspace applies the choice: %s, which is %j, %s", async (path, content, option, result) => {
    const project = await new Project(await open()).stop();
    if (content === undefined) rmSync(project.at(path));
    else project.write(path, content);
    const report = await project.recover(option);
    expect([project.read(path), report.result.status]).toEqual([result, "completed"]);
    expect(report.steps[2]).toMatchObject({ step: "restore_state", chosen: [{ mismatch: { path }, option }] });
  });

  it("the recovery of files without a handler, or with abort, lists every option and changes no files", async () => {
    const project = await new Project(await open()).stop();
    project.write("doc.md", stale);
    rmSync(project.at("run.sh"));
    project.write("plain.txt", "mine");
    rmSync(project.at("captured.txt"));
    const before = [treeOf(project.root), await recordsOf(project.opened() as never)];
    const refused = project.recover(undefined);
    await expect(refused).rejects.toMatchObject({
      code: "environment_mismatch",
      mismatches: [
        { kind: "file_modified_externally", options: ["use_current", "use_checkpoint", "merge", "abort"] },
        { kind: "file_deleted", options: ["restore", "skip", "abort"] },
        // Contents that are not in the log.
        { kind: "file_modified_externally", options: ["use_current", "abort"] },
        { kind: "file_deleted", options: ["skip", "abort"] },
      ],
    });
    await expect(refused).rejects.toThrow(/doc\.md .*\(use_current, use_checkpoint, merge, abort\)/);
    await expect(project.recover("abort")).rejects.toMatchObject({ code: "recovery_refused" });
    expect([treeOf(project.root), await recordsOf(project.opened() as never)]).toEqual(before);
  });
});

describe("recovery of files", () => {
  it.each(["constructor", "__proto__", "doc.txt"])(
    "the recovery restores a file that is not required: %s",
    async (path) => {
      const project = new Project(await memory.open());
      project.inFirst = (context) => write(context, path, "the agent's");
      await project.stop();
      project.write(path, "mine");
      const report = await project.recover("use_checkpoint");
      expect([project.read(path), report.result.status]).toEqual(["644 the agent's", "completed"]);
    },
  );

  it("the recovery of files restores the agent's changes after the checkpoint without a conflict", async () => {
    const project = new Project(await memory.open());
    project.inSecond = (context) => edit(context, "doc.md", "line 9\n", "later\n");
    await project.stop();
    const later = document({ 2: "the agent's", 9: "later" });
    expect(project.read("doc.md")).toBe(`644 ${later}`);
    const onEnvironmentMismatch = (): RecoveryOption => expect.unreachable("nobody is to be asked");
    const again = new Project(await memory.open());
    again.inSecond = project.inSecond;
    await again.stop();
    again.write("doc.md", stale);
    await again.recover("use_checkpoint");
    expect(again.read("doc.md")).toBe(`644 ${later}`);
    const report = await project.recover(undefined, {}, { onEnvironmentMismatch });
    expect([project.read("doc.md"), report.result.status]).toEqual([`644 ${later}`, "completed"]);
  });

  it("the recovery of files merges only files that the agent created and then changed", async () => {
    const project = new Project(await memory.open());
    project.inSecond = async (context) => {
      await write(context, "new.md", document());
      await edit(context, "new.md", "line 2\n", "the agent's\n");
      await write(context, "once.md", document());
    };
    await project.stop();
    project.write("new.md", stale);
    project.write("once.md", stale);
    await expect(project.recover(undefined)).rejects.toMatchObject({
      mismatches: [
        { path: "new.md", options: ["use_current", "use_checkpoint", "merge", "abort"] },
        // Merged from itself it would become the current file.
        { path: "once.md", options: ["use_current", "use_checkpoint", "abort"] },
      ],
    });
    const choose = ({ path }: { readonly path?: string }) => (path === "new.md" ? "merge" : "use_checkpoint");
    await project.recover(undefined, {}, { onEnvironmentMismatch: choose as never });
    expect(project.read("new.md")).toBe(`644 ${document({ 2: "the agent's", 15: "mine" })}`);
    expect(project.read("once.md")).toBe(`644 ${document()}`);
  });

  it("the recovery of files restores contents that a capture read", async () => {
    const project = new Project(await memory.open());
    project.inSecond = (context, workspace) =>
      workspace.capture(context, () => writeFileSync(project.at("other.txt"), ""));
    await project.stop();
    project.write("captured.txt", "mine");
    await project.recover("use_checkpoint");
    expect(project.read("captured.txt")).toBe("644 captured");
  });

  it("the recovery of files refuses an unclean merge before any change, unless the resolver resolves it", async () => {
    const project = await new Project(await memory.open()).stop();
    project.write("doc.md", document({ 2: "mine" }));
    rmSync(project.at("run.sh"));
    const tree = treeOf(project.root);
    const onEnvironmentMismatch: RecoverOptions["onEnvironmentMismatch"] = ({ kind }) =>
      kind === "file_deleted" ? "restore" : "merge";
    const refused = project.recover(undefined, {}, { onEnvironmentMismatch });
    await expect(refused).rejects.toMatchObject({ code: "recovery_refused" });
    await expect(refused).rejects.toThrow(/doc\.md cannot be settled by "merge".*both sides changed the same lines/);
    expect(treeOf(project.root)).toEqual(tree);
    const conflictResolver = new ConflictResolver({ askPerson: ({ conflict }) => `both of ${conflict.path}` });
    await project.recover(undefined, { conflictResolver }, { onEnvironmentMismatch });
    expect([project.read("doc.md"), project.read("run.sh")]).toEqual(["644 both of doc.md", "755 new"]);
  });

  it("the recovery of files does not overwrite a file that changed after its check", async () => {
    const project = await new Project(await memory.open()).stop();
    project.write("doc.md", stale);
    const onConfirm = () => {
      project.write("doc.md", "just now");
      return true;
    };
    await expect(project.recover("use_checkpoint", {}, { onConfirm })).rejects.toMatchObject({ code: "file_conflict" });
    expect(readFileSync(project.at("doc.md"), "utf8")).toBe("just now");
  });

  it("the recovery of files offers no option outside the root, and requires the workspace as a participant", async () => {
    const project = await new Project(await memory.open()).stop();
    project.write("doc.md", stale);
    const { agent, saved } = project.build();
    const elsewhere = new Workspace({ root: temporaryFolder() });
    await expect(recoverTask(agent, { participants: [elsewhere.recovery] })).rejects.toMatchObject({
      mismatches: [{ options: ["use_current", "abort"] }],
    });
    const apart = new Workspace({ root: project.root });
    await expect(recoverTask(agent, { participants: [apart.recovery] })).rejects.toBeInstanceOf(TypeError);
    expect((await saved.getLatestCheckpoint())?.nodeId).toBe("second");
  });
});

/** Writes a.txt and deletes gone.txt in its first node, requires nothing, and stops in its second. */
class Writer {
  readonly root = temporaryFolder();
  readonly fault = new Fault();
  readonly storage: PersistenceStorageProvider;
  inSecond: (context: AgentContext) => Promise<unknown> = async () => {};

  constructor(opened: Opened) {
    this.storage = opened();
    writeFileSync(this.at("a.txt"), "first");
    writeFileSync(this.at("gone.txt"), "unwanted");
  }

  at = (path: string): string => join(this.root, path);

  build(options: { readonly participants?: boolean; readonly environment?: boolean } = {}) {
    const { participants = true, environment = true } = options;
    const workspace = new Workspace({ root: this.root });
    const work = strategy<string, string>("work", (graph) => {
      const first = graph.node("first", async (input: string, context: AgentContext) => {
        await call(context, "write_file", { path: "a.txt", content: "the agent's" });
        await call(context, "delete_file", { path: "gone.txt" });
        return input;
      });
      const second = graph.node("second", async (input: string, context: AgentContext) => {
        await this.inSecond(context);
        this.fault.strike();
        return input;
      });
      graph.edge(graph.start, first);
      graph.edge(first, second);
      graph.edge(second, graph.finish);
    });
    const promptExecutor = scriptedModel([]);
    const { tools } = workspace;
    const agent = new AIAgent({ id: "writer", promptExecutor, llmModel: "m", strategy: work, tools }).install(
      Persistence,
      {
        storage: this.storage,
        ...(environment && { environment: nodeEnvironment({ workingDirectory: this.root }) }),
        ...(participants && { participants: [workspace] }),
      },
    );
    return { agent, workspace, saved: persistence(agent).agent() };
  }

  async stop(): Promise<this> {
    await this.fault.stops(this.build().agent.run("go"));
    return this;
  }
}

function call(context: AgentContext, toolName: string, input: unknown): Promise<unknown> {
  const part = { type: "tool-call", toolCallId: toolName, toolName, input } as const;
  return context.tools.execute({ role: "assistant", content: [part] });
}

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

describe.each(logStorages)("files changed by the agent, $name", ({ open }) => {
  it("a file that others changed, deleted or created after the agent is a mismatch", async () => {
    const writer = await new Writer(await open()).stop();
    const { saved } = writer.build();
    const untouched = await saved.validateCheckpoint();
    expect([untouched.valid, untouched.environmental.filesUnchanged]).toEqual([true, { ok: true }]);
    writeFileSync(writer.at("a.txt"), "somebody's");
    writeFileSync(writer.at("gone.txt"), "again");
    const changed = await saved.validateCheckpoint();
    expect([changed.valid, changed.environmental.filesUnchanged.ok]).toEqual([false, false]);
    const kind = "file_modified_externally";
    expect(changed.mismatches).toEqual([
      { kind, path: "a.txt", expected: sha256("the agent's"), found: sha256("somebody's") },
      { kind, path: "gone.txt", found: sha256("again") },
    ]);
    rmSync(writer.at("a.txt"));
    rmSync(writer.at("gone.txt"));
    expect((await saved.validateCheckpoint()).mismatches).toEqual([{ kind: "file_deleted", path: "a.txt" }]);
    // What it was before the agent changed it is not what the agent left.
    writeFileSync(writer.at("a.txt"), "first");
    expect((await saved.validateCheckpoint()).valid).toBe(false);
  });

  it("a recovery reports the changed files and restores them", async () => {
    const writer = await new Writer(await open()).stop();
    rmSync(writer.at("a.txt"));
    writeFileSync(writer.at("gone.txt"), "again");
    const { agent, workspace } = writer.build();
    await expect(recoverTask(agent, { participants: [workspace.recovery] })).rejects.toMatchObject({
      code: "environment_mismatch",
      mismatches: [
        { kind: "file_deleted", path: "a.txt", options: ["restore", "skip", "abort"] },
        { kind: "file_modified_externally", path: "gone.txt", options: ["use_current", "abort"] },
      ],
    });
    const report = await recoverTask(agent, {
      participants: [workspace.recovery],
      onEnvironmentMismatch: ({ kind }) => (kind === "file_deleted" ? "restore" : "use_current"),
      onConfirm: () => true,
    });
    expect(report).toMatchObject({ confirmed: true, result: { status: "completed" } });
    expect(treeOf(writer.root)).toEqual({ "a.txt": "644 the agent's", "gone.txt": "644 again" });
  });
});

describe("a recovery without the root", () => {
  const places = [
    ["is the working directory of the run", true],
    ["is not recorded by the run", false],
  ] as const;

  it.each(places)("reports a missing root that %s, and continues if it is ignored", async (_name, environment) => {
    const project = environment ? await new Project(await memory.open()).stop() : undefined;
    const writer = project ?? (await new Writer(await memory.open()).stop());
    const built = writer instanceof Project ? writer.build() : writer.build({ environment });
    const { agent, workspace } = built;
    rmSync(writer.root, { recursive: true });
    const participants = [workspace.recovery];
    const directory = { kind: "working_directory_missing", path: writer.root, options: ["ignore", "abort"] };
    const file = { kind: "file_deleted", options: ["skip", "abort"] };
    const refused = await recoverTask(agent, { participants }).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "environment_mismatch" });
    const { mismatches } = refused as { readonly mismatches: readonly { readonly kind: string }[] };
    expect(mismatches.filter(({ kind }) => kind !== "file_deleted")).toMatchObject([directory]);
    expect(mismatches.filter(({ kind }) => kind === "file_deleted")[0]).toMatchObject(file);
    const asked: string[] = [];
    const report = await recoverTask(agent, {
      participants,
      onEnvironmentMismatch: ({ kind }) => {
        asked.push(kind);
        return kind === "file_deleted" ? "skip" : "ignore";
      },
    });
    expect(report.result.status).toBe("completed");
    expect(asked).toHaveLength(mismatches.length);
    expect(existsSync(writer.root)).toBe(false);
  });

  it("reports a file instead of the root, but not an existing root", async () => {
    const writer = await new Writer(await memory.open()).stop();
    const { agent, workspace } = writer.build({ environment: false });
    rmSync(writer.root, { recursive: true });
    writeFileSync(writer.root, "a file");
    const refused = recoverTask(agent, { participants: [workspace.recovery] });
    await expect(refused).rejects.toMatchObject({
      code: "environment_mismatch",
      mismatches: [
        { kind: "file_deleted", path: "a.txt", options: ["skip", "abort"] },
        { kind: "working_directory_missing", path: writer.root },
      ],
    });
    rmSync(writer.root);
    mkdirSync(writer.root);
    writeFileSync(writer.at("a.txt"), "the agent's");
    await expect(recoverTask(agent, { participants: [workspace.recovery] })).resolves.toMatchObject({
      result: { status: "completed" },
    });
  });
});

describe("files changed by the agent", () => {
  it("are compared with their last state, even from after the checkpoint", async () => {
    const writer = new Writer(await memory.open());
    writer.inSecond = (context) => call(context, "write_file", { path: "a.txt", content: "later" });
    await writer.stop();
    const { agent, saved } = writer.build();
    expect((await saved.validateCheckpoint()).valid).toBe(true);
    writeFileSync(writer.at("a.txt"), "the agent's");
    expect((await saved.validateCheckpoint()).mismatches).toMatchObject([{ expected: sha256("later") }]);
    await expect(recoverTask(agent, { participants: [writer.build().workspace.recovery] })).rejects.toMatchObject({
      code: "environment_mismatch",
    });
    writeFileSync(writer.at("a.txt"), "later");
    const report = await recoverTask(agent);
    expect([report.result.status, report.confirmed]).toEqual(["completed", undefined]);
  });

  it("match before and after a change that a crash interrupted", () => {
    const file = (text: string) => ({ kind: "file", hash: sha256(text), bytes: text.length, mode: 0o644 }) as const;
    const found = (text: string) => ({ kind: "file", state: file(text), content: new Uint8Array() }) as const;
    const change = { path: "a.txt", before: file("1"), after: file("2") };
    const [whole] = fileHistories([{ value: { changes: [change] }, toolCallId: "c" }]);
    const [cut] = fileHistories([{ value: { changes: [change] }, toolCallId: "c", uncertain: true }]);
    const [again] = fileHistories([
      { value: { changes: [change] }, toolCallId: "c", uncertain: true },
      { value: { changes: [{ ...change, before: file("2"), after: file("3") }] }, toolCallId: "d" },
    ]);
    const verdicts = [whole, cut, again].map((left) => ["1", "2", "3"].map((text) => isAsLeft(left!, found(text))));
    expect(verdicts).toEqual([
      [false, true, false],
      [true, true, false],
      [false, false, true],
    ]);
    expect(isAsLeft(whole!, { kind: "other", reason: "is a folder" })).toBe(false);
  });

  it("without a participant are listed as not checked, and the check passes", async () => {
    const writer = await new Writer(await memory.open()).stop();
    writeFileSync(writer.at("a.txt"), "somebody's");
    const alone = await writer.build({ participants: false }).saved.validateCheckpoint();
    expect([alone.valid, alone.environmental.filesUnchanged]).toEqual([
      true,
      { ok: true, notChecked: expect.stringContaining("no participant compares them") as string },
    ]);
    // Without an environment there is no working directory to name files by.
    const bare = await writer.build({ environment: false }).saved.validateCheckpoint();
    expect(bare.mismatches).toMatchObject([{ kind: "file_modified_externally" }]);
    expect(bare.environmental.dependenciesAvailable).toEqual({
      ok: true,
      notChecked: "no environment is configured",
    });
  });

  it("count only from the last run, so older changes of others are not reported", async () => {
    const writer = new Writer(await memory.open());
    writer.fault.repair();
    const { agent, saved } = writer.build();
    await agent.run("go");
    writeFileSync(writer.at("a.txt"), "somebody's");
    expect((await saved.validateCheckpoint()).valid).toBe(false);
    writeFileSync(writer.at("gone.txt"), "unwanted");
    await agent.run("once more");
    expect((await saved.validateCheckpoint()).valid).toBe(true);
  });
});
