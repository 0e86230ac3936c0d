import {
  type AIAgent,
  type DurableAgent,
  type MigratedLine,
  type Migration,
  type PendingRequest,
  persistence,
  type PersistenceEvent,
  strategy,
  tool,
} from "agent-persistence";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { durableAgent } from "../support/durableAgent.ts";
import { recordsOf } from "../support/stored.ts";
import { logStorages } from "../support/storages.ts";
import { World } from "../support/World.ts";

/** The code of one version: what its nodes and its tool are called, and what the first branch accepts. */
interface Version {
  readonly version: number;
  readonly left: string;
  readonly right: string;
  readonly pay: string;
  readonly input?: z.ZodType<string>;
}

const first: Version = { version: 0, left: "left", right: "right", pay: "pay" };
const second: Version = { version: 1, left: "links", right: "rechts", pay: "payOut" };
const migrations: readonly Migration[] = [
  { from: 0, to: 1, nodes: { left: "links", right: "rechts" }, tools: { pay: "payOut" } },
];

/** What happens in a process of the agent. */
interface Life {
  readonly world: World;
  /** Calls do not end while it is there: it is aborted as soon as both are made. */
  readonly hangs?: AbortController;
  /** Whether both branches ask before they pay. */
  readonly asks?: boolean;
  readonly onEvent?: (event: PersistenceEvent) => void;
  readonly migrations?: readonly Migration[];
}

/** Two branches that pay. */
function paying(code: Version, storage: LogPersistenceStorageProvider, life: Life): AIAgent<string, string> {
  const { world, hangs, asks = false, ...options } = life;
  let made = 0;
  const pay = tool({
    name: code.pay,
    description: "Pays.",
    inputSchema: z.object({ item: z.string() }),
    execute: ({ item }, given) => {
      if (!hangs) return world.add(item, given, code.pay);
      return new Promise<never>((_resolve, reject) => {
        given.abortSignal.addEventListener("abort", () => reject(new Error("aborted")));
        if (++made === 2) hangs.abort();
      });
    },
  });
  const graph = strategy<string, string>("s", { version: code.version }, (g) => {
    const schemas = code.input ? { input: code.input } : {};
    const left = g.node(code.left, schemas, async (text: string, context) => {
      const answer = asks ? await context.requestInput({ prompt: "Which?", schema: z.string() }) : "";
      await context.tools.call(pay as never, { item: `left${answer} ${text}` } as never);
      return answer;
    });
    const right = g.node(code.right, async (text: string, context) => {
      const answer = asks ? await context.requestInput({ prompt: "How?", schema: z.string() }) : "";
      await context.tools.call(pay as never, { item: `right${answer} ${text}` } as never);
      return text;
    });
    const both = g.parallel("both", { a: left, b: right }, ({ a, b }) => `${a}${b}`);
    const end = g.node("end", (text: string) => text);
    g.edge(g.start, both);
    g.edge(both, end);
    g.edge(end, g.finish);
  });
  return durableAgent(graph, storage, { tools: [pay], ...options });
}

/** The checkpoints of migrations, by the append that they are in. */
async function migrationsIn({ log }: LogPersistenceStorageProvider): Promise<readonly (readonly string[])[]> {
  const found: (readonly string[])[] = [];
  for await (const { records } of log.read("a")) {
    const made = records.flatMap((record) => {
      const { kind, move, node = "" } = record as { kind: string; move?: string; node?: string };
      return kind === "checkpoint" && move === "migration" ? [node] : [];
    });
    if (made.length > 0) found.push(made);
  }
  return found;
}

describe.each(logStorages)("$name: an interrupted node", (storage) => {
  async function inDoubt(code: Version = first) {
    const opened = await storage.open();
    const hangs = new AbortController();
    const run = paying(code, opened(), { world: new World(), hangs }).run("rent", { signal: hangs.signal });
    await expect(run).rejects.toMatchObject({ name: "AbortError" });
    return opened;
  }
  async function doubtsOf(agent: AIAgent<string, string>) {
    const doubts = await persistence(agent).agent("a").getToolCallsInDoubt();
    return ["left rent", "right rent"].map((item) =>
      doubts.find(({ input }) => (input as { item: string }).item === item),
    );
  }

  it("on several lines migrates in one append, and each call in doubt is settled by its id", async () => {
    const opened = await inDoubt();
    const world = new World();
    const told: string[] = [];
    const onEvent = (event: PersistenceEvent) =>
      void (event.type === "run_migrated" && told.push(`${event.branch ?? "the run"} ${event.from} ${event.to}`));
    const after = () => paying(second, opened(), { world, migrations, onEvent });
    const doubts = await doubtsOf(after());
    expect(doubts).toMatchObject([{ toolName: "payOut" }, { toolName: "payOut" }]);
    await expect(after().resume()).rejects.toMatchObject({ code: "tool_call_in_doubt" });
    expect(await migrationsIn(opened())).toEqual([["both", "links", "rechts"]]);
    expect(told).toEqual(["the run 0 1", "both#a 0 1", "both#b 0 1"]);
    const ids = doubts.map((doubt) => doubt?.toolCallId ?? "");
    for (const id of ids) await persistence(after()).agent("a").settleToolCall(id, "retry");
    expect(await after().resume()).toMatchObject({ status: "completed", output: "rent" });
    expect(world.executed.toSorted()).toEqual(ids.toSorted());
    expect(told).toHaveLength(3);
  });

  it("on several lines migrates each line once, and no line changes if migrate throws for one", async () => {
    const opened = await inDoubt();
    const lines: unknown[] = [];
    const migrate = (line: MigratedLine): MigratedLine => {
      lines.push([line.branch, line.nodeId]);
      if (line.branch === "both#b") throw new Error("no way");
      return line;
    };
    const throwing = migrations.map((each) => ({ ...each, migrate }));
    const before = await recordsOf(opened());
    const resume = paying(second, opened(), { world: new World(), migrations: throwing }).resume();
    await expect(resume).rejects.toThrow("no way");
    expect(lines).toEqual([
      [undefined, "both"],
      ["both#a", "links"],
      ["both#b", "rechts"],
    ]);
    expect(await recordsOf(opened())).toEqual(before);
  });

  it("keeps its open request under its new name, and the answer counts", async () => {
    const opened = await storage.open();
    const old = paying(first, opened(), { world: new World(), asks: true });
    expect(await old.run("rent")).toMatchObject({ status: "waiting" });
    const world = new World();
    const after = () => paying(second, opened(), { world, asks: true, migrations });
    const outside = persistence(after()).agent("a");
    const verdicts = async (agent: AIAgent<string, string>) =>
      (await listed(persistence(agent).checkMigrations())).map(({ verdict }) => verdict);
    expect([await verdicts(old), await verdicts(after())]).toEqual([["same"], ["migrates"]]);
    const [which, how] = await asked(outside);
    await outside.answer(which?.requestId ?? "", "!");
    expect(await after().resume()).toMatchObject({ status: "waiting" });
    expect(world.done).toEqual(["payOut left! rent"]);
    expect(how?.nodeId).toBe("right");
    expect(await asked(outside)).toMatchObject([{ requestId: how?.requestId, nodeId: "rechts", branch: "both#b" }]);
    await outside.answer(how?.requestId ?? "", "?");
    expect(await after().resume()).toMatchObject({ status: "completed", output: "!rent" });
    expect(world.done).toEqual(["payOut left! rent", "payOut right? rent"]);
    expect(await migrationsIn(opened())).toEqual([["both", "links", "rechts"]]);
  });

  it("starts again after a schema change, but only when its calls in doubt are settled", async () => {
    const opened = await inDoubt({ ...first, input: z.string() });
    const world = new World();
    const after = () => paying({ ...second, input: z.string().max(99) }, opened(), { world, migrations });
    const before = await recordsOf(opened());
    const outside = persistence(after()).agent("a");
    const [left, right] = (await doubtsOf(after())).map((doubt) => doubt?.toolCallId ?? "");
    const refused = { code: "tool_call_in_doubt", toolCallId: left };
    await expect(after().resume()).rejects.toMatchObject(refused);
    expect(await recordsOf(opened())).toEqual(before);
    const [check] = await listed(persistence(after()).checkMigrations());
    expect(check).toMatchObject({ verdict: "incompatible", differences: [expect.stringContaining(String(left))] });
    await outside.settleToolCall(left ?? "", { output: { made: "left rent" } });
    await outside.settleToolCall(right ?? "", "retry");
    expect(await after().resume()).toMatchObject({ status: "completed", output: "rent" });
    // The call that had its effect stands, and the node that began anew made another one.
    const points = (await recordsOf(opened())).filter((record) => "standing" in record);
    expect(points).toMatchObject([{ move: "migration", node: "links", standing: [left] }]);
    expect(world.done.toSorted()).toEqual(["payOut left rent", "payOut right rent"]);
    expect(world.executed).toContain(right);
    expect(world.executed).not.toContain(left);
  });

  it("that a migration leaves ends its nested lines, but only when their calls in doubt are settled", async () => {
    const opened = await inDoubt();
    const world = new World();
    const leaving = migrations.map((each) => ({
      ...each,
      migrate: (line: MigratedLine) =>
        line.branch === undefined ? { ...line, nodeId: "end", lastInput: "left" } : line,
    }));
    const after = () => paying(second, opened(), { world, migrations: leaving });
    const before = await recordsOf(opened());
    const ids = (await doubtsOf(after())).map((doubt) => doubt?.toolCallId ?? "");
    for (const [at, id] of ids.entries()) {
      await expect(after().resume()).rejects.toMatchObject({ code: "tool_call_in_doubt" });
      expect((await recordsOf(opened())).length).toBe(before.length + at);
      await persistence(after())
        .agent("a")
        .settleToolCall(id, { output: { made: "" } });
    }
    expect(await after().resume()).toMatchObject({ status: "completed", output: "left" });
    const points = (await recordsOf(opened())).filter((record) => "standing" in record);
    expect(points).toMatchObject([
      { move: "migration", node: "end", standing: expect.arrayContaining(ids) as unknown },
    ]);
    expect(world.done).toEqual([]);
    expect(await migrationsIn(opened())).toEqual([["end"]]);
  });

  it("starts again after a schema change with a new request, and ignores earlier answers", async () => {
    const opened = await storage.open();
    const world = new World();
    const old = paying({ ...first, input: z.string() }, opened(), { world, asks: true });
    expect(await old.run("rent")).toMatchObject({ status: "waiting" });
    const code = { ...second, input: z.string().max(99) };
    const after = () => paying(code, opened(), { world, asks: true, migrations });
    const outside = persistence(after()).agent("a");
    const before = await asked(outside);
    for (const { requestId } of before) await outside.answer(requestId, "?");
    expect(await after().resume()).toMatchObject({ status: "waiting" });
    expect(world.done).toEqual(["payOut right? rent"]);
    const [again, ...more] = await asked(outside);
    expect(more).toEqual([]);
    expect(before.map(({ requestId }) => requestId)).not.toContain(again?.requestId);
    await outside.answer(again?.requestId ?? "", "!");
    expect(await after().resume()).toMatchObject({ status: "completed", output: "!rent" });
    expect(world.done).toEqual(["payOut right? rent", "payOut left! rent"]);
  });
});

/** The open requests: that of the left branch comes first. */
async function asked(outside: DurableAgent): Promise<readonly PendingRequest[]> {
  return (await outside.getRequests()).toSorted((a, b) => (a.prompt > b.prompt ? -1 : 1));
}

async function listed<Item>(items: AsyncIterable<Item>): Promise<readonly Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}
