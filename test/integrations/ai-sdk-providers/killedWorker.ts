import { appendFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { Persistence } from "agent-persistence";
import { durableAgent } from "agent-persistence/ai-sdk";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { providerCases } from "./providerCases.ts";
import { prompt, refundAgent, refundDesk } from "./refundDesk.ts";

/**
 * Runs the refund desk of one case against a provider that another process serves, and prints the last text. With `kill`, the
 * process kills itself after the first refund.
 */
const [directory = "", number = "", how = "", url = "", kill = ""] = process.argv.slice(2);
const { sdk, wire } = providerCases[Number(number)]!;
const storage = new FilePersistenceStorageProvider({ directory: join(directory, "agents") });

function refund(id: string, key: string): void {
  appendFileSync(join(directory, "refunds"), `${id} ${key}\n`);
  if (kill !== "") process.kill(process.pid, "SIGKILL");
}

async function said(): Promise<string> {
  const options = { sdk, wire, url, refund };
  const run = { agentId: "a", runId: "r" };
  if (how === "agent") {
    const desk = durableAgent({ storage }, refundDesk(options)).for("a", { runId: "r" });
    return (await desk.stream({ prompt })).text;
  }
  const agent = refundAgent(options).install(Persistence, { storage });
  const result = await agent.run(prompt, { ...run, onDelta: () => undefined });
  return result.status === "completed" ? result.output : result.status;
}

writeSync(1, await said());
