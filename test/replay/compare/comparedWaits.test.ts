import { InMemoryPersistenceStorageProvider, persistence, tool } from "agent-persistence";
import { compareRuns, readRunTrace, replayRun } from "agent-persistence/replay";
import { SimulatedClock } from "agent-persistence/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { requestsOf } from "../../persistence/support/asking.ts";
import { chain, type NodeBody } from "../../persistence/support/calledAgents.ts";
import { durableAgent } from "../../persistence/support/durableAgent.ts";

const pay = tool({
  name: "pay",
  description: "",
  inputSchema: z.object({ cents: z.number() }),
  needsApproval: ({ cents }) => ({ prompt: `Pay ${cents}?` }),
  execute: ({ cents }) => cents,
});

const question = { prompt: "Why?", schema: z.string() };
const codeOf = ({ code }: { readonly code?: string }) => String(code);

/** Bodies of a node, whose waits end in each way. */
const bodies: Readonly<Record<string, NodeBody>> = {
  "a sleep": async (text, context) => {
    await context.sleep(60_000);
    return text;
  },
  "an event": async (_text, context) => String(await context.receive("paid", { schema: z.string() })),
  "an approval with its own prompt": async (_text, { tools }) => String(await tools.call(pay, { cents: 3 })),
  "an event that does not arrive": async (_text, context) =>
    String(await context.receive("paid", { schema: z.string(), timeoutMs: 50 })),
  "a rejected request": (_text, context) => context.requestInput(question).catch(codeOf),
};

it.each(Object.entries(bodies))("%s is the same in the next run, and in a replay of the run", async (name, body) => {
  const storage = new InMemoryPersistenceStorageProvider();
  const clock = new SimulatedClock();
  const agent = durableAgent(chain("one", { one: body }), storage, { tools: [pay], clock, sleepInProcessMs: 0 });
  const durable = persistence(agent).agent("a");
  for (const runId of ["monday", "tuesday"]) {
    const [request] = requestsOf(await agent.run("go", { runId }));
    const { requestId = "", waitingFor } = request ?? {};
    if (name === "an event") await durable.send("paid", "x");
    else if (waitingFor === "human_approval") await durable.answer(requestId, { approved: true });
    else if (name === "a rejected request") await durable.reject(requestId, "no");
    clock.advance(60_000_000_000);
    await agent.resume();
  }
  const [monday, tuesday] = [
    await readRunTrace(storage, { agentId: "a", runId: "monday" }),
    await readRunTrace(storage, { agentId: "a", runId: "tuesday" }),
  ];
  expect(monday.visits[0]?.waits).toHaveLength(1);
  expect(compareRuns(monday, tuesday)).toMatchObject({ isSame: true });
  const options = { storage, agentId: "a", runId: "tuesday", model: "recorded" } as const;
  const { trace } = await replayRun(agent, options);
  expect(compareRuns(tuesday, trace)).toMatchObject({ isSame: true });
});
