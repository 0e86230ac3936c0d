import { StorageNotReadyError } from "../../errors/storageErrors.ts";
import { UnsupportedFormatError } from "../../errors/storedDataErrors.ts";
import type { PostgresClient, PostgresValue } from "./PostgresClient.ts";
import { isMissingTable } from "./postgresFailure.ts";
import { migrationStatement, postgresVersion } from "./postgresMigrations.ts";
import { postgresNames, type PostgresNames } from "./postgresNames.ts";

export interface PostgresUse {
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
      // The snapshot of this statement may be older than the lock. Then another process may have migrated already.
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
