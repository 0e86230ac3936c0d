import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { tool } from "agent-persistence";
import { trace } from "@opentelemetry/api";
import { z } from "zod";
import { recordingTelemetry, tracedAgent } from "./tracedAgent.ts";

/** A process whose agent ends it in a tool. What it has shown is gone; the span of its run is written down before. */
const [directory = ""] = process.argv.slice(2);
const die = tool({
  name: "look",
  description: "Ends the process.",
  effect: "none",
  inputSchema: z.object({ at: z.string() }),
  execute: ({ at }) => {
    const { traceId } = trace.getActiveSpan()?.spanContext() ?? {};
    writeFileSync(join(directory, "trace.txt"), traceId ?? "none");
    process.kill(process.pid, "SIGKILL");
    return at;
  },
});
const storage = new FilePersistenceStorageProvider({ directory: join(directory, "agents") });
await tracedAgent(recordingTelemetry().telemetry, { storage, tools: [die] }).run("hello", { agentId: "a-1" });
