import { persistence } from "agent-persistence";
import { desk } from "./agent.ts";

/** `fork.ts <directory> <fork>`: makes an independent copy of the chief, which waits for what the chief waits for. */
const [, , directory = ".agent-persistence", forkId = "order-7-other"] = process.argv;
const fork = await persistence(desk(directory)).agent("order-7").fork(forkId);
console.log((await fork.getRequests()).map(({ requestId }) => requestId).join(" "));
