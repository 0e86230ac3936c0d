import type { AgentRecord } from "./AgentRecord.ts";

const kinds: ReadonlySet<string> = new Set(["message", "edit", "storage", "settings", "requirements", "decision"]);

/** Whether a record makes the state of its lane: its messages, storage, settings, requirements, and decisions. */
export function isOfState({ kind }: AgentRecord): boolean {
  return kinds.has(kind);
}
