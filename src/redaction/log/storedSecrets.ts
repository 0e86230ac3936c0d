import type { LogRecord } from "../../checkpoint/records/Entry.ts";

/** Kinds of records that restate a log. They also have the secrets of the records before them. */
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

/** Returns a restored record as it was before its secrets were added. */
export function withoutSecrets(record: LogRecord): LogRecord {
  const { secrets, ...others } = record as LogRecord & { readonly secrets?: unknown };
  return secretsIn({ ...others, secrets }).length > 0 ? others : record;
}
