import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { median } from "../measure/statistics.ts";
import { timeOf } from "../measure/timeOf.ts";
import { parseFiles } from "./parseFiles.ts";
import { EndOfLoop, loopingAgent } from "./loopingAgent.ts";

/** Medians in milliseconds. */
export interface LoadFigures {
  /** A new provider reads the latest checkpoint and its whole history. */
  readonly latestMs: number;
  /** A new provider resumes the agent: from the call to the start of its node, owning the log included. */
  readonly resumeMs: number;
  /** The same files are read, and each of their lines parsed as JSON. */
  readonly parseMs: number;
}

const rounds = 15;
/** The first rounds compile the code and are thrown away. */
const warmUp = 5;

/** Stops an agent after `steps` steps, the first `messages` of them with a message, and opens it again and again. */
export async function load(steps: number, messages: number, directory: string): Promise<LoadFigures> {
  const written = new FilePersistenceStorageProvider({ directory });
  await untilItStops(loopingAgent(written, { steps, messages, finishes: false }).run(1, { agentId: "bench" }));
  await written.log.close();
  const latest: number[] = [];
  const parse: number[] = [];
  const resume: number[] = [];
  for (let round = 0; round < warmUp + rounds; round++) {
    parse.push(await timeOf(() => parseFiles(directory)));
    latest.push(await timeOf(() => readLatest(directory, messages)));
    resume.push(await timeToNode(directory, steps));
  }
  const warm = (times: readonly number[]): number => median(times.slice(warmUp));
  return { latestMs: warm(latest), resumeMs: warm(resume), parseMs: warm(parse) };
}

async function readLatest(directory: string, messages: number): Promise<void> {
  const storage = new FilePersistenceStorageProvider({ directory });
  const checkpoint = await storage.getLatestCheckpoint("bench");
  const found = checkpoint?.messageHistory.map(({ content }) => content.length).length;
  if (found !== messages) throw new Error(`Expected ${messages} messages, found ${found}.`);
  await storage.log.close();
}

async function timeToNode(directory: string, steps: number): Promise<number> {
  const storage = new FilePersistenceStorageProvider({ directory });
  let reached = Number.NaN;
  const onStep = (): void => void (reached = performance.now());
  const agent = loopingAgent(storage, { steps, finishes: false, onStep });
  const start = performance.now();
  await untilItStops(agent.resume({ agentId: "bench" }));
  await storage.log.close();
  return reached - start;
}

async function untilItStops(run: Promise<unknown>): Promise<void> {
  const outcome = await run.catch((error: unknown) => error);
  if (!(outcome instanceof EndOfLoop)) throw new Error("The loop was to end by its own error.", { cause: outcome });
}
