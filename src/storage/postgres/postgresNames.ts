import type { z } from "zod";
import { utf8 } from "../../internal/bytes.ts";
import { customSchema } from "../../internal/options/optionSchemas.ts";

/** A byte that never occurs in UTF-8. Keys that are not agents start with this byte, which sorts after every text. */
const noText = 0xff;

export const behindAll: Uint8Array = Uint8Array.of(noText);

export const defaultSchema = "agent_persistence";

/** The maximum length of a name. Postgres truncates longer names. */
const longestName = 63;

/** A valid schema name. Postgres reserves names that start with `pg_`. */
export const schemaName: z.ZodType<string> = customSchema(
  "the name of a schema: 1 to 63 bytes, without NUL, not beginning with pg_",
  (value) =>
    typeof value === "string" &&
    value !== "" &&
    !/^pg_|\0|\p{Surrogate}/u.test(value) &&
    utf8(value).length <= longestName,
);

/** The quoted names of a schema. Statements do not use `search_path`, because a pooler may share the session. */
export interface PostgresNames {
  readonly schema: string;
  readonly migrations: string;
  readonly agents: string;
  readonly appends: string;
  readonly summaries: string;
  readonly blobs: string;
  readonly append: string;
  readonly streams: string;
  /** Unquoted. Consists of lowercase letters, digits and underscores. */
  readonly streamsChannel: string;
  /** Unquoted. Consists of lowercase letters, digits and underscores. */
  readonly channel: string;
}

export function postgresNames(schema: string): PostgresNames {
  const quoted = quoteName(schema);
  const named = (name: string) => `${quoted}.agent_persistence_${name}`;
  return {
    schema: quoted,
    migrations: named("migrations"),
    agents: named("agents"),
    appends: named("appends"),
    summaries: named("summaries"),
    blobs: named("blobs"),
    append: named("append"),
    streams: named("streams"),
    streamsChannel: `${channelOf(schema)}_s`.slice(-longestName),
    channel: channelOf(schema),
  };
}

export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

export function quoteText(text: string): string {
  return `E'${text.replaceAll(/[\\']/g, "$&$&")}'`;
}

/** Returns the channel of a schema. Similar names may share a channel, which only causes extra wakeups. */
function channelOf(schema: string): string {
  return `agent_persistence_${schema.toLowerCase().replaceAll(/[^a-z0-9]/g, "_")}`.slice(0, longestName);
}

export function stagedId(agentId: string): Uint8Array {
  return Uint8Array.of(noText, ...utf8(agentId));
}

/** Returns a copy backed by a buffer of exactly that size. */
export function ownBytes(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes);
}
