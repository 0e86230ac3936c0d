import { connect } from "node:net";
import { text } from "node:stream/consumers";
import type { PostgresClient } from "agent-persistence/postgres";
import pg from "pg";

let database: Promise<pg.Pool> | undefined;
let schemas = 0;

/** Connections of `pg` to the server of this run, for all tests of one worker. */
export function pool(): Promise<pg.Pool> {
  database ??= databaseUrl().then(poolOf);
  return database;
}

/** Where the server of this run is. */
export async function databaseUrl(): Promise<string> {
  const { DATABASE_URL: given, POSTGRES_DOOR: door } = process.env;
  const url = given ?? (await text(connect(Number(door), "127.0.0.1")));
  if (!URL.canParse(url)) throw new Error(`there is no Postgres: ${url}`);
  return url;
}

export function poolOf(connectionString: string, max = 5): pg.Pool {
  const made = new pg.Pool({ connectionString, max, allowExitOnIdle: true });
  // A connection that breaks while nobody uses it is none of a test's business.
  made.on("error", () => {});
  return made;
}

/** The name of a schema that no other test has. Where the database stays, it is dropped after the run. */
export function newSchema(): string {
  return `${process.env["POSTGRES_SCHEMAS"]}_${process.pid}_${Date.now().toString(36)}_${++schemas}`;
}

/** A client whose statements can be watched, and whose next answer can get lost. */
export class WatchedClient implements PostgresClient {
  losesAnswer = false;
  /** What happens before the next answer is given. */
  afterNext: (() => Promise<void>) | undefined;
  /** What was asked for. */
  readonly texts: string[] = [];
  readonly #client: PostgresClient;
  readonly #running = new Set<PromiseLike<unknown>>();

  constructor(client: PostgresClient) {
    this.#client = client;
  }

  async query(...[text, values]: Parameters<PostgresClient["query"]>): Promise<{ readonly rows: readonly object[] }> {
    this.texts.push(text);
    const answer = Promise.resolve(this.#client.query(text, values));
    this.#running.add(answer);
    const result = await answer.finally(() => this.#running.delete(answer));
    const then = this.afterNext;
    this.afterNext = undefined;
    await then?.();
    if (!this.losesAnswer || !/\b(INSERT|UPDATE|DELETE)\b/.test(text)) return result;
    this.losesAnswer = false;
    throw new Error("Connection terminated unexpectedly");
  }

  /** Resolves when all that was asked for has been answered. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running);
  }
}
