import type { AgentRecord } from "./AgentRecord.ts";

const kinds: ReadonlySet<string> = new Set(["message", "edit", "storage", "settings", "requirements", "decision"]);

/**
 * Returns whether a record is part of the state of its lane: messages, storage, settings, requirements, and decisions.
 */
export function isOfState({ kind }: AgentRecord): boolean {
  return kinds.has(kind);
}
