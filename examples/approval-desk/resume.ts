import { seeIt } from "../seeIt.ts";
import { desk } from "./agent.ts";

/** `resume.ts <directory> <agent>`: the agents go on with the answers that they have. */
const [, , directory = ".agent-persistence", agentId = "order-7"] = process.argv;
const result = await desk(directory).resume({ agentId });
console.log(result.status === "completed" ? result.output : result.status);
console.error(seeIt(agentId, `file:${directory}`));
