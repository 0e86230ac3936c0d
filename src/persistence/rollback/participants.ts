import type { NoteRecord } from "../../checkpoint/records/NoteRecord.ts";
import type { PlannedSteps } from "../../checkpoint/records/rollbackRecords.ts";
import type { CheckpointPoint } from "../../checkpoint/state/LogProjection.ts";
import { ParticipantMissingError } from "../../errors/checkpoint/ParticipantMissingError.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import type { Journal } from "../../journal/Journal.ts";
import { PackedContents } from "../../journal/PackedContents.ts";
import type {
  DescribedStep,
  Note,
  ParticipantContext,
  ParticipantRequest,
  RollbackParticipant,
} from "../../journal/RollbackParticipant.ts";
import { notesBefore, notesBelow } from "../../journal/notesAround.ts";
import { AgentLog } from "../../storage/AgentLog.ts";
import type { BlobStore } from "../../storage/BlobStore.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";
import { findRollbackTarget } from "../move/findCheckpoint.ts";

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

/** What the participants of a definition may ask about its agents. */
export function participantContext(setup: PersistenceSetup): ParticipantContext {
  return {
    get agentId() {
      return setup.lastAgentId;
    },
    async request(agentId, checkpointId, key) {
      const log = await AgentLog.read(setup.log, agentId);
      const target = findRollbackTarget(agentId, log.index, checkpointId);
      const { signal } = new AbortController();
      return participantRequest({
        log,
        target,
        key,
        blobs: setup.log.blobs,
        sha256: await setup.storage.sha256(),
        signal,
      });
    },
    async notesBefore(agentId, checkpointId, key) {
      const log = await AgentLog.read(setup.log, agentId);
      const target = findRollbackTarget(agentId, log.index, checkpointId);
      return notesBefore(log.index, target, key).map((record) => noteOf(record, log));
    },
  };
}
