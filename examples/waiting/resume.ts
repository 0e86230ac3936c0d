import { seeIt } from "../seeIt.ts";
import { buyer } from "./agent.ts";

/** The third process: `resume.ts <directory>`. The agent continues with the answer. */
const [, , directory = ".agent-persistence"] = process.argv;
const result = await buyer(directory).resume({ agentId: "order-7" });
console.log(result.status === "completed" ? result.output : result.status);
console.error(seeIt("order-7", `file:${directory}`));
