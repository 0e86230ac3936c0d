import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { inspect } from "agent-persistence/inspect";
import { timelinePage, type TimelineOptions } from "agent-persistence/timeline";
import { createWriteStream } from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { pathToFileURL } from "node:url";
import type { CDPSession, Page } from "playwright-core";
import { openBrowser } from "../../timeline/browser/openBrowser.ts";
import { cpuTimeOf } from "../measure/cpuTimeOf.ts";
import { timeOf } from "../measure/timeOf.ts";
import { loopingAgent } from "../ours/loopingAgent.ts";

/** The page of an agent of 10,000 checkpoints, each with a new message of 2 KB, in a browser. */
export interface TimelineFigures {
  /** CPU of the process that writes the page. */
  readonly writeMs: number;
  readonly pageBytes: number;
  /** From opening the page until its first rows are there. */
  readonly openMs: number;
  /** The most elements in the document, from the first row to the last. */
  readonly elements: number;
  /** What the browser works for one scroll by three rows: script, style and layout. */
  readonly scrollMs: number;
  /** The heap of the page, once all of it was seen. */
  readonly heapBytes: number;
}

const checkpoints = 10_000;
const scrolls = 300;
const pixels = 240;

export async function timelines(directory: string): Promise<TimelineFigures> {
  const storage = new FilePersistenceStorageProvider({ directory: join(directory, "data") });
  await loopingAgent(storage, { steps: checkpoints, finishes: true }).run(1, { agentId: "bench" });
  const file = join(directory, "page.html");
  const writeMs = await cpuTimeOf(() => writePage(storage, file));
  await storage.log.close();
  const { size: pageBytes } = await stat(file);
  return { writeMs, pageBytes, ...(await seen(file)) };
}

/** Writes the page of the last checkpoints, or of all. */
export async function writePage(
  storage: FilePersistenceStorageProvider,
  file: string,
  options: TimelineOptions = {},
): Promise<void> {
  await pipeline(Readable.from(timelinePage(inspect(storage), "bench", options)), createWriteStream(file));
}

async function seen(file: string): Promise<Omit<TimelineFigures, "writeMs" | "pageBytes">> {
  const browser = await openBrowser();
  try {
    const page = await browser.newPage();
    const session = await page.context().newCDPSession(page);
    await session.send("Performance.enable");
    const rows = page.locator(".list [role=option]");
    const openMs = await timeOf(async () => {
      await page.goto(pathToFileURL(file).href);
      await rows.first().waitFor();
    });
    const worked = await metric(session, "TaskDuration");
    const elements = await scroll(page);
    const scrollMs = (1_000 * ((await metric(session, "TaskDuration")) - worked)) / scrolls;
    await session.send("HeapProfiler.collectGarbage");
    const heapBytes = await metric(session, "JSHeapUsedSize");
    return { openMs, elements, scrollMs, heapBytes };
  } finally {
    await browser.close();
  }
}

/** Scrolls on, a frame each, and to the end. @returns the most elements that were in the document. */
async function scroll(page: Page): Promise<number> {
  return page.evaluate(
    async ([times, by]) => {
      const list = document.querySelector(".list");
      if (!list) throw new Error("There is no list.");
      let most = 0;
      for (let time = 0; time <= times; time++) {
        if (time === times) list.scrollTop = list.scrollHeight;
        else list.scrollTop += by;
        await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
        most = Math.max(most, document.querySelectorAll("*").length);
      }
      return most;
    },
    [scrolls, pixels] as const,
  );
}

async function metric(session: CDPSession, name: string): Promise<number> {
  const { metrics } = await session.send("Performance.getMetrics");
  return metrics.find((each) => each.name === name)?.value ?? Number.NaN;
}
