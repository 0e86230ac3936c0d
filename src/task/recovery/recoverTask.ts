import type { AIAgent } from "../../agent/AIAgent.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { recoverSchema, type RecoverOptions } from "./RecoverOptions.ts";
import { Recovery } from "./Recovery.ts";
import type { RecoveryReport } from "./RecoveryReport.ts";

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
