import { PackedContents } from "../../journal/PackedContents.ts";
import type { DescribedStep } from "../../journal/RollbackParticipant.ts";
import type { ParticipantOptions, PlannedParticipant } from "./planParticipants.ts";

/** What a participant did in a rollback. */
export interface ParticipantReport {
  readonly key: string;
  /** In the order in which they were taken. */
  readonly steps: readonly DescribedStep[];
}

/** Takes the planned steps that are not recorded as taken, each recorded after it; what it throws leaves the rollback open. */
export async function applyParticipants(
  planned: readonly PlannedParticipant[],
  options: ParticipantOptions,
): Promise<readonly ParticipantReport[]> {
  // With the contents that the plans themselves brought in.
  const { index } = planned.length > 0 ? await options.journal.readAll() : options.log;
  for (const plan of planned) await takeSteps(plan, { ...options, taken: index.stepsTaken, index });
  return planned.map(({ participant, steps }) => ({
    key: participant.key,
    steps: steps.map((step) => participant.describe(step)),
  }));
}

async function takeSteps(
  { participant, steps }: PlannedParticipant,
  options: ParticipantOptions & {
    readonly index: ParticipantOptions["log"]["index"];
    readonly taken: ReadonlyMap<string, ReadonlySet<number>>;
  },
): Promise<void> {
  const { journal, blobs, index, target, signal, taken } = options;
  const { agentId, sha256 } = journal;
  const { key } = participant;
  const contents = new PackedContents({ blobs, agentId, index, sha256 });
  const request = {
    agentId,
    checkpointId: target.id,
    content: (hash: string) => contents.read(hash),
    abortSignal: signal,
  };
  for (const [step, value] of steps.entries()) {
    if (taken.get(key)?.has(step)) continue;
    await participant.apply(value, request);
    // Not waited for: a step whose end is lost is taken again, which is no harm.
    journal.append([{ kind: "rollback_step", key, step }]);
  }
}
