import { DBOS } from "@dbos-inc/dbos-sdk";
import { AIAgent, Persistence, strategy } from "agent-persistence";
import { PostgresPersistenceStorageProvider } from "agent-persistence/postgres";
import { TaskManager, TaskWorker } from "agent-persistence/task";
import { scriptedModel } from "agent-persistence/testing";
import pg from "pg";
import { PostgresServer } from "../../storage/postgres/server/PostgresServer.ts";
import { median } from "../measure/statistics.ts";
import type { Target } from "../targets.ts";

const tasks = 500;
const rounds = 5;
/** Both queues poll at this interval, and both have this number of connections. */
const pollMs = 50;
const connections = 10;

/** Creates tasks with one step each, and works on them. Settles when each of them has finished. */
type Work = (round: number) => Promise<void>;

interface Cost {
  readonly cpuMs: number;
  readonly walBytes: number;
  readonly wallMs: number;
}

/** Tasks of one step on one Postgres server, which syncs each commit. The rounds of both queues alternate. */
export async function queuesBesideDbos(): Promise<Target[]> {
  const server = await PostgresServer.start([]);
  const pool = new pg.Pool({ connectionString: server.url, max: connections });
  try {
    const queues = [await ownQueue(pool), await dbosQueue(server.url)] as const;
    const [ours, theirs]: [Cost[], Cost[]] = [[], []];
    for (let round = 0; round <= rounds; round++) {
      const costs = [await costOf(pool, () => queues[0](round)), await costOf(pool, () => queues[1](round))] as const;
      // The first round compiles the code.
      if (round === 0) continue;
      ours.push(costs[0]);
      theirs.push(costs[1]);
    }
    await DBOS.shutdown();
    const of = (figure: keyof Cost) =>
      median(ours.map((cost) => cost[figure])) / median(theirs.map((cost) => cost[figure]));
    const name = "a queued task of one step on Postgres ÷ DBOS:";
    return [
      { name: `${name} CPU`, found: of("cpuMs"), atMost: 1, unit: "×" },
      { name: `${name} bytes of the write-ahead log`, found: of("walBytes"), atMost: 1.5, unit: "×" },
      { name: `${name} time`, found: of("wallMs"), atMost: 0.9, unit: "×" },
    ];
  } finally {
    await pool.end();
    await server.stop();
  }
}

async function ownQueue(client: pg.Pool): Promise<Work> {
  const storage = new PostgresPersistenceStorageProvider({ client });
  const manager = new TaskManager({ storage });
  const echo = strategy<number, number>("echo", (g) => {
    const step = g.node("step", (input: number) => input + 1);
    g.edge(g.start, step);
    g.edge(step, g.finish);
  });
  const agents = new AIAgent({ promptExecutor: scriptedModel([]), llmModel: "none", strategy: echo }).install(
    Persistence,
    { storage },
  );
  return async () => {
    for (let n = 0; n < tasks; n++) await manager.create({ taskName: "echo", inputRequest: n });
    let finished = 0;
    const onOutcome = () => void finished++;
    await new TaskWorker({ tasks: manager, agents, concurrency: connections, onOutcome }).run();
    if (finished !== tasks) throw new Error(`${finished} of ${tasks} tasks finished.`);
  };
}

async function dbosQueue(systemDatabaseUrl: string): Promise<Work> {
  const options = { systemDatabaseUrl, systemDatabasePoolSize: connections, logLevel: "error" };
  DBOS.setConfig({ name: "bench", ...options });
  const echo = DBOS.registerWorkflow((input: number) => DBOS.runStep(() => Promise.resolve(input + 1)), {
    name: "echo",
  });
  await DBOS.launch();
  await DBOS.registerQueue("echo", { minPollingIntervalMs: pollMs });
  return async () => {
    const handles = [];
    for (let n = 0; n < tasks; n++) handles.push(await DBOS.startWorkflow(echo, { queueName: "echo" })(n));
    await Promise.all(handles.map((handle) => handle.getResult()));
  };
}

async function costOf(pool: pg.Pool, work: () => Promise<void>): Promise<Cost> {
  const [before, usage, start] = [await position(pool), process.cpuUsage(), performance.now()];
  await work();
  const [wallMs, { user, system }] = [performance.now() - start, process.cpuUsage(usage)];
  return { cpuMs: (user + system) / 1000, walBytes: (await position(pool)) - before, wallMs };
}

/** The number of bytes that the server wrote to its write-ahead log. */
async function position(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query<{ readonly bytes: string }>(
    "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') AS bytes",
  );
  return Number(rows[0]?.bytes);
}
