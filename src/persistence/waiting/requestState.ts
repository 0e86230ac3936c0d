import type { AgentState } from "../../checkpoint/state/AgentState.ts";
import type { LogProjection } from "../../checkpoint/state/LogProjection.ts";
import { openRequests } from "../../checkpoint/state/openRequests.ts";

/** What an answer to a request comes to now: only one to an open request is taken. */
export type RequestJudgement =
  | { readonly kind: "open" | "answered" | "unknown" }
  | { readonly kind: "expired"; readonly expiredAt: string };

/** @param now milliseconds since 1970. */
export function requestState(
  index: LogProjection,
  state: AgentState | undefined,
  requestId: string,
  now: number,
): RequestJudgement {
  const known = state?.requests.get(requestId);
  if (!state || !known) return { kind: "unknown" };
  const { expiresAt } = known.record;
  if (known.reply?.expired || (!known.reply && isPast(expiresAt, now)))
    return { kind: "expired", expiredAt: new Date(expiresAt ?? now).toISOString() };
  if (known.reply) return { kind: "answered" };
  return { kind: openRequests(index, state).includes(known.record) ? "open" : "unknown" };
}

/** Whether a request whose answer was wanted by then has ended without one. */
export function isPast(expiresAt: number | undefined, now: number): boolean {
  return expiresAt !== undefined && expiresAt <= now;
}
