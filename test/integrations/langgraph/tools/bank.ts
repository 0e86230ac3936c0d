import { AIMessage } from "@langchain/core/messages";
import { tool, type ToolRunnableConfig } from "@langchain/core/tools";
import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
import type { PersistenceSaver } from "agent-persistence/langgraph";
import { z } from "zod";

export const thread = { configurable: { thread_id: "order-7" }, durability: "sync" as const };

/** A bank that knows what it was asked for. */
export class Bank {
  readonly charged: string[] = [];
  readonly keys: string[] = [];
  /** Runs once a charge is made, before the tool returns. */
  afterwards: () => Promise<void> | void = () => {};

  readonly charge = tool(
    async ({ cents }: { cents: number }, config: ToolRunnableConfig) => {
      this.charged.push(`${cents}`);
      this.keys.push(String(config.configurable?.["idempotency_key"]));
      await this.afterwards();
      return `charged ${cents}`;
    },
    { name: "charge", description: "Charges a card.", schema: z.object({ cents: z.int() }) },
  );
}

/** A message of a model that asks for charges. */
export function calling(...calls: readonly (readonly [id: string, cents: number])[]): AIMessage {
  const asked = calls.map(([id, cents]) => ({ id, name: "charge", args: { cents }, type: "tool_call" as const }));
  return new AIMessage({ content: "", tool_calls: asked });
}

/** A graph with one node. */
export function graphOf(checkpointer: PersistenceSaver, work: () => Promise<string>) {
  return new StateGraph(Annotation.Root({ said: Annotation<string> }))
    .addNode("work", async () => ({ said: await work() }))
    .addEdge(START, "work")
    .addEdge("work", END)
    .compile({ checkpointer });
}
