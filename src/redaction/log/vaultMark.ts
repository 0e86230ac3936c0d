import { recordKinds } from "../../checkpoint/format/validateRecord.ts";
import type { LogRecord } from "../../checkpoint/records/Entry.ts";

type Marked = LogRecord & { readonly vault?: unknown; readonly run?: { readonly vault?: unknown } };

/** Kinds of records without a mark, because other logs contain them too, or because they repeat marked records. */
const unmarkedKinds: ReadonlySet<string> = new Set(["note", "pruned", "snapshot"]);
const agentKinds: ReadonlySet<string> = new Set(recordKinds().filter((kind) => !unmarkedKinds.has(kind)));

export function isOfAgent({ kind }: LogRecord): boolean {
  return agentKinds.has(kind);
}

/** Returns whether a record shows that the agent has a vault. */
export function hasMark(record: LogRecord): boolean {
  const { kind, vault, run } = record as Marked;
  return (agentKinds.has(kind) && vault !== undefined) || (kind === "snapshot" && run?.vault !== undefined);
}

/** Returns a record without its decrypted mark, which is empty. A run record keeps its mark. */
export function withoutMark(record: LogRecord): LogRecord {
  const { vault, ...others } = record as Marked;
  const isOfKind = record.kind === "event" || (record.kind !== "run" && agentKinds.has(record.kind));
  return vault === "" && isOfKind ? others : record;
}

/** Kinds of records that repeat earlier records and also contain the secrets of these records. */
const restatingKinds: ReadonlySet<unknown> = new Set(["snapshot", "pruned", "shape"]);

type Fields = Readonly<Record<string, unknown>>;

export function restatesLog({ kind }: { readonly kind?: unknown }): boolean {
  return restatingKinds.has(kind);
}

/** Returns the secrets of earlier records in a decrypted record. */
export function secretsIn(record: Fields): readonly unknown[] {
  const { secrets } = record;
  return restatesLog(record) && Array.isArray(secrets) ? secrets : [];
}

/** Returns a decrypted record without the secrets of earlier records. */
export function withoutSecrets(record: LogRecord): LogRecord {
  const { secrets, ...others } = record as LogRecord & { readonly secrets?: unknown };
  return secretsIn({ ...others, secrets }).length > 0 ? others : record;
}
