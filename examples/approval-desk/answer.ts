import { AgentPersistenceError, persistence } from "agent-persistence";
import { desk } from "./agent.ts";

/** `answer.ts <directory> <request> <answer as JSON>`: answers a request by its id alone. No run starts. */
const [, , directory = ".agent-persistence", requestId = "", answer = "null"] = process.argv;
try {
  await persistence(desk(directory)).answer(requestId, JSON.parse(answer), { by: "ann@example.com" });
  console.log("answered");
} catch (error) {
  if (!AgentPersistenceError.isInstance(error)) throw error;
  console.log(`refused: ${error.code}`);
}
