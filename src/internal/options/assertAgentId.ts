import { InvalidAgentIdError } from "../../errors/agentErrors.ts";
import { kindOf } from "./optionSchemas.ts";

const maxBytes = 1024;
const loneSurrogate = /\p{Surrogate}/u;
const encoder = new TextEncoder();

/** Rejects invalid agent ids before any access. Ids with lone surrogates can have the same UTF-8 form. */
export function assertAgentId(agentId: unknown): asserts agentId is string {
  const defect = defectOf(agentId);
  if (defect !== undefined) throw new InvalidAgentIdError(agentId, defect);
}

/** Whether a log can have this id. The id of a long agent id with a prefix, such as `inbox:`, can be too long. */
export function isAgentId(agentId: string): boolean {
  return defectOf(agentId) === undefined;
}

function defectOf(agentId: unknown): string | undefined {
  if (typeof agentId !== "string") return kindOf(agentId);
  if (agentId === "") return "an empty text";
  if (agentId.length > maxBytes) return `${agentId.length} characters`;
  if (loneSurrogate.test(agentId)) return "half of a surrogate pair";
  const bytes = encoder.encode(agentId).length;
  return bytes > maxBytes ? `${bytes} bytes` : undefined;
}

/** Prefixes of other logs of the library: inboxes, rate limits, schedules, and slots and locks of queues. */
const reserved = /^(?:(?:inbox|rate|schedule):|slot |lock-once-)/;

/** Rejects ids that a new agent cannot have, before any access. */
export function assertNewAgentId(agentId: unknown): asserts agentId is string {
  assertAgentId(agentId);
  const [prefix] = reserved.exec(agentId) ?? [];
  if (prefix !== undefined) throw new InvalidAgentIdError(agentId, `the reserved prefix "${prefix}"`);
}
