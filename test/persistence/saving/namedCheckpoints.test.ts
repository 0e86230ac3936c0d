import { persistence, RollbackToolRegistry, strategy, tool, type AgentContext } from "agent-persistence";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { durableAgent } from "../support/durableAgent.ts";
import { checkpointsOf } from "../support/stored.ts";
import { logStorages, storages } from "../support/storages.ts";

type Body = (context: AgentContext) => Promise<unknown>;

/** "first", then "pay", which gives a checkpoint the id "before" and goes on with `body`. */
function paying(body: Body = async () => {}, { version = 0, name = "pay" } = {}) {
  return strategy<string, string>("paying", { version }, (g) => {
    const first = g.node("first", (input: string) => `${input}!`);
    const pay = g.node(name, async (input: string, context) => {
      const { checkpointId } = await persistence(context).createCheckpoint({ checkpointId: "before" });
      await body(context);
      return `${input} after ${checkpointId}`;
    });
    g.edge(g.start, first);
    g.edge(first, pay);
    g.edge(pay, g.finish);
  });
}

/** Throws the first time. */
function once(): Body {
  let done = false;
  return async () => {
    if (done) return;
    done = true;
    throw new Error("cut short");
  };
}

describe.each(storages)("$name: a checkpoint with a given id", (storage) => {
  it("is the same when its node runs again", async () => {
    const opened = await storage.open();
    const body = once();
    await expect(durableAgent(paying(body), opened()).run("go")).rejects.toThrow("cut short");
    const agent = durableAgent(paying(body), opened());
    const [before] = (await checkpointsOf(agent)).filter(({ checkpointId }) => checkpointId === "before");
    expect(await agent.resume()).toMatchObject({ output: "go! after before" });
    const after = (await checkpointsOf(agent)).filter(({ checkpointId }) => checkpointId === "before");
    expect(after).toEqual([before]);
  });

  it("is the same after a rollback to it", async () => {
    const opened = await storage.open();
    const agent = durableAgent(paying(), opened());
    await agent.run("go");
    await persistence(agent).agent("a").rollbackToCheckpoint("before");
    expect(await agent.resume()).toMatchObject({ output: "go! after before" });
    expect((await checkpointsOf(agent)).filter(({ checkpointId }) => checkpointId === "before")).toHaveLength(1);
  });

  it("is the same among several of one node", async () => {
    const opened = await storage.open();
    const cut = once();
    const body: Body = async (context) => {
      await persistence(context).createCheckpoint({ checkpointId: "second" });
      await cut(context);
    };
    await expect(durableAgent(paying(body), opened()).run("go")).rejects.toThrow("cut short");
    expect(await durableAgent(paying(body), opened()).resume()).toMatchObject({ output: "go! after before" });
  });

  it("is the same if its request also set a version", async () => {
    const opened = await storage.open();
    const cut = once();
    const versioned = strategy<string, string>("versioned", (g) => {
      const node = g.node("node", async (_input: string, context) => {
        const { version } = await persistence(context).createCheckpoint({ version: 7 });
        await cut(context);
        return `version ${version}`;
      });
      g.edge(g.start, node);
      g.edge(node, g.finish);
    });
    await expect(durableAgent(versioned, opened()).run("go")).rejects.toThrow("cut short");
    expect(await durableAgent(versioned, opened()).resume()).toMatchObject({ output: "version 7" });
  });

  it("is refused if the run already has the id, in the same or a later visit of the node", async () => {
    const twice: Body = (context) => persistence(context).createCheckpoint({ checkpointId: "before" });
    const refused = expect.objectContaining({ code: "checkpoint_exists", checkpointId: "before" });
    await expect(durableAgent(paying(twice), (await storage.open())()).run("go")).rejects.toEqual(refused);
    const looping = strategy<string, string>("looping", (g) => {
      const node = g.node("node", async (input: string, context) => {
        await persistence(context).createCheckpoint({ checkpointId: "before" });
        return input;
      });
      g.edge(g.start, node);
      g.edge(node, node, { when: () => true });
      g.edge(node, g.finish);
    });
    const opened = await storage.open();
    await expect(durableAgent(looping, opened()).run("go")).rejects.toEqual(refused);
    await expect(durableAgent(looping, opened()).resume()).rejects.toEqual(refused);
  });
});

describe.each(logStorages)("$name: a given checkpoint id", (storage) => {
  it("names the same checkpoint after a wait", async () => {
    const opened = await storage.open();
    const body: Body = (context) => context.requestInput({ id: "go", prompt: "Go on?", schema: z.boolean() });
    const result = await durableAgent(paying(body), opened()).run("go");
    const [request] = result.status === "waiting" ? result.requests : [];
    const answers = { [request?.requestId ?? ""]: true };
    expect(await durableAgent(paying(body), opened()).resume({ answers })).toMatchObject({
      output: "go! after before",
    });
  });

  it("names the same checkpoint after a rollback to it from the same node", async () => {
    const cut = once();
    const body: Body = (context) => cut(context).catch(() => persistence(context).rollbackToCheckpoint("before"));
    const agent = durableAgent(paying(body), (await storage.open())());
    expect(await agent.run("go")).toMatchObject({ output: "go! after before" });
  });

  it("belongs to the newest checkpoint that requested it, after a rollback and in a later run", async () => {
    const agent = durableAgent(paying(), (await storage.open())());
    await agent.run("go");
    const durable = persistence(agent).agent("a");
    const [first] = await durable.getCheckpoints();
    await durable.rollbackToCheckpoint(first?.checkpointId ?? "");
    expect(await agent.resume()).toMatchObject({ output: "go! after before" });
    expect(await agent.run("again", { runId: "second" })).toMatchObject({ output: "again! after before" });
    const stored = await durable.getCheckpoints();
    const ids = stored.map(({ checkpointId }) => checkpointId);
    expect(new Set(ids).size).toBe(ids.length);
    const paid = stored.filter(({ nodeId, trigger }) => nodeId === "pay" && trigger === "asked_for");
    expect(paid.map(({ checkpointId }) => checkpointId)).toEqual([
      expect.stringMatching(/^\d+-\d+$/),
      expect.stringMatching(/^\d+-\d+$/),
      "before",
    ]);
    expect(paid.at(-1)).toMatchObject({ lastInput: "again!", runId: "second" });
    for (const { parentId } of stored.slice(1)) expect(ids).toContain(parentId);
    await durable.rollbackToCheckpoint("before");
    expect(await agent.resume()).toMatchObject({ output: "again! after before" });
  });
});

describe.each(logStorages)("$name: a checkpoint with a generated id", (storage) => {
  it("is the same when its node runs again", async () => {
    const opened = await storage.open();
    const cut = once();
    const made: string[] = [];
    const body: Body = async (context) => {
      const first = await persistence(context).createCheckpoint();
      const second = await persistence(context).createCheckpoint();
      made.push(`${first.checkpointId} ${second.checkpointId}`);
      await cut(context);
    };
    await expect(durableAgent(paying(body), opened()).run("go")).rejects.toThrow("cut short");
    expect(await durableAgent(paying(body), opened()).resume()).toMatchObject({ output: "go! after before" });
    expect(made).toEqual([made[0], made[0]]);
  });
});

it.each(logStorages)("$name: a checkpoint is the same after a migration renamed its node", async ({ open }) => {
  const opened = await open();
  const ids: string[] = [];
  const cut = once();
  const body: Body = async (context) => {
    ids.push((await persistence(context).createCheckpoint()).checkpointId);
    await cut(context);
  };
  await expect(durableAgent(paying(body), opened()).run("go")).rejects.toThrow("cut short");
  const migrations = [{ from: 0, to: 1, nodes: { pay: "charge" } }];
  const agent = durableAgent(paying(body, { version: 1, name: "charge" }), opened(), { migrations });
  expect(await agent.resume()).toMatchObject({ output: "go! after before" });
  expect(ids).toEqual([ids[0], ids[0]]);
});

describe.each(logStorages)("$name: a node that runs again and rolls back to the checkpoint that it made", (storage) => {
  it("reverts the calls that it made after the checkpoint, and runs once more", async () => {
    const opened = await storage.open();
    const cut = once();
    const paid: string[] = [];
    const reverted: string[] = [];
    const pay = tool({
      name: "pay",
      description: "Pays.",
      inputSchema: z.object({}),
      effect: "idempotent",
      execute: (_input, { toolCallId }) => paid.push(toolCallId),
    });
    const registry = new RollbackToolRegistry().registerRollback(pay, (_input, call) => reverted.push(call.toolCallId));
    const retrying = strategy<string, string>("retrying", (g) => {
      const node = g.node("node", async (_input: string, context) => {
        await persistence(context).createCheckpoint();
        const count = await context.tools.call(pay, {});
        await cut(context);
        if (count === 1) return persistence(context).rollbackToLatestCheckpoint();
        return `paid ${count}`;
      });
      g.edge(g.start, node);
      g.edge(node, g.finish);
    });
    const agent = () => durableAgent(retrying, opened(), { tools: [pay], registry });
    await expect(agent().run("go")).rejects.toThrow("cut short");
    expect(await agent().resume()).toMatchObject({ output: "paid 2" });
    expect(reverted).toEqual([paid[0]]);
    expect(new Set(paid).size).toBe(2);
  });
});
