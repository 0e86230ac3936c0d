import type { AIAgent } from "../../agent/AIAgent.ts";
import { RecoveryRefusedError } from "../../errors/checkpoint/RecoveryRefusedError.ts";
import { persistence } from "../../persistence/Persistence.ts";
import { recoverTask } from "./recoverTask.ts";
import type { RecoverAllOptions, RecoverOptions } from "./RecoverOptions.ts";
import type { RecoveryReport } from "./RecoveryReport.ts";

/** What became of one agent. */
export type RecoveryOutcome<Output> =
  | { readonly agentId: string; readonly report: RecoveryReport<Output> }
  | { readonly agentId: string; readonly error: unknown };

/**
 * Recovers every agent that a crash left in progress, one after the other. One that cannot be recovered keeps no other from
 * it: its error is its outcome. Agents that cannot be read are among them. Where several definitions share a storage, `only` says
 * which agents are of this one.
 */
export async function* recoverTasks<Output>(
  agent: AIAgent<never, Output>,
  options: RecoverAllOptions = {},
): AsyncGenerator<RecoveryOutcome<Output>> {
  const { only, ...how } = options;
  for await (const run of persistence(agent).unfinished({ only, signal: how.signal })) {
    const { agentId } = run;
    if (run.status === "unreadable") yield { agentId, error: new RecoveryRefusedError(agentId, run.reason) };
    if (run.status === "interrupted") yield await outcomeOf(agent, { ...how, agentId });
  }
}

async function outcomeOf<Output>(
  agent: AIAgent<never, Output>,
  options: RecoverOptions & { readonly agentId: string },
): Promise<RecoveryOutcome<Output>> {
  const { agentId, signal } = options;
  try {
    return { agentId, report: await recoverTask(agent, options) };
  } catch (error) {
    if (signal?.aborted === true) throw error;
    return { agentId, error };
  }
}
