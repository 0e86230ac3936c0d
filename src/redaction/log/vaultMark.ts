import type { LogRecord } from "../../checkpoint/records/Entry.ts";
import { recordKinds } from "../../checkpoint/format/validateRecord.ts";

type Fields = LogRecord & { readonly vault?: unknown; readonly run?: { readonly vault?: unknown } };

/** Records of these kinds are also in other logs, or restate marked records. */
const unmarkedKinds: ReadonlySet<string> = new Set(["note", "pruned", "snapshot"]);
const agentKinds: ReadonlySet<string> = new Set(recordKinds().filter((kind) => !unmarkedKinds.has(kind)));

export function isOfAgent({ kind }: LogRecord): boolean {
  return agentKinds.has(kind);
}

/** Returns whether readers of a record know that the agent has a vault. */
export function hasMark(record: LogRecord): boolean {
  const { kind, vault, run } = record as Fields;
  return (agentKinds.has(kind) && vault !== undefined) || (kind === "snapshot" && run?.vault !== undefined);
}

/** Returns a restored record without its mark. Runs keep theirs, which is empty. */
export function withoutMark(record: LogRecord): LogRecord {
  const { vault, ...others } = record as Fields;
  const isOfKind = record.kind === "event" || (record.kind !== "run" && agentKinds.has(record.kind));
  return vault === "" && isOfKind ? others : record;
}
