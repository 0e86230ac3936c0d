import { appendFileSync, existsSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { AIMessage } from "@langchain/core/messages";
import { tool, type ToolRunnableConfig } from "@langchain/core/tools";
import { Annotation, MessagesAnnotation, Send, START, StateGraph } from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { durableTools, PersistenceSaver } from "agent-persistence/langgraph";
import { z } from "zod";

/**
 * One process of a desk that makes eight charges: two at once, two in a row, one in each of two branches, and two in a graph
 * that a tool runs. It is killed at the moments that are named, in their order, one in each process; the process that is not
 * killed prints how the run ended.
 */
const [directory = "", how = "", ...moments] = process.argv.slice(2);
const file = (name: string) => join(directory, name);
const linesOf = (name: string) => (existsSync(file(name)) ? readFileSync(file(name), "utf8").trim().split("\n") : []);
const killedBefore = linesOf("killed").length;

function reach(moment: string): void {
  if (moments[killedBefore] !== moment) return;
  appendFileSync(file("killed"), `${moment}\n`);
  process.kill(process.pid, "SIGKILL");
}

/** A bank that charges once for each key, as those do that know idempotency keys. */
function charged(id: string, key: string): void {
  appendFileSync(file("asked"), `${killedBefore} ${id}\n`);
  if (how !== "keys" || !linesOf("charged").includes(`${id} ${key}`)) appendFileSync(file("charged"), `${id} ${key}\n`);
}

const checkpointer = new PersistenceSaver({
  storage: new FilePersistenceStorageProvider({ directory: file("agents") }),
});

const bankCharge = tool(
  ({ id }: { id: string }, config: ToolRunnableConfig) => {
    reach(`before ${id}`);
    charged(id, String(config.configurable?.["idempotency_key"]));
    reach(`after ${id}`);
    return `charged ${id}`;
  },
  { name: "charge", description: "Charges an order.", schema: z.object({ id: z.string() }) },
);
const probe = (_input: unknown, { toolCallId }: { readonly toolCallId: string }) =>
  linesOf("charged").some((line) => line.endsWith(toolCallId))
    ? ({ status: "done", output: "found" } as const)
    : "not-done";
const [charge] = durableTools(checkpointer, [bankCharge], {
  charge: how === "keys" ? { effect: "idempotent" } : { effect: "irreversible", probe },
});

const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  id: Annotation<string>,
  said: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
});
const call = async (id: string) => ({ said: [await charge.invoke({ id })] });

let sixIsDone: () => void = () => {};
const afterSix = new Promise<void>((resolve) => (sixIsDone = resolve));

const paying = new StateGraph(State)
  .addNode("pay", ({ id }) => call(id))
  .addNode("note", async ({ id }) => {
    // The other branch has ended, here or in an earlier process.
    if (id === "5" && linesOf("ended").length === 0) await afterSix;
    reach(`late ${id}`);
    appendFileSync(file("noted"), `${id}\n`);
    return {};
  })
  .addEdge(START, "pay")
  .addEdge("pay", "note")
  .compile();

const delegated = new StateGraph(State)
  .addNode("seven", () => call("7"))
  .addNode("eight", () => call("8"))
  .addEdge(START, "seven")
  .addEdge("seven", "eight")
  .compile();

const [delegate] = durableTools(
  checkpointer,
  [
    tool(async () => (await delegated.invoke({})).said.join(), {
      name: "delegate",
      description: "Lets another graph charge.",
      schema: z.object({}),
    }),
  ],
  { delegate: { effect: "none" } },
);

const tools = new ToolNode([charge]);
const graph = new StateGraph(State)
  .addNode("parallel", tools)
  .addNode("sequential", async () => {
    reach("in sequential");
    return { said: [await charge.invoke({ id: "3" }), await charge.invoke({ id: "4" })] };
  })
  .addNode("branch", async ({ id }) => {
    const { said } = await paying.invoke({ id });
    if (id === "6") {
      appendFileSync(file("ended"), "6\n");
      sixIsDone();
    }
    return { said };
  })
  .addNode("agent", async () => {
    reach("in agent");
    return { said: [await delegate.invoke({})] };
  })
  .addEdge(START, "parallel")
  .addEdge("parallel", "sequential")
  .addConditionalEdges("sequential", () => ["5", "6"].map((id) => new Send("branch", { id })))
  .addEdge("branch", "agent")
  .compile({ checkpointer });

const asked = ["1", "2"].map((id) => ({ id: `call-${id}`, name: "charge", args: { id } }));
const thread = {
  configurable: { thread_id: "order" },
  durability: how === "async" ? ("async" as const) : ("sync" as const),
};
const begun = await checkpointer.getTuple(thread);
const state = await graph.invoke(
  begun ? null : { messages: [new AIMessage({ content: "", tool_calls: asked })] },
  thread,
);
const told = state.messages.slice(1).map(({ content }) => content);
writeSync(1, JSON.stringify({ told, said: state.said }));
