import type { AIAgent } from "../../agent/AIAgent.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { recoverySchema, type RecoverOptions } from "./RecoverOptions.ts";
import { Recovery } from "./Recovery.ts";
import type { RecoveryReport } from "./RecoveryReport.ts";

/**
 * Brings an agent back: finds its newest checkpoint and validates it, looks whether the environment is as it was, asks what
 * to do where it is not, does that, and resumes. Whoever listens is told each step, and with what the agent goes on.
 *
 * @throws CorruptLogError when the log is damaged: it names the file and the last checkpoint before the damage.
 * @throws EnvironmentMismatchError when something is not as it was and nobody is there to ask; nothing has changed.
 * @throws RecoveryRefusedError when the checkpoint is damaged, or by choice; nothing has changed.
 * @throws InvalidInputError for an option, and for `confirm: "always"` without `onConfirm`.
 */
export async function recoverTask<Output>(
  agent: AIAgent<never, Output>,
  options: RecoverOptions = {},
): Promise<RecoveryReport<Output>> {
  checkSchema(recoverySchema, options, "options of recover()");
  return new Recovery(agent, options).execute();
}
