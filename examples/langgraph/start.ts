import { HumanMessage } from "@langchain/core/messages";
import { openDesk, thread } from "./desk.ts";

/** The first process: `start.ts <directory>`. The model asks for two refunds, the graph asks a person, and the process ends. */
const [, , directory = ".agent-persistence"] = process.argv;
const { checkpointer, graph } = openDesk(directory);
await graph.invoke({ messages: [new HumanMessage("Refund orders 7 and 8.")] }, thread);
const { tasks } = await graph.getState(thread);
for (const { interrupts } of tasks) for (const { value } of interrupts) console.log(`waits for an answer: ${value}`);
await checkpointer[Symbol.asyncDispose]();
