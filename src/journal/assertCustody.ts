import type { StatusState } from "../checkpoint/state/StatusState.ts";
import type { AgentRecord } from "../checkpoint/records/AgentRecord.ts";
import type { Clock } from "../internal/Clock.ts";
import { NotSupportedError } from "../errors/storageErrors.ts";
import { AgentCopiedError, AgentMovedError } from "../errors/agentErrors.ts";

/** The statuses of agents that must not run in this storage. Opening such an agent rejects. */
export const awayStatuses: ReadonlySet<string> = new Set(["moving", "moved", "copied"]);

export type CustodyUse = "take_over" | "move";

interface Opened {
  readonly agentId: string;
  readonly clock: Clock;
  readonly statusState: StatusState;
  store(records: readonly AgentRecord[]): Promise<void>;
}

/** Takes over a copy if requested. @throws AgentMovedError, AgentCopiedError, NotSupportedError */
export async function assertCustody(journal: Opened, asked: CustodyUse | undefined): Promise<void> {
  const { agentId, clock, statusState } = journal;
  const { state } = statusState.custody ?? {};
  if (asked !== "move" && statusState.run?.vault)
    throw new NotSupportedError("The agent", "the vault of its option `redact`");
  if (state === "moving" && asked === "move") return;
  const error = custodyError(agentId, statusState);
  if (!error) return;
  if (state !== "copied" || asked !== "take_over") throw error;
  await journal.store([{ kind: "custody", state: "here", at: clock.now() }]);
}

/** Returns why an agent may not run here, or `undefined` if it may run. */
export function custodyError(
  agentId: string,
  { custody }: StatusState,
): AgentMovedError | AgentCopiedError | undefined {
  const { state = "here", to } = custody ?? {};
  if (state === "moved" || state === "moving") return new AgentMovedError(agentId, state, to);
  return state === "copied" ? new AgentCopiedError(agentId) : undefined;
}
