// Agents of the AI SDK, made durable: the definition stays; models and tools are wrapped where it is made.
import { metrics, trace } from "@opentelemetry/api";
import {
  createAgentUIStreamResponse,
  generateText,
  stepCountIs,
  streamText,
  tool,
  ToolLoopAgent,
  type Agent,
  type LanguageModel,
  type UIMessage,
} from "ai";
import type { RollbackReport } from "agent-persistence";
import { durableAgent, durableRun } from "agent-persistence/ai-sdk";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { openTelemetry } from "agent-persistence/otel";
import { z } from "zod";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(..._proof: Equal<A, B> extends true ? [] : [never]): void => {};

const storage = new FilePersistenceStorageProvider({ directory: ".agents" });
const telemetry = openTelemetry({ tracer: trace.getTracer("desk"), meter: metrics.getMeter("desk") });
declare const model: LanguageModel;
const tools = {
  find: tool({
    description: "Finds an order.",
    inputSchema: z.object({ id: z.string() }),
    execute: async ({ id }) => ({ id, cents: 900 }),
  }),
  refund: tool({
    description: "Refunds.",
    inputSchema: z.object({ id: z.string(), cents: z.int() }),
    needsApproval: ({ cents }) => cents > 500,
    execute: async ({ id }, { toolCallId }) => ({ refund: `${id}-${toolCallId}` }),
  }),
};
const desk = durableAgent(
  { storage, telemetry },
  (durable) =>
    new ToolLoopAgent({
      id: "desk",
      model: durable.model(model),
      instructions: "You run the refund desk.",
      tools: durable.tools(tools, {
        find: { effect: "none" },
        refund: {
          effect: "reversible",
          rollback: ({ id, cents }, { output }) => {
            same<typeof cents, number>();
            same<typeof output, { refund: string }>();
            return [id, output.refund];
          },
          probe: async ({ id }, { toolCallId }) => (id === toolCallId ? "done" : "not-done"),
        },
      }),
      stopWhen: stepCountIs(8),
      onStepFinish: ({ usage }) => {
        if (durable.live) console.log(usage.totalTokens);
      },
    }),
);

/** It is an agent of the AI SDK, bound to one durable agent. */
export async function useAgent(): Promise<void> {
  const order7 = desk.for("order-7");
  const asAgent: Agent<never, typeof tools, never> = order7;
  const answer = await order7.generate({ prompt: "Refund order 7." });
  same<typeof answer.text, string>();
  const [request] = await desk.agent("order-7").getRequests();
  if (request) await desk.agent("order-7").answer(request.requestId, { approved: true });
  same<Awaited<ReturnType<typeof order7.resume>>, typeof answer>();
  const report: RollbackReport = await desk.agent("order-7").rollbackToLatestCheckpoint();
  for await (const { agentId } of desk.unfinished()) await desk.for(agentId).resume();
  console.log(asAgent.version, report.reverted.length);
}

/** A chat server: POST, and GET for a client that comes back. */
export const POST = async (id: string, messages: UIMessage[]): Promise<Response> =>
  createAgentUIStreamResponse({ agent: desk.for(id, { unfinished: "finish_first" }), uiMessages: messages });
export const GET = async (id: string): Promise<Response> =>
  (await desk.for(id).attach())?.toUIMessageStreamResponse() ?? new Response(null, { status: 204 });

/** The same without an agent. */
export async function useRun(): Promise<void> {
  const { text, steps } = await durableRun(
    { storage, agentId: "report-3", input: "Write it." },
    ({ model: wrap, tools: journal, signal }) =>
      generateText({
        model: wrap(model),
        tools: journal(tools, { find: { effect: "none" } }),
        prompt: "Write it.",
        abortSignal: signal,
      }),
  );
  same<typeof text, string>();
  console.log(steps.length);
  await durableRun({ storage, agentId: "report-4" }, async (durable) => {
    const stream = streamText({ model: durable.model(model), prompt: "…", abortSignal: durable.signal });
    await stream.consumeStream();
    return stream.text;
  });
}

durableAgent(
  { storage },
  // @ts-expect-error no tool has this name
  (durable) => new ToolLoopAgent({ model, tools: durable.tools(tools, { refnd: { effect: "none" } }) }),
);
durableAgent(
  { storage },
  // @ts-expect-error not an effect
  (durable) => new ToolLoopAgent({ model, tools: durable.tools(tools, { find: { effect: "readonly" } }) }),
);
