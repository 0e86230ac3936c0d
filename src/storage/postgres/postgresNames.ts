import type { z } from "zod";
import { customSchema } from "../../internal/options/optionSchemas.ts";

/** The schema that the tables are in, where the user names no other. */
export const defaultSchema = "agent_persistence";

/** The longest name that Postgres takes; it cuts longer ones. */
const longestName = 63;

/** A name that a schema can have. Names with `pg_` belong to Postgres. */
export const schemaName: z.ZodType<string> = customSchema(
  "the name of a schema: 1 to 63 bytes, without NUL, not beginning with pg_",
  (value) =>
    typeof value === "string" &&
    value !== "" &&
    !/^pg_|\0|\p{Surrogate}/u.test(value) &&
    new TextEncoder().encode(value).length <= longestName,
);

/** The names of a schema, quoted. Statements never rely on a `search_path`: a pooler may hand it to somebody else. */
export interface PostgresNames {
  readonly schema: string;
  readonly migrations: string;
  readonly agents: string;
  readonly appends: string;
  readonly summaries: string;
  readonly blobs: string;
  /** The function that adds an append. */
  readonly append: string;
  /** Not quoted: lower case letters, digits and underscores. */
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
    channel: channelOf(schema),
  };
}

/** A name as an identifier of SQL, whatever it contains. */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** A text as a literal of SQL, whatever it contains and whatever the session takes a backslash for. */
export function quoteText(text: string): string {
  return `E'${text.replaceAll(/[\\']/g, "$&$&")}'`;
}

/** Schemas with similar names may share a channel: who is woken in vain finds nothing to do. */
function channelOf(schema: string): string {
  return `agent_persistence_${schema.toLowerCase().replaceAll(/[^a-z0-9]/g, "_")}`.slice(0, longestName);
}
