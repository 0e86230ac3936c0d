import { InvalidAgentIdError } from "../../errors/agentErrors.ts";
import { assertAgentId } from "./assertAgentId.ts";

/** The ids of logs that the library stores beside agents: inboxes, rates and schedules, slots and locks of queues. */
const reserved = /^(?:(?:inbox|rate|schedule):|slot |lock-once-)/;

/** Rejects ids that an agent cannot have, before any access. */
export function assertNewAgentId(agentId: unknown): asserts agentId is string {
  assertAgentId(agentId);
  const [prefix] = reserved.exec(agentId) ?? [];
  if (prefix !== undefined) throw new InvalidAgentIdError(agentId, `the reserved prefix "${prefix}"`);
}
