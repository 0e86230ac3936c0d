/**
 * The agents that wrote the logs in `logs/forks`, as the version after 0.1.0 ran them: forks, names, an edit and a migration.
 * `expected.json.gz` beside them is what that version read of them, and what became of them when it resumed each agent.
 * Like the other logs they must never be written anew.
 */
import { AIAgent, type DurableAgent, Persistence, persistence, storageKey, strategy, tool } from "agent-persistence";
import { scriptedModel, SimulatedClock } from "agent-persistence/testing";
import { z } from "zod";
import { openStorage } from "./agents.ts";
import { digest, shown } from "./shown.ts";

const large = storageKey("large", z.string());

/** The agents of the folder: one, a fork of it that was edited, and a fork of that one, which was migrated. */
export const refundIds = ["order", "order-edited", "order-migrated"] as const;

/** Books, asks and pays. In version 1 of the strategy the node that asks has another name. */
export function refunds(version: 0 | 1, directory: string) {
  const done: string[] = [];
  const acting = (name: string) =>
    tool({
      name,
      description: `does ${name}`,
      inputSchema: z.object({ item: z.string() }),
      effect: "idempotent",
      execute: ({ item }) => {
        done.push(`${name} ${item}`);
        return `${name} ${item}`;
      },
    });
  const [book, pay] = [acting("book"), acting("pay")];
  const graph = strategy<string, string>("refunds", { version }, (g) => {
    const first = g.node("first", async (order: string, context) => {
      context.storage.set(large, `${order} `.repeat(100));
      context.llm.append({ role: "user", content: `refund ${order}` });
      await context.tools.call(book, { item: order });
      return order;
    });
    const ask = g.node(version === 0 ? "ask" : "approve", async (order: string, context) => {
      await context.tools.call(book, { item: `${order} again` });
      const approved = await context.requestInput({ prompt: `Refund ${order}?`, schema: z.boolean() });
      return `${order} ${approved}`;
    });
    const last = g.node("last", async (decision: string, context) => {
      await context.tools.call(pay, { item: decision });
      return `${decision} ${context.storage.get(large)?.length}`;
    });
    g.edge(g.start, first);
    g.edge(first, ask);
    g.edge(ask, last);
    g.edge(last, g.finish);
  });
  const agent = new AIAgent({
    llmModel: "scripted",
    promptExecutor: scriptedModel([]),
    tools: [book, pay],
    strategy: graph,
  }).install(Persistence, {
    storage: openStorage(directory),
    clock: new SimulatedClock(),
    ...(version === 1 && { migrations: [{ from: 0, to: 1, nodes: { ask: "approve" } }] }),
  });
  return { agent, of: (agentId: string): DurableAgent => persistence(agent).agent(agentId), done };
}

/** All that can be read of the agents without changing them. */
export async function readRefunds(directory: string): Promise<unknown> {
  const agents: Record<string, unknown> = {};
  for (const agentId of refundIds) {
    const durable = refunds(1, directory).of(agentId);
    agents[agentId] = {
      checkpoints: await durable.getCheckpoints(),
      tree: await durable.checkpointTree(),
      messages: await durable.getMessages(),
      requests: await durable.getRequests(),
      doubts: await durable.getToolCallsInDoubt(),
    };
  }
  return shown(agents);
}

/** Every agent resumed to its end, each by a process of its own, and then rolled back to its start. */
export async function finishRefunds(directory: string): Promise<unknown> {
  const ends: Record<string, unknown> = {};
  for (const agentId of refundIds) {
    const { agent, of, done } = refunds(1, directory);
    const first = await agent.resume({ agentId });
    const requests = await of(agentId).getRequests();
    const answers = Object.fromEntries(requests.map(({ requestId }) => [requestId, true]));
    const result = first.status === "completed" ? first : await agent.resume({ agentId, answers });
    const messages = digest(await of(agentId).getMessages());
    const [start] = await of(agentId).getCheckpoints();
    const { irreversible, skipped } = await of(agentId).rollbackToCheckpoint(start?.checkpointId ?? "");
    const owners = skipped.map(({ owner }) => owner);
    const { status } = result;
    const output = status === "completed" ? result.output : undefined;
    ends[agentId] = { status, output, messages, done, remaining: irreversible.length, owners };
  }
  return shown(ends);
}
