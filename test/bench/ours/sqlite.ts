import Database from "libsql";
import { SqlitePersistenceStorageProvider } from "agent-persistence/sqlite";
import { processOwner } from "agent-persistence/storage";
import { randomBytes } from "node:crypto";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { median, sum } from "../measure/statistics.ts";
import { StepTimes } from "../measure/StepTimes.ts";
import { loopingAgent } from "./loopingAgent.ts";

/** What SQLite showed beside a table of the same engine, driver and settings that is given the bytes alone. */
export interface SqliteFigures {
  /** Medians of all. */
  readonly appendMs: number;
  readonly appendFloorMs: number;
  readonly saveMs: number;
  readonly saveFloorMs: number;
  /** Of all saves, the first included, which opens the agent. */
  readonly saveWallMs: number;
  readonly saveFloorWallMs: number;
  /** Bytes of the file ÷ bytes of the floor's file. */
  readonly appendBytes: number;
  readonly saveBytes: number;
}

export async function sqlite(steps: number, directory: string): Promise<SqliteFigures> {
  // What runs first is thrown away: code is compiled for the objects it has met.
  for (let round = 0; round < 3; round++) {
    await appends(1_000, join(directory, `warm-up-${round}`));
    await saves(1_000, join(directory, `warm-up-agent-${round}`));
  }
  return { ...(await appends(steps, join(directory, "appends"))), ...(await saves(steps, join(directory, "agent"))) };
}

/** Appends of random text, which nothing compresses. */
async function appends(
  steps: number,
  path: string,
): Promise<Pick<SqliteFigures, "appendMs" | "appendFloorMs" | "appendBytes">> {
  const database = new Database(`${path}.db`);
  const floor = new SqliteFloor(`${path}-floor.db`);
  const { log } = new SqlitePersistenceStorageProvider({ database });
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
  const appendBytes = (await fileBytes(database, `${path}.db`)) / (await floor.bytes());
  return { appendMs: median(times), appendFloorMs: median(floor.times), appendBytes };
}

/** Whole saves of an agent, a checkpoint for each message. */
async function saves(
  steps: number,
  path: string,
): Promise<Omit<SqliteFigures, "appendMs" | "appendFloorMs" | "appendBytes">> {
  const database = new Database(`${path}.db`);
  const floor = new SqliteFloor(`${path}-floor.db`);
  const storage = new SqlitePersistenceStorageProvider({ database });
  const times = new StepTimes();
  const agent = loopingAgent(storage, { steps, finishes: true, times, floor });
  times.leave();
  await agent.run(1, { agentId: "bench" });
  times.enter();
  await storage.log.close();
  const saveBytes = (await fileBytes(database, `${path}.db`)) / (await floor.bytes());
  return {
    saveMs: median(times.saves.slice(1)),
    saveFloorMs: median(floor.times),
    saveWallMs: sum(times.saves),
    saveFloorWallMs: sum(floor.times),
    saveBytes,
  };
}

/** The least that durability costs in SQLite: one INSERT of the bytes, in a commit of its own. */
class SqliteFloor {
  readonly times: number[] = [];
  readonly #path: string;
  readonly #database: InstanceType<typeof Database>;
  readonly #insert: (text: string) => unknown;

  constructor(path: string) {
    this.#path = path;
    this.#database = new Database(path);
    this.#database.exec("PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
    this.#database.exec("CREATE TABLE floor (step INTEGER PRIMARY KEY, bytes BLOB NOT NULL)");
    const insert = this.#database.prepare("INSERT INTO floor (step, bytes) VALUES (?, ?)");
    this.#insert = (text) => insert.run(this.times.length + 1, Buffer.from(text));
  }

  async write(text: string): Promise<void> {
    const start = performance.now();
    this.#insert(text);
    this.times.push(performance.now() - start);
  }

  async bytes(): Promise<number> {
    return fileBytes(this.#database, this.#path);
  }
}

/** The bytes of a database, once its log has been moved into it. */
async function fileBytes(database: InstanceType<typeof Database>, path: string): Promise<number> {
  database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").all();
  const { size } = await stat(path);
  database.close();
  return size;
}
