import { buyer } from "./agent.ts";

/** The first process: `ask.ts <directory> <item>`. The agent asks, and the process ends. */
const [, , directory = ".agent-persistence", item = "a lamp"] = process.argv;
const result = await buyer(directory).run(item, { agentId: "order-7" });
console.log(result.status);
