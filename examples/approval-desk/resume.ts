import { desk } from "./agent.ts";

/** `resume.ts <directory>`: the agents go on with the answers that they have. */
const [, , directory = ".agent-persistence"] = process.argv;
const result = await desk(directory).resume({ agentId: "order-7" });
console.log(result.status === "completed" ? result.output : result.status);
