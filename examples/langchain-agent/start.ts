import { HumanMessage } from "@langchain/core/messages";
import { openAgent, thread, waitingCalls } from "./agent.ts";

/** The first process: `start.ts <directory>`. The model asks for two payments, a person has to decide, and the process ends. */
const [, , directory = ".agent-persistence"] = process.argv;
const opened = openAgent(directory);
await opened.agent.invoke({ messages: [new HumanMessage("Pay my bills.")] }, thread);
for (const { args } of await waitingCalls(opened)) console.log(`waits: ${args["bill"]}, ${args["euros"]} euros`);
await opened.checkpointer[Symbol.asyncDispose]();
