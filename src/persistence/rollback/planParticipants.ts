import type { CheckpointPoint } from "../../checkpoint/state/LogProjection.ts";
import type { NoteRecord } from "../../checkpoint/records/NoteRecord.ts";
import type { PlannedSteps } from "../../checkpoint/records/rollbackRecords.ts";
import { ParticipantMissingError } from "../../errors/checkpoint/ParticipantMissingError.ts";
import type { Journal } from "../../journal/Journal.ts";
import { notesBelow } from "../../journal/notesAround.ts";
import { PackedContents } from "../../journal/PackedContents.ts";
import type { Note, ParticipantRequest, RollbackParticipant } from "../../journal/RollbackParticipant.ts";
import type { AgentLog } from "../../storage/AgentLog.ts";
import type { BlobStore } from "../../storage/BlobStore.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";

/** A participant and what it does in a rollback. */
export interface PlannedParticipant {
  readonly participant: RollbackParticipant;
  readonly steps: readonly unknown[];
  /** What the log keeps of the plan. */
  readonly record: PlannedSteps;
}

export interface ParticipantOptions {
  readonly participants: readonly RollbackParticipant[];
  readonly journal: Journal;
  readonly blobs: BlobStore;
  readonly log: AgentLog;
  readonly target: CheckpointPoint;
  readonly signal: AbortSignal;
}

/**
 * What each participant with notes below the target does. A rollback that had begun before a crash goes on with the steps
 * that were planned then.
 *
 * @throws ParticipantMissingError when such a rollback needs a participant that this definition does not have.
 */
export async function planParticipants(options: ParticipantOptions): Promise<readonly PlannedParticipant[]> {
  const { log, target } = options;
  const open = log.index.rollback;
  if (open?.target === target.version && open.participants)
    return open.participants.map((record) => storedPlan(record, options));
  const planned: PlannedParticipant[] = [];
  for (const participant of options.participants) {
    const plan = await newPlan(participant, options);
    if (plan) planned.push(plan);
  }
  return planned;
}

function storedPlan(record: PlannedSteps, { participants, log, target }: ParticipantOptions): PlannedParticipant {
  const participant = participants.find(({ key }) => key === record.key);
  if (!participant) throw new ParticipantMissingError(log.agentId, target.id, record.key);
  const steps = log.readValue(record.steps);
  return { participant, steps: Array.isArray(steps) ? steps : [], record };
}

async function newPlan(
  participant: RollbackParticipant,
  { journal, blobs, log, target, signal }: ParticipantOptions,
): Promise<PlannedParticipant | undefined> {
  const { key } = participant;
  const request = participantRequest({ log, target, key, blobs, sha256: journal.sha256, signal });
  if (request.notes.length === 0) return undefined;
  const { steps, contents } = await participant.plan(request);
  const packs = contents && journal.writer.packs(contents);
  const slot = journal.writer.value(steps, `the plan of participant "${key}"`);
  return { participant, steps, record: { key, steps: slot, ...(packs?.length && { packs }) } };
}

/** What a participant gets to plan from. */
export function participantRequest(options: {
  readonly log: AgentLog;
  readonly target: CheckpointPoint;
  readonly key: string;
  readonly blobs: BlobStore;
  readonly sha256: Sha256;
  readonly signal: AbortSignal;
}): ParticipantRequest {
  const { log, target, key, blobs, sha256, signal } = options;
  const { agentId, index } = log;
  const contents = new PackedContents({ blobs, agentId, index, sha256 });
  return {
    agentId,
    checkpointId: target.id,
    notes: notesBelow(index, target, key).map((record) => noteOf(record, log)),
    content: (hash) => contents.read(hash),
    abortSignal: signal,
  };
}

/** A note as a participant gets it. */
export function noteOf({ value, call }: NoteRecord, log: AgentLog): Note {
  return { value: log.readValue(value), ...(call !== undefined && { toolCallId: call }) };
}
