import {
  AIAgent,
  type AgentContext,
  type Node,
  Persistence,
  type PersistenceStorageProvider,
  type PromptRequest,
  RequestRejectedError,
  RollbackToolRegistry,
  strategy,
  tool,
  ToolFailedError,
  ToolRejectedError,
} from "agent-persistence";
import { z } from "zod";
import type { Ledger } from "./Ledger.ts";
import type { NodeKind } from "./Program.ts";

/** Asks once for two calls, then says that it is done. */
async function answerOf({ messages }: PromptRequest) {
  const isAnswered = messages.at(-1)?.role === "tool";
  const calls = ["book", "pay"].map((toolName) => ({
    type: "tool-call" as const,
    toolCallId: toolName,
    toolName,
    input: { thing: `${messages.length}` },
  }));
  return { message: { role: "assistant" as const, content: isAnswered ? "done" : calls } };
}

/** An agent whose every effect is in the ledger. Its output names the calls that it counts on. */
export function attackedAgent(storage: PersistenceStorageProvider, ledger: Ledger, nodes: readonly NodeKind[]) {
  const inputSchema = z.object({ thing: z.string() });
  const book = tool({
    name: "book",
    description: "Books a thing.",
    inputSchema,
    effect: "idempotent",
    execute: (_input, { toolCallId, context }) => {
      ledger.add({ what: "book", agentId: context.agentId, id: toolCallId });
      return toolCallId;
    },
  });
  const pay = tool({
    name: "pay",
    description: "Pays for a thing.",
    inputSchema,
    effect: "irreversible",
    needsApproval: true,
    execute: (_input, { toolCallId, context }) => {
      ledger.add({ what: "pay", agentId: context.agentId, id: toolCallId });
      return toolCallId;
    },
  });
  const registry = new RollbackToolRegistry().registerRollback(
    book,
    (_input, { toolCallId }) => ledger.undo(toolCallId),
    { effect: "idempotent" },
  );
  const act: Readonly<Record<Exclude<NodeKind, "branches">, (context: AgentContext) => Promise<readonly string[]>>> = {
    book: async (context) => [await context.tools.call(book, { thing: "room" })],
    pay: async (context) => {
      const paid = context.tools.call(pay, { thing: "bill" });
      return paid.then((id) => [id], noneIfRefused);
    },
    ask: async (context) => {
      const again = await context.requestInput({ prompt: "Again?", schema: z.boolean() }).catch(noneIfRefused);
      return again === true ? act.book(context) : [];
    },
    model: async (context) => {
      context.llm.append({ role: "user", content: "Act." });
      const answer = await context.llm.request();
      context.llm.append(answer);
      const results = await context.tools.execute(answer);
      context.llm.append(results);
      return results.content.flatMap((part) =>
        part.type === "tool-result" && !part.isError && typeof part.output === "string" ? [part.output] : [],
      );
    },
  };
  const definition = strategy<readonly string[], readonly string[]>("attacked", (graph) => {
    let last: Node<readonly string[], readonly string[]> = graph.node("begin", (ids: readonly string[]) => ids);
    graph.edge(graph.start, last);
    nodes.forEach((kind, at) => {
      const next =
        kind === "branches"
          ? graph.parallel(
              `branches-${at}`,
              Object.fromEntries(
                ["left", "right"].map((side) => [
                  side,
                  graph.node(`${side}-${at}`, async (ids: readonly string[], context) => [
                    ...ids,
                    ...(await act.book(context)),
                  ]),
                ]),
              ),
              (outputs) => [...new Set(Object.values(outputs).flat())],
            )
          : graph.node(`${kind}-${at}`, async (ids: readonly string[], context) => [
              ...ids,
              ...(await act[kind](context)),
            ]);
      graph.edge(last, next);
      last = next;
    });
    graph.edge(last, graph.finish);
  });
  return new AIAgent({
    id: "attacked",
    llmModel: "none",
    promptExecutor: { execute: answerOf },
    strategy: definition,
    tools: [book, pay],
  }).install(Persistence, { storage, rollbackToolRegistry: registry });
}

/** A person said no, or the ledger said that the call did not happen. */
function noneIfRefused(error: unknown): readonly string[] {
  const refusals = [RequestRejectedError, ToolRejectedError, ToolFailedError];
  if (refusals.some((refusal) => error instanceof refusal)) return [];
  throw error;
}
