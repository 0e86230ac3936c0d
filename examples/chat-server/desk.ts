import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { tool, ToolLoopAgent } from "ai";
import { durableAgent } from "agent-persistence/ai-sdk";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { FileStreamStore } from "agent-persistence/streams";
import { z } from "zod";
import { deskModel } from "./deskModel.ts";

interface DeskOptions {
  readonly afterRefund: () => void;
  readonly patience: Promise<void>;
}

/**
 * A refund desk, as it is defined with the AI SDK alone but for `durable`. Every process creates the same, on the same folder.
 *
 * @param options.afterRefund is called when the money has been paid, and before the tool returns.
 * @param options.patience the model waits for it before its last answer.
 */
export function openDesk(directory: string, { afterRefund, patience }: DeskOptions) {
  const path = join(directory, "payments.txt");
  const lookUp = tool({
    description: "Looks up an order.",
    inputSchema: z.object({ order: z.string() }),
    execute: ({ order }) => ({ order, euros: 25 }),
  });
  const refund = tool({
    description: "Refunds an order.",
    inputSchema: z.object({ order: z.string(), euros: z.number() }),
    execute: ({ order, euros }, { toolCallId }) => {
      appendFileSync(path, `${toolCallId} ${euros} euros for ${order}\n`);
      afterRefund();
      return { paid: euros };
    },
  });
  const payments = () => (existsSync(path) ? readFileSync(path, "utf8") : "");
  return durableAgent(
    {
      storage: new FilePersistenceStorageProvider({ directory }),
      // A client of another server sees an answer while the model writes it.
      streams: new FileStreamStore({ directory: join(directory, "streams") }),
    },
    (durable) =>
      new ToolLoopAgent({
        id: "desk",
        model: durable.model(deskModel(patience)),
        instructions: "You run the refund desk.",
        tools: durable.tools(
          { look_up: lookUp, refund },
          {
            look_up: { effect: "none" },
            // After a crash in the middle of a call, the bank is asked whether it has paid.
            refund: {
              probe: ({ euros }, { toolCallId }) =>
                payments().includes(toolCallId) ? { status: "done", output: { paid: euros } } : "not-done",
            },
          },
        ),
      }),
  );
}
