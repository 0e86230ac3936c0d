import { cpuTimeOf } from "../measure/cpuTimeOf.ts";
import { FilePersistenceStorageProvider, nodeFileSystem, type FileSystem } from "agent-persistence/file";
import { TaskManager, TaskWorker } from "agent-persistence/task";
import { AIAgent, Persistence, strategy, type PromptExecutor } from "agent-persistence";
import { join } from "node:path";
import { median } from "../measure/statistics.ts";

/** What a queue costs among many finished agents, and what each task of a long one costs. */
export interface QueueFigures {
  readonly among: readonly AmongFigures[];
  readonly workedOff: readonly WorkedOffFigures[];
}

/** A queue that one worker works off. */
export interface WorkedOffFigures {
  readonly tasks: number;
  /** CPU milliseconds of one of them. */
  readonly taskMs: number;
}

/** CPU milliseconds among so many finished agents. */
export interface AmongFigures {
  readonly agents: number;
  /** The first task that may be claimed, looked for. */
  readonly claimMs: number;
  /** The same, and there is none. */
  readonly pollMs: number;
  /** A new worker runs one task and ends. */
  readonly workerMs: number;
  /** The first ten of a list of all. */
  readonly pageMs: number;
  /** A worker that polls each second and finds nothing: per cent of a core. */
  readonly idlePercent: number;
  /** Wall milliseconds of the first claim after the machine began, which builds the index. */
  readonly buildMs: number;
}

const sizes = [10, 1_000, 10_000];
const lengths = [10, 1_000, 10_000];
const repetitions = 15;
const idleMs = 10_000;

/** Nothing is synced: the agents are only there to be many. */
const unsynced: FileSystem = {
  ...nodeFileSystem,
  create: async (path) => {
    const file = await nodeFileSystem.create(path);
    return {
      write: (bytes) => file.write(bytes),
      fdatasync: async () => {},
      fsync: async () => {},
      close: () => file.close(),
    };
  },
  fsyncDir: async () => {},
};

export async function queues(directory: string): Promise<QueueFigures> {
  const among: AmongFigures[] = [];
  // What runs first is thrown away, as it is still compiled.
  await figuresAmong(10, join(directory, "warm up"));
  for (const agents of sizes) {
    const folder = join(directory, `${agents}`);
    const figures = await figuresAmong(agents, folder);
    const idlePercent = ((await cpuTimeOf(() => new Desk(folder).idle())) / idleMs) * 100;
    among.push({ ...figures, idlePercent });
  }
  const workedOff: WorkedOffFigures[] = [];
  for (const tasks of lengths)
    workedOff.push({ tasks, taskMs: await cpuOfTask(tasks, join(directory, `${tasks} queued`)) });
  return { among, workedOff };
}

async function figuresAmong(agents: number, directory: string): Promise<Omit<AmongFigures, "idlePercent">> {
  await finish(agents, directory);
  const desk = new Desk(directory);
  const began = performance.now();
  await desk.claim();
  const buildMs = performance.now() - began;
  const figures = { pollMs: await typical(() => desk.claim()), pageMs: await typical(() => desk.page()) };
  const workers: number[] = [];
  const claims: number[] = [];
  for (let n = 0; n < repetitions; n++) {
    await desk.enqueue(1);
    claims.push(await cpuTimeOf(() => desk.claim()));
    workers.push(await cpuTimeOf(() => desk.work()));
  }
  return { agents, ...figures, claimMs: median(claims), workerMs: median(workers), buildMs };
}

async function cpuOfTask(length: number, directory: string): Promise<number> {
  const desk = new Desk(directory);
  await desk.enqueue(length);
  await desk.claim();
  return (await cpuTimeOf(() => desk.work())) / length;
}

async function finish(count: number, directory: string): Promise<void> {
  const { log } = new FilePersistenceStorageProvider({ directory, fileSystem: unsynced });
  const at = "2026-01-01T00:00:00.000Z";
  for (let n = 0; n < count; n++) {
    const agentId = `finished ${String(n).padStart(5, "0")}`;
    const owned = await log.open(agentId, { host: "bench", processId: 1, nonce: agentId });
    const status = { status: "completed", order: `${at} ${agentId}`, requestIds: [], createdAt: at, updatedAt: at };
    await owned.append({ id: "1-1", records: [], summary: { agentId, position: 0, data: {}, ...status } }, 0);
    await owned.release();
  }
}

const nobody: PromptExecutor = {
  execute: () => Promise.reject(new Error("No model is asked.")),
};

/** One queue. Each call is made as a process does that has just begun. */
class Desk {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  async enqueue(count: number): Promise<void> {
    const tasks = new TaskManager({ storage: this.#storage(unsynced) });
    for (let n = 0; n < count; n++) await tasks.create({ taskName: "echo", inputRequest: n });
  }

  async claim(): Promise<void> {
    for await (const _task of new TaskManager({ storage: this.#storage() }).claimable()) return;
  }

  async page(): Promise<void> {
    for await (const _summary of this.#storage().log.list({ limit: 10 }));
  }

  work(): Promise<void> {
    return this.#worker().run();
  }

  async idle(): Promise<void> {
    await this.#worker().run({ pollMs: 1_000, signal: AbortSignal.timeout(idleMs) });
  }

  #worker(): TaskWorker {
    const storage = this.#storage(unsynced);
    const echo = strategy<number, number>("echo", (g) => g.edge(g.start, g.finish));
    const agents = new AIAgent({ promptExecutor: nobody, llmModel: "none", strategy: echo }).install(Persistence, {
      storage,
    });
    return new TaskWorker({ tasks: new TaskManager({ storage }), agents });
  }

  #storage(fileSystem: FileSystem = nodeFileSystem): FilePersistenceStorageProvider {
    return new FilePersistenceStorageProvider({ directory: this.#directory, fileSystem });
  }
}

async function typical(action: () => Promise<void>): Promise<number> {
  const times: number[] = [];
  for (let n = 0; n < repetitions; n++) times.push(await cpuTimeOf(action));
  return median(times);
}
