import {
  AIAgent,
  Persistence,
  persistence,
  type PersistenceStorageProvider,
  type PromptExecutor,
} from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { readFile, writeFile } from "node:fs/promises";
import { median } from "../statistics.ts";

/** A conversation at one of its turns. Medians in milliseconds. */
export interface TurnFigures {
  readonly turn: number;
  /** A turn in the process that had the turns before it. */
  readonly hotMs: number;
  /** A turn in a provider that knows nothing: it owns the log and opens it. */
  readonly coldMs: number;
  /** The live messages are read from one file, and parsed. */
  readonly parseMs: number;
}

const turns = [1, 1_000, 5_000];
/** How many turns a median is of. */
const measured = 15;
const warmUp = 200;

/** One agent, one run a turn, each with a question and an answer of 500 characters, which it keeps. */
export async function conversation(directory: string): Promise<readonly TurnFigures[]> {
  await warmedUp(`${directory}-warm-up`);
  const storage = new FilePersistenceStorageProvider({ directory });
  const agent = talking(storage);
  const figures: TurnFigures[] = [];
  let turn = 0;
  for (const at of turns) {
    for (; turn < at - 1; turn++) await ask(agent);
    figures.push({ turn: at, ...(await figuresAt(agent, directory)) });
    turn += 2 * measured;
  }
  await storage.log.close();
  return figures;
}

async function figuresAt(agent: AIAgent<string, string>, directory: string): Promise<Omit<TurnFigures, "turn">> {
  const [hot, cold, parse]: [number[], number[], number[]] = [[], [], []];
  for (let round = 0; round < measured; round++) hot.push(await timeOf(() => ask(agent)));
  for (let round = 0; round < measured; round++) {
    const storage = new FilePersistenceStorageProvider({ directory });
    const other = talking(storage);
    cold.push(await timeOf(() => ask(other)));
    const live = `${directory}-live.json`;
    await writeFile(live, JSON.stringify(await persistence(other).agent("bench").getMessages()));
    parse.push(await timeOf(async () => void JSON.parse(await readFile(live, "utf8"))));
    await storage.log.close();
  }
  return { hotMs: median(hot), coldMs: median(cold), parseMs: median(parse) };
}

async function warmedUp(directory: string): Promise<void> {
  const storage = new FilePersistenceStorageProvider({ directory });
  const agent = talking(storage);
  for (let turn = 0; turn < warmUp; turn++) await ask(agent);
  for (let turn = 0; turn < warmUp / 4; turn++) {
    const other = new FilePersistenceStorageProvider({ directory });
    await ask(talking(other));
    await other.log.close();
  }
  await storage.log.close();
}

function talking(storage: PersistenceStorageProvider): AIAgent<string, string> {
  return new AIAgent({ promptExecutor: model, llmModel: "none" }).install(Persistence, { storage });
}

const model: PromptExecutor = {
  execute: async () => ({ message: { role: "assistant", content: "!".repeat(500) } }),
};

async function ask(agent: AIAgent<string, string>): Promise<void> {
  await agent.run("?".repeat(500), { agentId: "bench", history: "continue" });
}

async function timeOf(action: () => Promise<void>): Promise<number> {
  const start = performance.now();
  await action();
  return performance.now() - start;
}
