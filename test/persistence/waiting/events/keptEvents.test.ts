import {
  type AgentContext,
  type DurableAgent,
  InMemoryPersistenceStorageProvider,
  persistence,
  strategy,
} from "agent-persistence";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { Inbox } from "../../../../src/journal/inbox/Inbox.ts";
import { requestsOf, unfinishedOf } from "../../support/asking.ts";
import { durableAgent } from "../../support/durableAgent.ts";

const schema = z.string();

/** Receives an event in its second node, unless the input is "done". */
function receiving(version?: string) {
  return strategy<string, string>("receiving", (g) => {
    const first = g.node("first", async (input: string) => input);
    const receive = g.node(`receive${version ?? ""}`, async (input: string, context: AgentContext) =>
      input === "done" ? input : context.receive("paid", { schema }),
    );
    g.edge(g.start, first);
    g.edge(first, receive);
    g.edge(receive, g.finish);
  });
}

async function waitingAgent() {
  const storage = new InMemoryPersistenceStorageProvider();
  const again = (version?: string) => durableAgent(receiving(version), storage, { sleepInProcessMs: 0 });
  const agent = again();
  const durable = persistence(agent).agent("a");
  await agent.run("done", { agentId: "a", runId: "r0" });
  const [request] = requestsOf(await agent.run("go", { agentId: "a", runId: "r1" }));
  const requestId = request?.requestId ?? "";
  /** Stores that the request has received the event, but not its reply, as a crash between the two does. */
  const crashAfterTake = () => Inbox.of(storage).take("a", { request: requestId, event: "paid" });
  return { storage, agent, again, durable, requestId, crashAfterTake };
}

const received = { status: "completed", output: "one" };

describe("an event that the unfinished run waits for", () => {
  it("goes to the run that replaces it", async () => {
    const { agent, durable } = await waitingAgent();
    await durable.send("paid", "one");
    expect(await agent.run("next", { agentId: "a", unfinished: "abandon" })).toMatchObject(received);
  });

  it("goes to the run that replaces it, even if the code has changed", async () => {
    const { again, durable } = await waitingAgent();
    await durable.send("paid", "one");
    const changed = again("2");
    expect(await changed.run("go", { agentId: "a", unfinished: "abandon" })).toMatchObject(received);
  });

  it("goes to a branch", async () => {
    const { agent, durable } = await waitingAgent();
    await durable.send("paid", "one");
    const [first] = (await durable.getCheckpoints()).filter(({ runId }) => runId === "r1");
    expect(await agent.resume({ agentId: "a", checkpointId: first?.checkpointId })).toMatchObject(received);
  });

  it("stays in the inbox during a refused run and the result of an earlier run", async () => {
    const { agent, durable } = await waitingAgent();
    await durable.send("paid", "one");
    await expect(agent.run("other", { agentId: "a", runId: "r2" })).rejects.toMatchObject({ code: "unfinished_run" });
    await agent.run("done", { agentId: "a", runId: "r0" });
    expect(await durable.getRequests()).toHaveLength(1);
    expect(await unfinishedOf(agent)).toEqual(["waiting"]);
    expect(await agent.resume({ agentId: "a" })).toMatchObject(received);
  });

  it("continues the run before the next one", async () => {
    const { agent, durable } = await waitingAgent();
    await durable.send("paid", "one");
    const next = agent.run("done", { agentId: "a", unfinished: "finish_first" });
    expect(await next).toMatchObject({ status: "completed", output: "done" });
  });
});

describe("an event whose receipt a crash cut short", () => {
  it("goes to the run that replaces it", async () => {
    const { agent, durable, crashAfterTake } = await waitingAgent();
    await durable.send("paid", "one");
    await crashAfterTake();
    expect(await agent.run("next", { agentId: "a", unfinished: "abandon" })).toMatchObject(received);
  });

  it("goes to a branch", async () => {
    const { agent, durable, crashAfterTake } = await waitingAgent();
    await durable.send("paid", "one");
    await crashAfterTake();
    const [first] = (await durable.getCheckpoints()).filter(({ runId }) => runId === "r1");
    expect(await agent.resume({ agentId: "a", checkpointId: first?.checkpointId })).toMatchObject(received);
  });

  it("goes to the run after a cancelled one", async () => {
    const { agent, durable, crashAfterTake } = await waitingAgent();
    await durable.send("paid", "one");
    await crashAfterTake();
    await durable.cancel();
    expect(await agent.run("next", { agentId: "a" })).toMatchObject(received);
  });

  it("goes to the run after a rejected request", async () => {
    const { agent, durable, requestId, crashAfterTake } = await waitingAgent();
    await durable.send("paid", "one");
    await crashAfterTake();
    await durable.reject(requestId, "not needed");
    await expect(agent.resume({ agentId: "a" })).rejects.toMatchObject({ reason: "not needed" });
    expect(await agent.run("next", { agentId: "a", unfinished: "abandon" })).toMatchObject(received);
  });

  it.each<[string, (durable: DurableAgent) => Promise<unknown>]>([
    ["at another execution point", (durable) => durable.setExecutionPoint({ nodeId: "receive", input: "go" })],
    [
      "from an edited checkpoint",
      async (durable) => {
        const [first] = (await durable.getCheckpoints()).filter(({ runId }) => runId === "r1");
        await durable.editCheckpoint(first?.checkpointId ?? "", { by: "me", reason: "test", lastInput: "again" });
      },
    ],
    [
      "with restored messages",
      (durable) => durable.rollbackToLatestCheckpoint({ rollbackStrategy: "message_history_only" }),
    ],
  ])("goes to the run that continues %s", async (_move, move) => {
    const { agent, durable, crashAfterTake } = await waitingAgent();
    await durable.send("paid", "one");
    await crashAfterTake();
    await move(durable);
    expect(await agent.resume({ agentId: "a" })).toMatchObject(received);
  });
});
