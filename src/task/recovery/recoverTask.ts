import type { AIAgent } from "../../agent/AIAgent.ts";
import { RecoveryRefusedError } from "../../errors/checkpoint/RecoveryRefusedError.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { persistence } from "../../persistence/Persistence.ts";
import {
  type RecoverAllOptions,
  recoverAllSchema,
  type RecoverOptions,
  recoverSchema,
  type RecoveryReport,
} from "./RecoverOptions.ts";
import { Recovery } from "./Recovery.ts";

/**
 * Recovers an interrupted agent: validates its newest checkpoint, compares the environment with the recorded one, has each
 * mismatch decided and resolved, and resumes the run. `onEvent` gets a `recovery_step` for each step and a
 * `recovery_notice` before the run continues.
 *
 * @throws CorruptLogError when the log is damaged; it names the file and the last checkpoint before the damage.
 * @throws EnvironmentMismatchError when the environment differs and there is no `onEnvironmentMismatch`; nothing has changed.
 * @throws RecoveryRefusedError when the checkpoint is damaged, or a handler refuses; nothing has changed.
 * @throws InvalidInputError for an option, and for `confirm: "always"` without `onConfirm`.
 */
export async function recoverTask<Output>(
  agent: AIAgent<never, Output>,
  options: RecoverOptions = {},
): Promise<RecoveryReport<Output>> {
  checkSchema(recoverSchema, options, "options of the recovery");
  return new Recovery(agent, options).execute();
}

/** How the recovery of one agent ended. */
export type RecoveryOutcome<Output> =
  | { readonly agentId: string; readonly report: RecoveryReport<Output> }
  | { readonly agentId: string; readonly error: unknown };

/**
 * Recovers all agents that a crash left in progress, one after the other. The error of one agent is its outcome, and the
 * next agent follows; an agent that cannot be read has such an outcome, too. When several definitions share a storage,
 * `only` selects the agents of this one.
 *
 * @throws InvalidInputError
 */
export async function* recoverTasks<Output>(
  agent: AIAgent<never, Output>,
  options: RecoverAllOptions = {},
): AsyncGenerator<RecoveryOutcome<Output>> {
  checkSchema(recoverAllSchema, options, "options of the recovery");
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
