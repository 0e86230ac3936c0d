import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { tool, type ToolRunnableConfig } from "@langchain/core/tools";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { durableTools, PersistenceSaver } from "agent-persistence/langgraph";
import { type AgentMiddleware, createAgent, type HITLRequest, humanInTheLoopMiddleware } from "langchain";
import { z } from "zod";
import { MockModel } from "./model.ts";

/** The thread of the bills. With `sync`, each step is stored before the next one begins. */
export const thread = { configurable: { thread_id: "bills" }, durability: "sync" as const };

/**
 * The agent. Every process creates the same one, on the same directory.
 *
 * @param afterPayment is called when a bill has been paid, and before the tool returns.
 */
export function openAgent(directory: string, afterPayment: (bill: string) => void = () => {}) {
  const payments = join(directory, "payments.txt");
  const checkpointer = new PersistenceSaver({ storage: new FilePersistenceStorageProvider({ directory }) });

  const pay = tool(
    ({ bill, euros }, config: ToolRunnableConfig) => {
      // The key of a call is the same after a crash: the bank pays once for it.
      const key = String(config.configurable?.["idempotency_key"]);
      const paid = existsSync(payments) ? readFileSync(payments, "utf8") : "";
      if (!paid.includes(key)) appendFileSync(payments, `${key} ${euros} euros for the ${bill}\n`);
      afterPayment(bill);
      return `the ${bill} is paid`;
    },
    { name: "pay", description: "Pays a bill.", schema: z.object({ bill: z.string(), euros: z.number() }) },
  );

  // The casts are for `exactOptionalPropertyTypes`: without this option of TypeScript, nothing needs them.
  const approval = humanInTheLoopMiddleware({ interruptOn: { pay: true } } as never) as AgentMiddleware;

  const agent = createAgent({
    model: new MockModel(() => appendFileSync(join(directory, "requests.txt"), "asked\n")),
    tools: durableTools(checkpointer, [pay], { pay: { effect: "idempotent" } }),
    middleware: [approval],
    checkpointer,
  });
  return { agent, checkpointer };
}

/** The calls that wait for a person. */
export async function waitingCalls({ agent }: ReturnType<typeof openAgent>): Promise<HITLRequest["actionRequests"]> {
  const { tasks } = await agent.graph.getState(thread);
  const requests = tasks.flatMap(({ interrupts }) => interrupts.map(({ value }) => value as HITLRequest));
  return requests.flatMap(({ actionRequests }) => actionRequests);
}
