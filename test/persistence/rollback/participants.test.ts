import { describe, expect, it } from "vitest";
import {
  AIAgent,
  InMemoryPersistenceStorageProvider,
  Persistence,
  persistence,
  strategy,
  type PersistenceStorageProvider,
} from "agent-persistence";
import type { RollbackParticipant } from "agent-persistence/feature";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { crashAfter, scriptedModel } from "agent-persistence/testing";
import { hashOf, NotebookParticipant } from "../support/NotebookParticipant.ts";
import { logStorages, RowsProvider } from "../support/storages.ts";

const writes = [
  ["one", "1a"],
  ["two", "2a"],
  ["one", "1b"],
] as const;
const turns = [
  ...writes.map(([page, text]) => ({ toolCalls: [{ toolName: "write", input: { page, text } }] })),
  "done",
];

function writer(
  storage: PersistenceStorageProvider,
  notebook: NotebookParticipant,
  participants: readonly RollbackParticipant[] = [notebook],
): AIAgent<string, string> {
  return new AIAgent({
    id: "writer",
    promptExecutor: scriptedModel(turns),
    llmModel: "scripted",
    tools: [notebook.write],
  }).install(Persistence, { storage, participants });
}

const written = (): Map<string, string> =>
  new Map([
    ["one", "1b"],
    ["two", "2a"],
  ]);

async function ran(storage: PersistenceStorageProvider, pages = new Map<string, string>()) {
  const notebook = new NotebookParticipant(pages);
  await writer(storage, notebook).run("write");
  expect(pages).toEqual(written());
  const checkpoints = await persistence(writer(storage, notebook)).agent().getCheckpoints();
  return { pages, ids: checkpoints.map(({ checkpointId }) => checkpointId) };
}

describe.each(logStorages)("a participant of a rollback, $name", ({ open }) => {
  it("undoes its notes since the checkpoint, newest first, and is listed in the report", async () => {
    const opened = await open();
    const { pages, ids } = await ran(opened());
    const notebook = new NotebookParticipant(pages);
    // Each turn of the model makes two checkpoints: the fourth is the one before the second turn's call.
    const report = await persistence(writer(opened(), notebook))
      .agent()
      .rollbackToCheckpoint(ids[3] ?? "");
    expect(pages).toEqual(
      new Map([
        ["one", "1a"],
        ["two", ""],
      ]),
    );
    expect(report.participants).toEqual([
      {
        key: "notebook",
        steps: [
          { subject: "one", change: "write" },
          { subject: "two", change: "write" },
        ],
      },
    ]);
    expect([report.reverted, report.failed, report.irreversible, report.skipped]).toEqual([[], [], [], []]);
    expect(await writer(opened(), notebook).resume()).toMatchObject({ output: "done" });
    expect(pages).toEqual(written());
  });

  it("gets notes of abandoned lanes, and no notes that an earlier rollback undid", async () => {
    const opened = await open();
    const { pages, ids } = await ran(opened());
    const notebook = new NotebookParticipant(pages);
    const agent = writer(opened(), notebook);
    await persistence(agent)
      .agent()
      .rollbackToCheckpoint(ids[5] ?? "");
    await agent.resume();
    await persistence(agent)
      .agent()
      .rollbackToCheckpoint(ids[0] ?? "");
    expect(notebook.asked.filter((entry) => entry.startsWith("plan"))).toEqual([
      `plan ${ids[5]} of 1`,
      `plan ${ids[0]} of 3`,
    ]);
    expect(pages).toEqual(
      new Map([
        ["one", ""],
        ["two", ""],
      ]),
    );
  });

  it("is not called if only messages are rolled back", async () => {
    const opened = await open();
    const { pages, ids } = await ran(opened());
    const notebook = new NotebookParticipant(pages);
    const report = await persistence(writer(opened(), notebook))
      .agent()
      .rollbackToCheckpoint(ids[1] ?? "", { rollbackStrategy: "message_history_only" });
    expect(report).toMatchObject({ participants: [], skipped: [{}, {}, {}] });
    expect([pages, notebook.asked]).toEqual([written(), []]);
  });

  it("makes the rollback fail without changes if its plan throws", async () => {
    const opened = await open();
    const { pages, ids } = await ran(opened());
    const notebook = new NotebookParticipant(pages);
    notebook.refusal = new RangeError("not now");
    const agent = persistence(writer(opened(), notebook)).agent();
    const before = await agent.getCheckpoints();
    await expect(agent.rollbackToCheckpoint(ids[1] ?? "")).rejects.toThrow("not now");
    expect((await agent.getCheckpoints()).length).toBe(before.length);
    expect(pages).toEqual(written());
  });

  it("continues after a failed step, with this step and the stored plan", async () => {
    const opened = await open();
    const { pages, ids } = await ran(opened());
    const notebook = new NotebookParticipant(pages);
    notebook.stuckAt = "two";
    const agent = writer(opened(), notebook);
    await expect(
      persistence(agent)
        .agent()
        .rollbackToCheckpoint(ids[1] ?? ""),
    ).rejects.toThrow("two is stuck");
    await expect(agent.resume()).rejects.toThrow("two is stuck");
    notebook.stuckAt = undefined;
    expect(await agent.resume()).toMatchObject({ output: "done" });
    const plans = notebook.asked.filter((entry) => entry.startsWith("plan"));
    expect(plans).toEqual([`plan ${ids[1]} of 3`]);
    expect(notebook.asked.filter((entry) => entry === "apply two")).toHaveLength(1);
  });

  it("must be installed to finish a rollback that has steps left for it", async () => {
    const opened = await open();
    const { pages, ids } = await ran(opened());
    const notebook = new NotebookParticipant(pages);
    notebook.stuckAt = "one";
    const agent = writer(opened(), notebook);
    await expect(
      persistence(agent)
        .agent()
        .rollbackToCheckpoint(ids[1] ?? ""),
    ).rejects.toThrow("stuck");
    const error = { code: "participant_missing", participant: "notebook", checkpointId: ids[1] };
    await expect(writer(opened(), notebook, []).resume()).rejects.toMatchObject(error);
    notebook.stuckAt = undefined;
    expect(await writer(opened(), notebook).resume()).toMatchObject({ output: "done" });
  });

  it("stores each content once", async () => {
    const opened = await open();
    await ran(opened());
    const packed: string[] = [];
    for await (const { records } of (opened() as LogPersistenceStorageProvider).log.read("writer"))
      for (const record of records as readonly {
        readonly packs?: readonly { readonly contents: [string, number][] }[];
      }[])
        for (const { contents } of record.packs ?? []) packed.push(...contents.map(([hash]) => hash));
    expect(packed.toSorted()).toEqual(["", "1a", "2a", "1b"].map(hashOf).toSorted());
  });
});

describe("an interrupted rollback with a participant", () => {
  // The plan, and then as many saves as three steps and the end are merged into.
  it.each([0, 1, 2, 3, 4])("is finished with the stored steps, after %i saves", async (saves) => {
    const storage = new InMemoryPersistenceStorageProvider();
    const { pages, ids } = await ran(storage);
    const notebook = new NotebookParticipant(pages);
    const crashing = persistence(writer(crashAfter(storage, saves), notebook)).agent();
    const crashed = await crashing.rollbackToCheckpoint(ids[0] ?? "").then(
      () => false,
      () => true,
    );
    const next = new NotebookParticipant(pages);
    if (!crashed || saves === 0)
      return expect(pages).toEqual(
        saves === 0
          ? written()
          : new Map([
              ["one", ""],
              ["two", ""],
            ]),
      );
    const agent = writer(storage, next);
    await agent.resume();
    expect(next.asked.filter((entry) => entry.startsWith("plan"))).toEqual([]);
    expect(pages).toEqual(written());
    const applied = [...notebook.asked, ...next.asked].filter((entry) => entry.startsWith("apply"));
    expect(new Set(applied)).toEqual(new Set(["apply one", "apply two"]));
  });
});

describe("participant notes", () => {
  it("are returned to the call that made them if a crash makes the call run again", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    const pages = new Map<string, string>();
    // The first checkpoint, the answer with the second, the intent, the note; not the outcome.
    const first = new NotebookParticipant(pages);
    await writer(crashAfter(storage, 4), first)
      .run("write")
      .catch(() => undefined);
    const next = new NotebookParticipant(pages);
    await writer(storage, next).resume();
    expect(first.asked).toEqual(["write one"]);
    expect(next.asked).toEqual(["again one", "write two", "write one"]);
    const agent = persistence(writer(storage, next)).agent();
    const [start] = await agent.getCheckpoints();
    await agent.rollbackToCheckpoint(start?.checkpointId ?? "");
    expect(pages).toEqual(
      new Map([
        ["one", ""],
        ["two", ""],
      ]),
    );
  });

  it("of node code are stored with the next checkpoint, in one append", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    const counts: number[] = [];
    const plan = strategy<string, string>("s", (graph) => {
      const node = graph.node("n", (text: string, context) => {
        persistence(context).note({ key: "diary", value: { text } });
        return text;
      });
      graph.edge(graph.start, node);
      graph.edge(node, graph.finish);
    });
    const agent = new AIAgent({ id: "a", promptExecutor: scriptedModel([]), llmModel: "m", strategy: plan });
    await agent.install(Persistence, { storage }).run("hello");
    for await (const { records } of storage.log.read("a"))
      counts.push(records.filter(({ kind }) => kind === "note").length);
    expect(counts).toEqual([0, 1]);
  });
});

describe("participants", () => {
  it("must have different keys and a storage with a log", () => {
    const notebook = new NotebookParticipant(new Map());
    const storage = new InMemoryPersistenceStorageProvider();
    expect(() => writer(storage, notebook, [notebook, notebook])).toThrow(/two have the key "notebook"/);
    expect(() => writer(new RowsProvider(), notebook)).toThrow(/expected a storage with a log for "notebook"/);
  });

  it("may query which notes a rollback would give them", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    const { pages, ids } = await ran(storage);
    const notebook = new NotebookParticipant(pages);
    persistence(writer(storage, notebook)).agent("other");
    expect(notebook.host?.agentId).toBe("other");
    const request = await notebook.host?.request("writer", ids[5] ?? "", "notebook");
    expect(request?.notes).toMatchObject([{ value: { page: "one", before: hashOf("1a") } }]);
    expect(new TextDecoder().decode(await request?.content(hashOf("1a")))).toBe("1a");
    expect(await request?.content(hashOf("unheard of"))).toBeUndefined();
    await expect(notebook.host?.request("writer", "none", "notebook")).rejects.toMatchObject({
      code: "checkpoint_not_found",
    });
  });
});
