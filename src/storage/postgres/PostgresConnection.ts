import { StorageNotReadyError, type StorageFailure } from "../../errors/storageErrors.ts";
import { UnsupportedFormatError } from "../../errors/storedDataErrors.ts";
import { migrationStatement, postgresVersion } from "./postgresMigrations.ts";
import { postgresNames, type PostgresNames } from "./postgresNames.ts";

interface PostgresUse {
  readonly client: PostgresClient;
  readonly schema: string;
  readonly migrate: boolean;
  readonly preparedStatements: boolean;
}

interface NamingClient {
  query(statement: {
    readonly name: string;
    readonly text: string;
    readonly values: readonly PostgresValue[];
  }): ReturnType<PostgresClient["query"]>;
}

/** Maps each statement text to one name in this process, because a connection rejects two texts with the same name. */
const statementNames = new Map<string, string>();

/** Executes statements. Prepares the tables before the first statement. */
export class PostgresConnection {
  readonly names: PostgresNames;
  readonly #use: PostgresUse;
  #ready: Promise<void> | undefined;

  constructor(use: PostgresUse) {
    this.#use = use;
    this.names = postgresNames(use.schema);
  }

  async rows<Row>(text: string, ...values: PostgresValue[]): Promise<readonly Row[]> {
    this.#ready ??= this.#prepare().catch((error: unknown) => {
      this.#ready = undefined;
      throw error;
    });
    await this.#ready;
    return this.#query<Row>(text, values);
  }

  async changes(text: string, ...values: PostgresValue[]): Promise<boolean> {
    return (await this.rows(text, ...values)).length > 0;
  }

  async migrate(): Promise<void> {
    try {
      await this.#use.client.query(migrationStatement(this.#use.schema));
    } catch (error) {
      // Another process possibly migrated the schema while this statement waited for the lock.
      if ((await this.#version()) < postgresVersion) throw error;
    }
  }

  async #prepare(): Promise<void> {
    const { schema, migrate } = this.#use;
    const found = await this.#version();
    const subject = `The schema ${JSON.stringify(schema)} in Postgres`;
    if (found > postgresVersion) throw new UnsupportedFormatError(subject, found, postgresVersion);
    if (found === postgresVersion) return;
    if (!migrate) throw new StorageNotReadyError(subject, found, postgresVersion);
    await this.migrate();
  }

  async #version(): Promise<number> {
    const sql = `SELECT coalesce(max(version), 0) AS version FROM ${this.names.migrations}`;
    try {
      const [row] = await this.#query<{ readonly version: unknown }>(sql, []);
      return Number(row?.version);
    } catch (error) {
      if (isMissingTable(error)) return 0;
      throw error;
    }
  }

  async #query<Row>(text: string, values: PostgresValue[]): Promise<readonly Row[]> {
    const { client, preparedStatements } = this.#use;
    const { rows } = await (preparedStatements
      ? (client as unknown as NamingClient).query({ name: nameOf(text), text, values })
      : client.query(text, values));
    return rows as readonly Row[];
  }
}

function nameOf(text: string): string {
  const name = statementNames.get(text) ?? `agent_persistence_${statementNames.size + 1}`;
  statementNames.set(text, name);
  return name;
}

/** Maps SQLSTATE codes or their classes to failures. The longest match wins. */
const reasons: Readonly<Record<string, StorageFailure>> = {
  // The connection failed.
  "08": "unavailable",
  // A conflict with another transaction.
  "40": "unavailable",
  // Too many connections, or out of memory.
  "53": "unavailable",
  "53100": "full",
  // A lock timeout, or an object in use.
  "55": "unavailable",
  // The server is starting or shutting down, or the statement was canceled.
  "57": "unavailable",
  // A server that became read-only in a failover. A retry reaches the new server.
  "25006": "unavailable",
  // A failed login, or missing privileges on a table.
  "28": "permission",
  "42501": "permission",
  "58": "io",
};

const grants =
  "Grant the role of the client USAGE on the schema, SELECT, INSERT, UPDATE and DELETE on its tables, and EXECUTE on its functions. To create them, it also needs CREATE.";
const noTables =
  "The tables are missing or have another version. Run migrate() of the storage, or the statements of postgresMigrations(), with a role that may create tables.";
const noNames =
  "A pooler in transaction mode does not support named statements. Pass preparedStatements: false, and prepare: false to postgres.js.";

/** Advice for server errors that need more than the advice of their category. */
const advice: Readonly<Record<string, string>> = {
  "42501": grants,
  "42P01": noTables,
  "3F000": noTables,
  "42703": noTables,
  "42883": noTables,
  // A statement with this name is missing or different.
  "26000": noNames,
  "42P05": noNames,
};

const noClient = "The client was ended. Pass a connected client, and end it after the last use of the storage.";
/** Messages of `pg` for a pool or client after `end()`. A retry cannot help. */
const endedClient = /after calling end on the pool|Client was closed and is not queryable/;

const sqlState = /^[0-9A-Z]{5}$/;

/** Classifies an error of a driver. An error without SQLSTATE is a network or pool error. */
export function postgresFailure(error: unknown): StorageFailure {
  const code = sqlStateOf(error);
  if (isEnded(error)) return "io";
  return code === undefined ? "unavailable" : (reasons[code] ?? reasons[code.slice(0, 2)] ?? "io");
}

export function postgresAdvice(error: unknown): string | undefined {
  return isEnded(error) ? noClient : advice[sqlStateOf(error) ?? ""];
}

function isEnded(error: unknown): boolean {
  return error instanceof Error && endedClient.test(error.message);
}

function isMissingTable(error: unknown): boolean {
  return ["42P01", "3F000"].includes(sqlStateOf(error) ?? "");
}

function sqlStateOf(error: unknown): string | undefined {
  const { code } = Object(error) as { readonly code?: unknown };
  // System error codes such as EPIPE may also have five letters.
  return typeof code === "string" && sqlState.test(code) && /\d/.test(code) ? code : undefined;
}

/**
 * Executes statements. A `Pool` of `pg` or Neon and PGlite implement this interface, and postgres.js needs a wrapper
 * function. Statements may use different connections, because they share no session state.
 */
export interface PostgresClient {
  /** Executes one statement. Values are strings, numbers, bytes and null. May be called without values. */
  query(text: string, values?: PostgresValue[]): PromiseLike<{ readonly rows: readonly object[] }>;
}

/** A value of a statement. */
export type PostgresValue = string | number | Uint8Array | null;

/**
 * Listens to a channel with `LISTEN` on a dedicated connection. A pooler in transaction mode does not support this.
 *
 * @param onWake - called for each notification, with its payload or with the notification of `pg`.
 * @param onReconnect - called after a lost connection is restored, because notifications may be lost.
 */
export type PostgresListen = (
  channel: string,
  onWake: (notification?: string | { readonly payload?: string | undefined }) => void,
  onReconnect: () => void,
) => PromiseLike<{ close(): unknown }>;
