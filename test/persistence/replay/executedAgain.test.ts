import {
  type AgentContext,
  type AssistantMessage,
  type PendingRequest,
  InMemoryPersistenceStorageProvider,
  NoPersistenceStorageProvider,
  persistence,
  strategy,
  type Strategy,
} from "agent-persistence";
import { scriptedModel } from "agent-persistence/testing";
import { expect, it, vi } from "vitest";
import { z } from "zod";
import { durableAgent, Fault } from "../support/durableAgent.ts";
import { logStorages } from "../support/storages.ts";
import { World } from "../support/World.ts";

type Body = (message: AssistantMessage, context: AgentContext) => Promise<AssistantMessage>;
type Last = (message: AssistantMessage, context: AgentContext) => Promise<string>;

const pays = { toolCalls: [{ toolName: "pay", input: { item: "rent" } }] };

/** Asks the model, then passes its message through the given nodes. */
function passing(bodies: readonly Body[], last: Last, branch = false): Strategy<string, string> {
  return strategy<string, string>("passing", (graph) => {
    const ask = graph.node("ask", async (text: string, context: AgentContext) => {
      context.llm.append({ role: "user", content: text });
      const answer = await context.llm.request();
      context.llm.append(answer);
      return answer;
    });
    graph.edge(graph.start, ask);
    const nodes = bodies.map((body, at) => graph.node(`node${at}`, body));
    for (const [at, node] of nodes.entries()) {
      const before = nodes[at - 1];
      if (before) graph.edge(before, node);
      else graph.edge(ask, node);
    }
    const read = graph.node("read", last);
    const end = branch ? graph.parallel("both", { read }, (results) => results.read) : read;
    const before = nodes.at(-1);
    if (before) graph.edge(before, end);
    graph.edge(end, graph.finish);
  });
}

const execute: Body = async (message, context) => {
  context.llm.append(await context.tools.execute(message));
  return message;
};

const output: Last = async (message, context) => {
  const { content } = await context.tools.execute(message);
  return JSON.stringify(content.map((part) => (part.type === "tool-result" ? part.output : part)));
};

const paid = JSON.stringify([{ made: "rent" }]);

it.each(logStorages.flatMap((storage) => [false, true].map((branch) => ({ ...storage, branch }))))(
  "$name: after a crash, a message executed again gets its first outcomes (in a branch: $branch)",
  async ({ open, branch }) => {
    for (const when of ["never", "before", "after"] as const) {
      const world = new World();
      const fault = new Fault();
      if (when === "never") fault.repair();
      const opened = await open();
      const built = passing(
        [execute],
        async (message, context) => {
          if (when === "before") fault.strike();
          const shown = await output(message, context);
          fault.strike();
          return shown;
        },
        branch,
      );
      const agent = () => durableAgent(built, opened(), { tools: [world.adder("pay", "irreversible")], turns: [pays] });
      if (when === "never") expect(await agent().run("go")).toMatchObject({ output: paid });
      else {
        await fault.stops(agent().run("go"));
        expect(await agent().resume()).toMatchObject({ output: paid });
      }
      expect(world.done).toEqual(["pay rent"]);
    }
  },
);

const approve: Body = async (message, context) => {
  await context.requestInput({ prompt: "ok?", schema: z.boolean() });
  return message;
};

it.each(logStorages)("$name: after waits, a message executed again gets its first outcomes", async ({ open }) => {
  for (const branch of [false, true]) {
    const world = new World();
    const built = passing([execute, approve, approve, approve], output, branch);
    const opened = await open();
    const agent = () => durableAgent(built, opened(), { tools: [world.adder("pay", "irreversible")], turns: [pays] });
    let result = await agent().run("go");
    for (let left = 3; left > 0 && result.status === "waiting"; left--)
      result = await agent().resume({ answers: { [result.requests[0]?.requestId ?? ""]: true } });
    expect(result).toMatchObject({ output: paid });
    expect(world.done).toEqual(["pay rent"]);
  }
});

it.each(
  logStorages.flatMap((storage) =>
    [false, true].flatMap((branch) => [false, true].map((crash) => ({ ...storage, branch, crash }))),
  ),
)(
  "$name: an approved call of a message executed again needs no second approval (in a branch: $branch, after a crash: $crash)",
  async ({ open, branch, crash }) => {
    const world = new World();
    const fault = new Fault();
    if (!crash) fault.repair();
    const built = passing(
      [execute],
      async (message, context) => {
        fault.strike();
        return output(message, context);
      },
      branch,
    );
    const opened = await open();
    const pay = { ...world.adder("pay", "irreversible"), needsApproval: true };
    const agent = () => durableAgent(built, opened(), { tools: [pay], turns: [pays] });
    const { requests } = (await agent().run("go")) as { readonly requests: readonly PendingRequest[] };
    const approved = agent().resume({ answers: { [requests[0]?.requestId ?? ""]: { approved: true } } });
    if (crash) await fault.stops(approved);
    expect(await (crash ? agent().resume() : approved)).toMatchObject({ status: "completed", output: paid });
    expect(world.done).toEqual(["pay rent"]);
  },
);

const keepsNothing = { name: "no storage", open: async () => () => new NoPersistenceStorageProvider() };

it.each([...logStorages, keepsNothing])(
  "$name: a message that left the history gets its first outcomes",
  async ({ open }) => {
    for (const branch of [false, true]) {
      const world = new World();
      const items = Array.from({ length: 120 }, (_, at) => `item ${at}`);
      const turn = { toolCalls: items.map((item) => ({ toolName: "pay", input: { item } })) };
      const leave: Body = async (message, context) => {
        context.llm.rewrite(([first]) => (first ? [first] : []));
        return message;
      };
      const built = passing([execute, leave], output, branch);
      const opened = await open();
      const agent = durableAgent(built, opened(), { tools: [world.adder("pay", "irreversible")], turns: [turn] });
      expect(await agent.run("go")).toMatchObject({ output: JSON.stringify(items.map((made) => ({ made }))) });
      expect(world.done).toEqual(items.map((item) => `pay ${item}`));
    }
  },
);

it.each(logStorages)("$name: a call that was rolled back is made anew, not replayed from the log", async ({ open }) => {
  const world = new World();
  const fault = new Fault();
  let moves = 0;
  const back: Body = async (message, context) => {
    const asked = (await persistence(context).getCheckpoints()).find(({ nodeId }) => nodeId === "node0");
    if (moves++ === 0) await persistence(context).rollbackToCheckpoint(asked?.checkpointId ?? "none");
    return message;
  };
  const opened = await open();
  const built = passing([execute, back, approve], async (_message, context) => {
    fault.strike();
    const issued = context.llm.messages.find(({ role }) => role === "assistant") as AssistantMessage;
    return output(issued, context);
  });
  const agent = () => durableAgent(built, opened(), { tools: [world.adder("pay", "irreversible")], turns: [pays] });
  const waiting = await agent().run("go");
  expect(world.done).toEqual(["pay rent", "pay rent"]);
  expect(new Set(world.executed).size).toBe(2);
  const answers = waiting.status === "waiting" ? { [waiting.requests[0]?.requestId ?? ""]: true } : {};
  await fault.stops(agent().resume({ answers }));
  expect(await agent().resume()).toMatchObject({ output: paid });
  expect(world.done).toEqual(["pay rent", "pay rent"]);
});

it.each(logStorages)("$name: a later run makes the calls of a message of an earlier run once", async ({ open }) => {
  const world = new World();
  const fault = new Fault();
  let runs = 0;
  const built = strategy<string, string>("later", (graph) => {
    const act = graph.node("act", async (text: string, context: AgentContext) => {
      if (runs > 0) return text;
      context.llm.append({ role: "user", content: text });
      const answer = await context.llm.request();
      context.llm.append(answer);
      context.llm.append(await context.tools.execute(answer));
      return text;
    });
    const again = graph.node("again", async (_text: string, context: AgentContext) => {
      if (runs === 0) return "first";
      const answer = context.llm.messages.find((message) => message.role === "assistant");
      if (!answer) return "none";
      const shown = await output(answer, context);
      fault.strike();
      return shown;
    });
    graph.edge(graph.start, act);
    graph.edge(act, again);
    graph.edge(again, graph.finish);
  });
  const opened = await open();
  const agent = () => durableAgent(built, opened(), { tools: [world.adder("pay", "irreversible")], turns: [pays] });
  await agent().run("go");
  runs = 1;
  await fault.stops(agent().run("again", { history: "continue" }));
  expect(await agent().resume()).toMatchObject({ output: paid });
  expect(world.done).toEqual(["pay rent", "pay rent"]);
});

const own: Last = (_message, context) => {
  const call = { type: "tool-call", toolCallId: "own", toolName: "pay", input: { item: "rent" } } as const;
  return output({ role: "assistant", content: [call] }, context);
};

it.each([
  ["of the model", output],
  ["of the node", own],
])("reads no earlier part of the log for a message %s that is executed for the first time", async (_whose, last) => {
  const world = new World();
  const storage = new InMemoryPersistenceStorageProvider();
  const built = passing([approve, approve], last);
  const model = scriptedModel([pays]);
  const agent = () => durableAgent(built, storage, { tools: [world.adder("pay", "irreversible")], model });
  let result = await agent().run("go");
  const read = vi.spyOn(storage.log, "read");
  for (let left = 2; left > 0 && result.status === "waiting"; left--)
    result = await agent().resume({ answers: { [result.requests[0]?.requestId ?? ""]: true } });
  expect(result).toMatchObject({ output: paid });
  const whole = read.mock.calls.filter(([, how]) => !how?.sinceSnapshot && how?.after === undefined);
  expect(whole).toEqual([]);
});
