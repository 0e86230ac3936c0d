import { z } from "zod";
import { utf8 } from "../../internal/bytes.ts";
import { checkSchema, strictOptions } from "../../internal/options/checkSchema.ts";
import { functionSchema, objectWithMethods } from "../../internal/options/optionSchemas.ts";
import { reasonOf } from "../../internal/reasonOf.ts";
import { nodeSha256 } from "../../internal/sha256/nodeSha256.ts";
import { warn } from "../../internal/warn.ts";
import {
  PostgresConnection,
  postgresAdvice,
  postgresFailure,
  type PostgresClient,
  type PostgresListen,
} from "../../storage/postgres/PostgresConnection.ts";
import { defaultSchema, schemaName } from "../../storage/postgres/postgresNames.ts";
import { askTable } from "../../storage/table/askTable.ts";
import {
  type StreamEntry,
  lastNumber,
  type StreamPlace,
  type StreamRow,
  type StreamStore,
  visibleRows,
} from "./StreamStore.ts";

/** Options of {@link PostgresStreamStore}. */
export interface PostgresStreamStoreOptions {
  /** The client of `PostgresPersistenceStorageProvider`, or another one. The store does not close it. */
  readonly client: PostgresClient;
  /** The schema of the tables. Defaults to `agent_persistence`. */
  readonly schema?: string | undefined;
  /** Whether the first call creates missing tables and upgrades older ones. Defaults to `true`. */
  readonly migrate?: boolean | undefined;
  /** Wakes the readers of a stream in this process when a chunk is stored. Without `listen`, readers poll. */
  readonly listen?: PostgresListen | undefined;
}

const optionsSchema = strictOptions(() => ({
  client: objectWithMethods<PostgresClient>("query"),
  schema: schemaName.optional(),
  migrate: z.boolean().optional(),
  listen: functionSchema<PostgresListen>().optional(),
}));

const database = { name: "Postgres", reasonOf: postgresFailure, adviceOn: postgresAdvice };

/**
 * Stores streams in the table `agent_persistence_streams` of a Postgres database, for any number of processes and
 * machines.
 *
 * @throws InvalidInputError if an option is unknown or invalid.
 */
export class PostgresStreamStore implements StreamStore {
  /** `undefined` without `listen`. */
  readonly watch?: NonNullable<StreamStore["watch"]>;
  readonly #connection: PostgresConnection;
  readonly #notify: string;

  constructor(options: PostgresStreamStoreOptions) {
    checkSchema(optionsSchema, options, "options of the Postgres stream store");
    const { client, schema = defaultSchema, migrate = true, listen } = options;
    this.#connection = new PostgresConnection({ client, schema, migrate, preparedStatements: false });
    const { streamsChannel: channel } = this.#connection.names;
    this.#notify = listen ? `, told AS (SELECT pg_notify('${channel}', $6::text) FROM stored)` : "";
    if (listen) this.watch = watchOn(listen, channel);
  }

  async append(streamId: string, entry: StreamEntry): Promise<void> {
    const sql = `WITH stored AS (
        INSERT INTO ${this.#connection.names.streams} (id, writer, first, last, chunks)
        VALUES ($1::bytea, $2::bigint, $3::bigint, $4::bigint, $5::text)
        ON CONFLICT DO NOTHING RETURNING 1
      )${this.#notify} SELECT * FROM ${this.#notify === "" ? "stored" : "told"}`;
    const values = [utf8(streamId), entry.writer, entry.first, lastNumber(entry), JSON.stringify(entry.chunks)];
    const told = this.watch ? [nodeSha256.hex(streamId)] : [];
    await this.#ask("append", () => this.#connection.rows(sql, ...values, ...told));
  }

  async read(streamId: string, after: StreamPlace = { writer: 0, number: 0 }): Promise<readonly StreamEntry[]> {
    const { streams } = this.#connection.names;
    const sql = `SELECT writer, first, chunks FROM ${streams}
      WHERE id = $1::bytea AND writer = (SELECT max(writer) FROM ${streams} WHERE id = $1::bytea)
        AND (writer > $2::bigint OR last > $3::bigint)`;
    const rows = await this.#ask("read", () =>
      this.#connection.rows<StreamRow>(sql, utf8(streamId), after.writer, after.number),
    );
    return visibleRows(rows, after);
  }

  async remove(streamId: string, upTo?: StreamPlace): Promise<void> {
    const all = `DELETE FROM ${this.#connection.names.streams} WHERE id = $1::bytea`;
    const sql = upTo ? `${all} AND (writer < $2::bigint OR (writer = $2::bigint AND last <= $3::bigint))` : all;
    const values = upTo ? [upTo.writer, upTo.number] : [];
    await this.#ask("remove", () => this.#connection.rows(sql, utf8(streamId), ...values));
  }

  #ask<Result>(operation: string, call: () => Promise<Result>): Promise<Result> {
    return askTable(database, `stream ${operation}`, undefined, call);
  }
}

/** Returns a `watch` that shares one subscription of the process and wakes only the readers of a changed stream. */
function watchOn(listen: PostgresListen, channel: string): NonNullable<StreamStore["watch"]> {
  const watchers = new Set<{ readonly digest: string; readonly onChange: () => void }>();
  const wake: Parameters<PostgresListen>[1] = (notification) => {
    const told = typeof notification === "string" ? notification : notification?.payload;
    // Without a payload, any stream may have changed.
    for (const { digest, onChange } of watchers) if (!told || told === digest) onChange();
  };
  let subscription: Promise<{ close(): unknown } | undefined> | undefined;
  const subscribe = () => {
    const opened: NonNullable<typeof subscription> = Promise.resolve()
      .then(() => listen(channel, wake, () => wake()))
      .catch((error: unknown) => {
        warn("streams_not_watched", `Readers of streams poll, because listen failed: ${reasonOf(error)}`);
        // The next reader tries again.
        if (subscription === opened) subscription = undefined;
        return undefined;
      });
    return opened;
  };
  return (streamId, onChange) => {
    const watcher = { digest: nodeSha256.hex(streamId), onChange };
    watchers.add(watcher);
    subscription ??= subscribe();
    return () => {
      watchers.delete(watcher);
      if (watchers.size > 0) return;
      const ended = subscription;
      subscription = undefined;
      // A broken connection needs no close.
      ended?.then((open) => open?.close()).catch(() => {});
    };
  };
}
