// Agents of the OpenAI Agents SDK, made durable: agents, tools and models stay as they are.
import { Agent, type Session, tool } from "@openai/agents-core";
import { metrics, trace } from "@opentelemetry/api";
import { InMemoryPersistenceStorageProvider } from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { DurableRunner, PersistenceSession } from "agent-persistence/openai-agents";
import { openTelemetry } from "agent-persistence/otel";
import { TaskManager } from "agent-persistence/task";
import { z } from "zod";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(..._proof: Equal<A, B> extends true ? [] : [never]): void => {};

const storage = new FilePersistenceStorageProvider({ directory: ".agents" });
const telemetry = openTelemetry({ tracer: trace.getTracer("desk"), meter: metrics.getMeter("desk") });
export const tasks = new TaskManager({ storage, telemetry });
const openaiAgent = new Agent({
  name: "desk",
  instructions: "…",
  tools: [
    tool({
      name: "refund",
      description: "Refunds.",
      parameters: z.object({ id: z.string() }),
      needsApproval: true,
      execute: async ({ id }) => id,
    }),
  ],
});
const runner = new DurableRunner({ storage, tools: { refund: { effect: "idempotent" } }, telemetry });
await using session = new PersistenceSession({ storage, sessionId: "order-8", telemetry });
const asSession: Session = session;
const first = await runner.run(openaiAgent, "Refund order 8.", { agentId: "order-8", session: asSession });
if (first.interruptions.length > 0) {
  const [pending] = await runner.agent("order-8").getRequests();
  if (pending) await runner.agent("order-8").answer(pending.requestId, { approved: true });
  const resumed = await runner.resume(openaiAgent, { agentId: "order-8", session });
  same<typeof resumed.finalOutput, typeof first.finalOutput>();
}
const streamed = await runner.run(openaiAgent, "And order 9.", { agentId: "order-8", session, stream: true });
for await (const event of streamed) console.log(event.type);
for await (const { agentId } of runner.unfinished()) await runner.resume(openaiAgent, { agentId, session });

// @ts-expect-error not an effect
export const wrong = new DurableRunner({ storage, tools: { refund: { effect: "readonly" } } });
// @ts-expect-error a durable run has the id of an agent
export const anonymous = runner.run(openaiAgent, "Refund order 8.", { session });
// @ts-expect-error a session needs a storage with a log
export const stored = new PersistenceSession({ storage: {}, sessionId: "order-8" });

// ---- unit tests: the same, in memory
export const inMemory = new DurableRunner({ storage: new InMemoryPersistenceStorageProvider() });
