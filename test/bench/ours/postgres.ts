import { PostgresPersistenceStorageProvider } from "agent-persistence/postgres";
import { processOwner } from "agent-persistence/storage";
import { TaskManager } from "agent-persistence/task";
import { randomBytes } from "node:crypto";
import pg from "pg";
import { WatchedClient } from "../../storage/postgres/database.ts";
import { fillQueue } from "../../storage/postgres/fillQueue.ts";
import { PostgresServer } from "../../storage/postgres/server/PostgresServer.ts";
import { median } from "../measure/statistics.ts";
import { StepTimes } from "../measure/StepTimes.ts";
import { loopingAgent } from "./loopingAgent.ts";

/** What Postgres showed beside a table of the same server and driver that is given the bytes alone. */
export interface PostgresFigures {
  /** Medians of all. */
  readonly appendMs: number;
  readonly appendFloorMs: number;
  readonly saveMs: number;
  readonly saveFloorMs: number;
  /** Bytes of all tables, with their indexes ÷ bytes of the floor's. */
  readonly appendBytes: number;
  readonly saveBytes: number;
  /** Statements for the newest checkpoint, with its whole history. */
  readonly loadTrips: number;
  /** Statements for a look for tasks, among 2,000 that run or wait. */
  readonly pollTrips: number;
}

type AppendFigures = Pick<PostgresFigures, "appendMs" | "appendFloorMs" | "appendBytes">;
type SaveFigures = Pick<PostgresFigures, "saveMs" | "saveFloorMs" | "saveBytes" | "loadTrips">;

/** On a server of its own, with the settings that it has by default. */
export async function postgres(steps: number): Promise<PostgresFigures> {
  const server = await PostgresServer.start([]);
  const pool = new pg.Pool({ connectionString: server.url, max: 2 });
  try {
    // What runs first is thrown away: code is compiled for the objects it has met.
    await appends(pool, 500, "warm_up");
    await saves(pool, 500, "warm_up_agent");
    const appended = await appends(pool, steps, "appends");
    return { ...appended, ...(await saves(pool, steps, "agent")), pollTrips: await pollTrips(pool, "queue") };
  } finally {
    await pool.end();
    await server.stop();
  }
}

/** Appends of random text, which nothing compresses. */
async function appends(pool: pg.Pool, steps: number, schema: string): Promise<AppendFigures> {
  const floor = await PostgresFloor.in(pool, `${schema}_floor`);
  const { log } = new PostgresPersistenceStorageProvider({ client: pool, schema });
  const owned = await log.open("bench", processOwner());
  const times: number[] = [];
  for (let step = 0; step < steps; step++) {
    const content = randomBytes(1_536).toString("base64");
    await floor.write(content);
    const append = {
      id: `${owned.generation}-${owned.position + 1}`,
      records: [{ kind: "message", lane: 1, message: { role: "assistant", content } }],
    };
    const start = performance.now();
    await owned.append(append, owned.position);
    times.push(performance.now() - start);
  }
  await log.close();
  const appendBytes = (await bytesIn(pool, schema)) / (await bytesIn(pool, `${schema}_floor`));
  return { appendMs: median(times), appendFloorMs: median(floor.times), appendBytes };
}

/** Whole saves of an agent, a checkpoint for each message. */
async function saves(pool: pg.Pool, steps: number, schema: string): Promise<SaveFigures> {
  const floor = await PostgresFloor.in(pool, `${schema}_floor`);
  const client = new WatchedClient(pool);
  const storage = new PostgresPersistenceStorageProvider({ client, schema });
  const times = new StepTimes();
  const agent = loopingAgent(storage, { steps, finishes: true, times, floor });
  times.leave();
  await agent.run(1, { agentId: "bench" });
  times.enter();
  const before = client.texts.length;
  await storage.getLatestCheckpoint("bench");
  const loadTrips = client.texts.length - before;
  await storage.log.close();
  const saveBytes = (await bytesIn(pool, schema)) / (await bytesIn(pool, `${schema}_floor`));
  return { saveMs: median(times.saves.slice(1)), saveFloorMs: median(floor.times), saveBytes, loadTrips };
}

/** Half of the tasks run, and half of them wait. */
async function pollTrips(pool: pg.Pool, schema: string): Promise<number> {
  const client = new WatchedClient(pool);
  const storage = new PostgresPersistenceStorageProvider({ client, schema });
  await storage.log.owner("nobody");
  await fillQueue(pool, schema, { running: 1_000, waiting: 1_000 });
  const before = client.texts.length;
  for await (const { taskId } of new TaskManager({ storage }).claimable()) throw new Error(`${taskId} is claimable`);
  await storage.log.close();
  return client.texts.length - before;
}

/** The least that durability costs in Postgres: one INSERT of the bytes, in a commit of its own. */
class PostgresFloor {
  readonly times: number[] = [];
  readonly #pool: pg.Pool;
  readonly #sql: string;

  private constructor(pool: pg.Pool, schema: string) {
    this.#pool = pool;
    this.#sql = `INSERT INTO ${schema}.floor (step, bytes) VALUES ($1, $2)`;
  }

  static async in(pool: pg.Pool, schema: string): Promise<PostgresFloor> {
    await pool.query(`CREATE SCHEMA ${schema}`);
    await pool.query(`CREATE TABLE ${schema}.floor (step bigint PRIMARY KEY, bytes bytea NOT NULL)`);
    return new PostgresFloor(pool, schema);
  }

  async write(text: string): Promise<void> {
    const start = performance.now();
    await this.#pool.query(this.#sql, [this.times.length + 1, Buffer.from(text)]);
    this.times.push(performance.now() - start);
  }
}

async function bytesIn(pool: pg.Pool, schema: string): Promise<number> {
  const sql =
    "SELECT sum(pg_total_relation_size(c.oid)) AS bytes FROM pg_class AS c WHERE c.relkind = 'r' AND c.relnamespace = $1::regnamespace";
  const { rows } = await pool.query<{ readonly bytes: string }>(sql, [schema]);
  return Number(rows[0]?.bytes);
}
