import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { AIAgent, type Message, Persistence, tool } from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { scriptedModel } from "agent-persistence/testing";
import { z } from "zod";
import { research } from "./research.ts";

/**
 * A chief who sends out two researchers at once, and refunds an order by what they found. One of the researchers asks a
 * person, and the refund needs an approval. Every process creates the agents, on the same folder. `DESK_VERSION=2` stands for
 * the next deployment of the researchers.
 */
export function desk(directory: string): AIAgent<string, string> {
  const note = (line: string) => appendFileSync(join(directory, "done.txt"), `${line}\n`);

  const { strategy, migrations } = research(process.env["DESK_VERSION"] === "2" ? 2 : 1, note);
  const researcher = new AIAgent({ promptExecutor: scriptedModel([]), llmModel: "none", strategy });
  researcher.install(Persistence, { migrations });

  const askResearcher = researcher.asTool({
    name: "research",
    description: "Finds out about a topic.",
    inputSchema: z.object({ topic: z.string() }),
    input: ({ topic }) => topic,
  });
  const refund = tool({
    name: "refund",
    description: "Refunds an order.",
    inputSchema: z.object({ order: z.string(), euros: z.number() }),
    needsApproval: ({ order, euros }) => euros > 10 && { prompt: `Refund ${euros} euros for ${order}?` },
    execute: ({ order, euros }) => {
      note(`refunded ${euros} euros for ${order}`);
      return "refunded";
    },
  });

  const chief = new AIAgent({
    llmModel: "scripted",
    tools: [askResearcher, refund],
    promptExecutor: scriptedModel([
      {
        toolCalls: [
          { toolName: "research", input: { topic: "the customer" } },
          { toolName: "research", input: { topic: "the order" } },
        ],
      },
      (messages) => ({ toolCalls: [{ toolName: "refund", input: { order: orderIn(messages), euros: 25 } }] }),
      (messages) => (isRefused(messages) ? "The money stays here." : "The customer has the money back."),
    ]),
  });
  return chief.install(Persistence, { storage: new FilePersistenceStorageProvider({ directory }) });
}

/** The order that the chief was asked to refund. */
function orderIn(messages: readonly Message[]): string {
  const asked = messages.find(({ role }) => role === "user")?.content;
  return (typeof asked === "string" ? /order \d+/.exec(asked)?.[0] : undefined) ?? "no order";
}

function isRefused(messages: readonly Message[]): boolean {
  const content = messages.at(-1)?.content ?? "";
  return typeof content !== "string" && content.some((part) => part.type === "tool-result" && part.isError === true);
}
