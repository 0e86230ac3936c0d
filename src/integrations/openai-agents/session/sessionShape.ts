import { count, listOf, optional, pair, text } from "../../../checkpoint/format/fieldTests.ts";
import type { ShapeDefinition } from "../../../journal/shape/ShapeDefinition.ts";
import type { SessionRecord } from "./sessionRecords.ts";
import { SessionState } from "./SessionState.ts";

const isCallId = (value: unknown): boolean => Array.isArray(value) && value.length === 2 && value.every(text);

export const sessionShape: ShapeDefinition<SessionRecord, SessionState> = {
  name: "session",
  version: 1,
  records: {
    splice: { at: count, drop: optional(count), items: optional(listOf(() => true)), first: optional(count) },
    transaction: { operation: text, digest: text },
    progress: { run: text, done: count, added: optional(listOf(pair)) },
    clear: { next: count },
    call_ids: { ids: listOf(isCallId) },
  },
  values: (record) => (record.kind === "splice" ? (record.items ?? []) : []),
  begin: () => new SessionState(),
};
