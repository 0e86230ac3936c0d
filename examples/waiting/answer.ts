import { AgentPersistenceError, persistence } from "agent-persistence";
import { buyer } from "./agent.ts";

/** The second process: `answer.ts <directory> <answer as JSON>`. It shows the question and answers it; no run starts. */
const [, , directory = ".agent-persistence", answer = "{}"] = process.argv;
const order = persistence(buyer(directory)).agent("order-7");
const [request] = await order.getRequests();
if (request?.kind === "input") {
  console.log(`${request.waitingFor}: ${request.prompt}`);
  try {
    await order.answer(request.requestId, JSON.parse(answer));
    console.log("answered");
  } catch (error) {
    if (!AgentPersistenceError.isInstance(error)) throw error;
    console.log(`refused: ${error.message}`);
  }
} else console.log("no question is open");
