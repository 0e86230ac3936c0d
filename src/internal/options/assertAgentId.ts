import { InvalidAgentIdError } from "../../errors/agentErrors.ts";
import { kindOf } from "./optionSchemas.ts";

const maxBytes = 1024;
const loneSurrogate = /\p{Surrogate}/u;
const encoder = new TextEncoder();

/** Rejects invalid agent ids before any access. Ids with lone surrogates can have the same UTF-8 form. */
export function assertAgentId(agentId: unknown): asserts agentId is string {
  if (typeof agentId !== "string") throw new InvalidAgentIdError(agentId, kindOf(agentId));
  if (agentId === "") throw new InvalidAgentIdError(agentId, "an empty text");
  if (agentId.length > maxBytes) throw new InvalidAgentIdError(agentId, `${agentId.length} characters`);
  if (loneSurrogate.test(agentId)) throw new InvalidAgentIdError(agentId, "half of a surrogate pair");
  const bytes = encoder.encode(agentId).length;
  if (bytes > maxBytes) throw new InvalidAgentIdError(agentId, `${bytes} bytes`);
}

/** Prefixes of other logs of the library: inboxes, rate limits, schedules, and slots and locks of queues. */
const reserved = /^(?:(?:inbox|rate|schedule):|slot |lock-once-)/;

/** Rejects ids that a new agent cannot have, before any access. */
export function assertNewAgentId(agentId: unknown): asserts agentId is string {
  assertAgentId(agentId);
  const [prefix] = reserved.exec(agentId) ?? [];
  if (prefix !== undefined) throw new InvalidAgentIdError(agentId, `the reserved prefix "${prefix}"`);
}
