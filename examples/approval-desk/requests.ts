import { persistence } from "agent-persistence";
import { desk } from "./agent.ts";

/** `requests.ts <directory>`: what all agents wait for, with the agents that were called on the way to each question. */
const [, , directory = ".agent-persistence"] = process.argv;
for await (const { agentId, agentPath, requestId, prompt } of persistence(desk(directory)).listRequests())
  console.log(`${requestId} ${[agentId, ...agentPath].join(" > ")}: ${prompt}`);
