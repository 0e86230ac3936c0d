import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { openBrowser } from "../../timeline/browser/openBrowser.ts";
import { cpuTimeOf } from "../measure/cpuTimeOf.ts";
import { loopingAgent } from "../ours/loopingAgent.ts";
import { writePage } from "../views/timelines.ts";
import type { Target } from "../targets.ts";
import { timeOf } from "../measure/timeOf.ts";

/** The page of an agent with 2,000 checkpoints, each with a new message of 2 KB, in a browser. */
export async function pagesOf2000(directory: string): Promise<Target[]> {
  const storage = new FilePersistenceStorageProvider({ directory: join(directory, "storage") });
  await loopingAgent(storage, { steps: 2_000, finishes: true }).run(1, { agentId: "bench" });
  const file = join(directory, "page.html");
  const writeMs = await cpuTimeOf(() => writePage(storage, file));
  await storage.log.close();
  const browser = await openBrowser();
  try {
    const page = await browser.newPage();
    const loadMs = await timeOf(() => page.goto(pathToFileURL(file).href, { waitUntil: "load" }));
    const name = "the page of 2,000 checkpoints:";
    return [
      { name: `${name} CPU to write it`, found: writeMs, atMost: 1_500, unit: " ms" },
      { name: `${name} load in the browser`, found: loadMs, atMost: 1_500, unit: " ms" },
    ];
  } finally {
    await browser.close();
  }
}
