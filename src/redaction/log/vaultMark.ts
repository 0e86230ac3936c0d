import { recordKinds } from "../../checkpoint/format/validateRecord.ts";
import type { LogRecord } from "../../checkpoint/records/Entry.ts";

type Marked = LogRecord & { readonly vault?: unknown; readonly run?: { readonly vault?: unknown } };

/** Records of these kinds are also in other logs, or repeat marked records. */
const unmarkedKinds: ReadonlySet<string> = new Set(["note", "pruned", "snapshot"]);
const agentKinds: ReadonlySet<string> = new Set(recordKinds().filter((kind) => !unmarkedKinds.has(kind)));

export function isOfAgent({ kind }: LogRecord): boolean {
  return agentKinds.has(kind);
}

/** Returns whether readers of a record know that the agent has a vault. */
export function hasMark(record: LogRecord): boolean {
  const { kind, vault, run } = record as Marked;
  return (agentKinds.has(kind) && vault !== undefined) || (kind === "snapshot" && run?.vault !== undefined);
}

/** Returns a restored record without its mark. A run record keeps its mark, which is empty. */
export function withoutMark(record: LogRecord): LogRecord {
  const { vault, ...others } = record as Marked;
  const isOfKind = record.kind === "event" || (record.kind !== "run" && agentKinds.has(record.kind));
  return vault === "" && isOfKind ? others : record;
}

/** Kinds of records that repeat earlier records. They also contain the secrets of the earlier records. */
const restatingKinds: ReadonlySet<unknown> = new Set(["snapshot", "pruned", "shape"]);

type Fields = Readonly<Record<string, unknown>>;

export function restatesLog({ kind }: { readonly kind?: unknown }): boolean {
  return restatingKinds.has(kind);
}

/** Returns the secrets that a restored record has for later readers. */
export function secretsIn(record: Fields): readonly unknown[] {
  const { secrets } = record;
  return restatesLog(record) && Array.isArray(secrets) ? secrets : [];
}

/** Returns a restored record without its added secrets. */
export function withoutSecrets(record: LogRecord): LogRecord {
  const { secrets, ...others } = record as LogRecord & { readonly secrets?: unknown };
  return secretsIn({ ...others, secrets }).length > 0 ? others : record;
}
