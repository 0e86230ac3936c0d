import { appendFileSync, existsSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import type { ChatResult } from "@langchain/core/outputs";
import { tool, type ToolRunnableConfig } from "@langchain/core/tools";
import { Command } from "@langchain/langgraph";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { durableTools, PersistenceSaver } from "agent-persistence/langgraph";
import {
  type AgentMiddleware,
  createAgent,
  type HITLRequest,
  type HITLResponse,
  humanInTheLoopMiddleware,
} from "langchain";
import { z } from "zod";

/**
 * One process of an agent of LangChain that asks for three payments at once. A person rejects the third. The middleware then
 * drops the other two, and the agent asks for these again: a person approves the first and edits the second. The process is
 * killed in the call of the named order, before its payment or after it.
 */
const [directory = "", killedIn = "", moment = ""] = process.argv.slice(2);
const file = (name: string) => join(directory, name);
const linesOf = (name: string) => (existsSync(file(name)) ? readFileSync(file(name), "utf8").trim().split("\n") : []);
const reach = (order: string, now: string) =>
  order === killedIn && now === moment && process.kill(process.pid, "SIGKILL");

class Model extends BaseChatModel {
  constructor() {
    super({});
  }

  _llmType(): string {
    return "scripted";
  }

  override bindTools(): this {
    return this;
  }

  async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    appendFileSync(file("requests"), "asked\n");
    const told = messages.filter((each) => each.getType() === "tool").map(({ text }) => text);
    const message = told.includes("too much") ? asksFor(["a", "b"]) : asksFor(["a", "b", "c"]);
    if (told.includes("paid 20")) message.tool_calls = [];
    return { generations: [{ text: "", message }] };
  }
}

function asksFor(orders: readonly string[]): AIMessage {
  const calls = orders.map((order) => ({ id: `call-${order}`, name: "pay", args: { order, euros: 20 } }));
  return new AIMessage({ content: "", tool_calls: calls });
}

const checkpointer = new PersistenceSaver({
  storage: new FilePersistenceStorageProvider({ directory: file("agents") }),
});

const pay = tool(
  ({ order, euros }, config: ToolRunnableConfig) => {
    reach(order, "before");
    const key = String(config.configurable?.["idempotency_key"]);
    appendFileSync(file("payments"), `${order} ${euros} ${key}\n`);
    reach(order, "after");
    return `paid ${euros}`;
  },
  { name: "pay", description: "Pays.", schema: z.object({ order: z.string(), euros: z.number() }) },
);

// The casts are for `exactOptionalPropertyTypes`: without this option of TypeScript, nothing needs them.
const approval = humanInTheLoopMiddleware({ interruptOn: { pay: true } } as never) as AgentMiddleware;

const agent = createAgent({
  model: new Model(),
  tools: durableTools(checkpointer, [pay], {
    // The bank knows which keys it has paid for.
    pay: {
      effect: "irreversible",
      probe: ({ euros }, { toolCallId }) =>
        linesOf("payments").some((line) => line.endsWith(toolCallId))
          ? { status: "done", output: `paid ${euros}` }
          : "not-done",
    },
  }),
  middleware: [approval],
  checkpointer,
});

const decisions: Readonly<Record<string, HITLResponse["decisions"][number]>> = {
  a: { type: "approve" },
  b: { type: "edit", editedAction: { name: "pay", args: { order: "b", euros: 5 } } },
  c: { type: "reject", message: "too much" },
};
const thread = { configurable: { thread_id: "order" }, durability: "sync" as const };
const { next, tasks } = await agent.graph.getState(thread);
const [open] = tasks.flatMap((task) => task.interrupts as readonly { readonly value?: HITLRequest }[]);
const answer = open?.value?.actionRequests.map(({ args }) => decisions[String(args["order"])]);
const input = next.length === 0 ? { messages: [new HumanMessage("Pay a, b and c.")] } : null;
const result = await agent.invoke(
  (answer ? new Command({ resume: { decisions: answer } }) : input) as Parameters<typeof agent.invoke>[0],
  thread,
);
const [asked] =
  (result as { readonly __interrupt__?: readonly { readonly value?: HITLRequest }[] }).__interrupt__ ?? [];
writeSync(
  1,
  JSON.stringify({
    asked: asked?.value?.actionRequests.map(({ args }) => args["order"] as string),
    said: result.messages.map((message: BaseMessage) => message.text),
  }),
);
await checkpointer[Symbol.asyncDispose]();
