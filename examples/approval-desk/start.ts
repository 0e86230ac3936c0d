import { desk } from "./agent.ts";

/** `start.ts <directory>`: the chief begins. The process ends when all of its agents wait. */
const [, , directory = ".agent-persistence"] = process.argv;
const result = await desk(directory).run("refund order 7", { agentId: "order-7" });
console.log(result.status);
