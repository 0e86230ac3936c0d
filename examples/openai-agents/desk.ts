import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Agent, tool } from "@openai/agents-core";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { DurableRunner, PersistenceSession } from "agent-persistence/openai-agents";
import { z } from "zod";
import { DeskModel } from "./DeskModel.ts";

/** The refund desk, as it is defined with the SDK alone, and what makes it durable. */
export interface Desk extends AsyncDisposable {
  readonly agent: Agent;
  readonly runner: DurableRunner;
  readonly session: PersistenceSession;
}

/**
 * Every process creates the same desk, on the same folder.
 *
 * @param afterRefund is called when the money has been paid, and before the tool returns.
 */
export function openDesk(directory: string, afterRefund: () => void = () => {}): Desk {
  const path = join(directory, "payments.txt");
  const lookUp = tool({
    name: "look_up",
    description: "Looks up an order.",
    parameters: z.object({ order: z.string() }),
    execute: ({ order }) => `${order}: 25 euros`,
  });
  const refund = tool({
    name: "refund",
    description: "Refunds an order.",
    parameters: z.object({ order: z.string(), euros: z.number() }),
    needsApproval: true,
    execute: ({ order, euros }, _context, details) => {
      // The id of a call is the same after a crash: the bank pays once for it.
      const key = details?.toolCall?.callId ?? "";
      const payments = existsSync(path) ? readFileSync(path, "utf8") : "";
      if (!payments.includes(key)) appendFileSync(path, `${key} ${euros} euros for ${order}\n`);
      afterRefund();
      return `${order} is refunded.`;
    },
  });
  const model = new DeskModel(() => appendFileSync(join(directory, "requests.txt"), "asked\n"));
  const agent = new Agent({ name: "desk", instructions: "You run the refund desk.", model, tools: [lookUp, refund] });

  const storage = new FilePersistenceStorageProvider({ directory });
  const runner = new DurableRunner({
    storage,
    tools: { look_up: { effect: "none" }, refund: { effect: "idempotent" } },
    config: { tracingDisabled: true },
  });
  const session = new PersistenceSession({ storage, sessionId: "customer-3" });
  return { agent, runner, session, [Symbol.asyncDispose]: () => session[Symbol.asyncDispose]() };
}
