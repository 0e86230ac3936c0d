import type { AgentCheckpointData } from "../../checkpoint/data/AgentCheckpointData.ts";
import type { EnvironmentMismatch } from "../../persistence/environment/EnvironmentMismatch.ts";
import {
  needsNobody,
  type RecoveryOption,
  recoveryOptions,
  type RecoveryParticipant,
} from "../../persistence/environment/RecoveryParticipant.ts";

/** A mismatch with the options that resolve it, and the participants that carry them out. */
export interface OfferedMismatch {
  readonly mismatch: EnvironmentMismatch;
  /** In the order of {@link recoveryOptions}. */
  readonly options: readonly RecoveryOption[];
  /** The participant that carries out an option; `undefined` for an option that changes nothing. */
  readonly doneBy: (option: RecoveryOption) => RecoveryParticipant | undefined;
}

/** Collects the options that change nothing, and those that a participant offers; the first that offers one carries it out. */
export async function offeredOptions(
  mismatch: EnvironmentMismatch,
  participants: readonly RecoveryParticipant[],
  checkpoint: AgentCheckpointData,
): Promise<OfferedMismatch> {
  const offers: { readonly participant: RecoveryParticipant; readonly options: ReadonlySet<RecoveryOption> }[] = [];
  for (const participant of participants)
    offers.push({ participant, options: new Set(await participant.optionsFor(mismatch, checkpoint)) });
  const doneBy = (option: RecoveryOption) =>
    needsNobody.has(option) ? undefined : offers.find(({ options }) => options.has(option))?.participant;
  const options = recoveryOptions[mismatch.kind].filter(
    (option) => needsNobody.has(option) || doneBy(option) !== undefined,
  );
  return { mismatch, options, doneBy };
}
