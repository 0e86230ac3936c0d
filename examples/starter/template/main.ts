import { bookingAgent } from "./agent.ts";
import { llmModel, promptExecutor } from "./model.ts";
import { storage } from "./storage.ts";

// Resumes the run after a crash. After its end, this returns the recorded answer.
const agent = bookingAgent({ promptExecutor, llmModel, storage, seats: new Map() });
const result = await agent.run("Book seats for Alex and Maria.", { agentId: "trip", runId: "monday" });
console.log(result.status === "completed" ? result.output : `The run is ${result.status}.`);
