import { withGrace } from "../../internal/abortable.ts";
import { reasonOf } from "../../internal/reasonOf.ts";
import type { PlannedSteps, RollbackStepRecord } from "../../checkpoint/records/rollbackRecords.ts";
import type { NoteRecord } from "../../checkpoint/records/AgentRecord.ts";
import { ParticipantMissingError } from "../../errors/checkpointErrors.ts";
import { StorageError } from "../../errors/storageErrors.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import { read } from "../../journal/loggedCalls.ts";
import type {
  DescribedStep,
  Note,
  ParticipantContext,
  ParticipantPlan,
  ParticipantRequest,
  RollbackParticipant,
  StepRequest,
} from "../../journal/RollbackParticipant.ts";
import { fileChangesIn, fileNoteKey, mergeFileChanges } from "../../checkpoint/data/FileChange.ts";
import {
  contentReader,
  type ReadContent,
  noteOf,
  notesBefore,
  notesLeft,
  notesToRedo,
} from "../../journal/notesAround.ts";
import { AgentLog } from "../../storage/AgentLog.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";
import { findRollbackGoal, findRollbackTarget } from "../../journal/findCheckpoint.ts";
import type { Journal } from "../../journal/Journal.ts";
import type { ParticipantReport, Rollback } from "./RollbackReport.ts";

export interface PlannedParticipant {
  /** `undefined` if the stored plan cannot be applied. `unusable` is then the reason. */
  readonly participant?: RollbackParticipant;
  readonly unusable?: string;
  readonly steps: readonly unknown[];
  readonly record: PlannedSteps;
}

/**
 * Plans the steps of each participant with notes since the target, or in a redo since the common ancestor. An
 * interrupted rollback continues with its first plan.
 *
 * @throws ParticipantMissingError
 */
export async function planParticipants(rollback: Rollback): Promise<readonly PlannedParticipant[]> {
  const { setup, log, target, base } = rollback;
  const open = log.index.rollback;
  if (open?.target === target.version && open.base === base?.version && open.participants)
    return open.participants.map((record) => storedPlan(record, rollback));
  const planned: PlannedParticipant[] = [];
  for (const participant of setup.participants) {
    const plan = await newPlan(participant, rollback);
    if (plan) planned.push(plan);
  }
  return planned;
}

function storedPlan(record: PlannedSteps, rollback: Rollback): PlannedParticipant {
  const { setup, log, target, onFailure } = rollback;
  try {
    const participant = setup.participants.find(({ key }) => key === record.key);
    if (!participant) throw new ParticipantMissingError(log.agentId, target.id, record.key);
    const steps = log.readValue(record.steps);
    return { participant, steps: Array.isArray(steps) ? steps : [], record };
  } catch (error) {
    if (onFailure !== "leave") throw error;
    return { unusable: reasonOf(error), steps: [], record };
  }
}

async function newPlan(participant: RollbackParticipant, rollback: Rollback): Promise<PlannedParticipant | undefined> {
  const { sha256, writer } = rollback.journal;
  const { key } = participant;
  const request = participantRequest(rollback, key, sha256);
  if (request.notes.length === 0 && !request.redone?.length) return undefined;
  const { steps, contents, redone } = await withGrace(rollback.signal, rollback.setup.abortGrace, () =>
    stepsOf(participant, request),
  );
  const packs = contents && writer.packs(contents);
  const slot = writer.value(steps, `the plan of participant "${key}"`);
  const record = { key, steps: slot, ...(packs?.length && { packs }), ...(redone !== undefined && { redone }) };
  return { participant, steps, record };
}

/** Returns the planned steps of a participant. `redone` is true if they apply the changes of a redo again. */
async function stepsOf(
  participant: RollbackParticipant,
  request: ParticipantRequest,
): Promise<ParticipantPlan & { readonly redone?: boolean }> {
  if (!request.redone?.length) return participant.plan(request);
  if (participant.planRedo) return { ...(await participant.planRedo(request)), redone: true };
  const plan = request.notes.length > 0 ? await participant.plan(request) : { steps: [] };
  return { ...plan, redone: false };
}

/** Applies the planned steps that have no record. A failed step stops the rollback unless `onFailure` is `leave`. */
export async function applyParticipants(
  planned: readonly PlannedParticipant[],
  rollback: Rollback,
): Promise<readonly ParticipantReport[]> {
  const log = planned.length > 0 ? await readAgain(rollback) : rollback.log;
  const reports: ParticipantReport[] = [];
  for (const plan of planned) reports.push(await applySteps(plan, { ...rollback, log }));
  return [...reports, ...filesLeft(rollback)];
}

/** Reads the same part of the log again, because plans can add contents. */
async function readAgain({ setup, journal, log: { agentId, index } }: Rollback): Promise<AgentLog> {
  await journal.durable();
  return AgentLog.read(setup.log, agentId, { sinceSnapshot: index.base !== undefined });
}

/** Reports files that were changed since the target, if the agent has no workspace to restore them. */
function filesLeft({ setup, log, target, base }: Rollback): readonly ParticipantReport[] {
  if (setup.participants.some(({ key }) => key === fileNoteKey)) return [];
  const changes = notesLeft(log.index, { target, base }, fileNoteKey).flatMap(({ value }) =>
    fileChangesIn(read(() => log.readValue(value)).value),
  );
  const change = "not restored: the participant is missing";
  const steps = [...mergeFileChanges(changes).keys()].toSorted().map((subject) => ({ subject, change }));
  return steps.length > 0 ? [{ key: fileNoteKey, steps }] : [];
}

async function applySteps(
  { participant, unusable = "", steps, record }: PlannedParticipant,
  rollback: Rollback,
): Promise<ParticipantReport> {
  const { setup, journal, log } = rollback;
  const { key } = record;
  if (!participant) return { key, steps: [{ subject: key, change: `not applied: ${unusable}` }] };
  const common = { ...commonRequest(rollback, journal.sha256), onFailure: rollback.onFailure ?? "stop" } as const;
  // Contents that were added after the log was read.
  const kept = new Map<string, Uint8Array>();
  const request: StepRequest = {
    ...common,
    content: async (hash) => kept.get(hash) ?? (await common.content(hash)),
    keep: async (contents) => {
      await keepContents(rollback, record, contents);
      for (const [hash, content] of contents) kept.set(hash, content);
    },
  };
  const applied = log.index.stepsTaken.get(key);
  const described: DescribedStep[] = [];
  for (const [step, value] of steps.entries()) {
    const taken = applied?.get(step);
    const { outcome, left } = taken
      ? storedEnd(taken, log)
      : await withGrace(rollback.signal, setup.abortGrace, () => applyStep(participant, value, request));
    // Not awaited, because a step may be applied again after a crash.
    if (!taken) journal.append([stepRecord(key, step, { outcome, left }, journal)]);
    described.push(...describeStep(participant, value, { outcome, left }));
  }
  if (record.redone === false)
    described.push({ subject: key, change: "not restored: the participant has no planRedo" });
  return { key, steps: described };
}

interface StepEnd {
  readonly outcome?: unknown;
  /** Why the step was not applied. `undefined` for an applied step. */
  readonly left?: string | undefined;
}

async function applyStep(participant: RollbackParticipant, step: unknown, request: StepRequest): Promise<StepEnd> {
  try {
    return { outcome: await participant.apply(step, request) };
  } catch (error) {
    const isOfStorage = error instanceof StorageError;
    if (request.onFailure !== "leave" || request.abortSignal.aborted || isOfStorage) throw error;
    return { left: reasonOf(error) };
  }
}

function storedEnd({ outcome, error }: RollbackStepRecord, log: AgentLog): StepEnd {
  return { outcome: outcome === undefined ? undefined : log.readValue(outcome), left: error?.message };
}

function stepRecord(key: string, step: number, { outcome, left }: StepEnd, { writer }: Journal): RollbackStepRecord {
  return {
    kind: "rollback_step",
    key,
    step,
    ...(left !== undefined && { error: { message: left } }),
    ...(outcome !== undefined && { outcome: writer.value(outcome, `the outcome of a step of participant "${key}"`) }),
  };
}

function describeStep(
  participant: RollbackParticipant,
  step: unknown,
  { outcome, left }: StepEnd,
): readonly DescribedStep[] {
  if (left === undefined) return [participant.describe(step, outcome)].flat();
  const described = [read(() => participant.describe(step, undefined)).value].flat() as readonly (
    | DescribedStep
    | undefined
  )[];
  return described.map((one) => ({ subject: one?.subject ?? participant.key, change: `not applied: ${left}` }));
}

async function keepContents(
  { journal, log }: Rollback,
  { key, steps }: PlannedSteps,
  contents: ReadonlyMap<string, Uint8Array>,
): Promise<void> {
  const packs = journal.writer.packs(contents);
  const open = log.index.rollback;
  if (packs.length === 0 || !open) return;
  // If the rollback restarts, it continues with this plan.
  journal.append([{ ...open, participants: [{ key, steps, packs }] }]);
  await journal.durable();
}

type RequestSource = Omit<Rollback, "journal">;

function commonRequest(
  { setup, log, target, signal }: RequestSource,
  sha256: Sha256,
): Omit<ParticipantRequest, "notes" | "redone"> {
  const { agentId } = log;
  const readerOf = ({ index }: Pick<AgentLog, "index">) =>
    contentReader({ blobs: setup.log.blobs, agentId, index, sha256 });
  const read = readerOf(log);
  let whole: Promise<ReadContent> | undefined;
  const readWhole = () => (whole ??= AgentLog.read(setup.log, agentId, {}, () => false).then(readerOf));
  // A log that was read from a snapshot lacks the contents of earlier records.
  const content = async (hash: string) => (await read(hash)) ?? (log.index.base && (await readWhole())(hash));
  return { agentId, checkpointId: target.id, content, abortSignal: signal };
}

function participantRequest(source: RequestSource, key: string, sha256: Sha256): ParticipantRequest {
  const { log, base } = source;
  const read = (records: readonly NoteRecord[]) => records.map((record) => noteOf(record, log));
  const notes = read(notesLeft(log.index, source, key));
  const redone = base && { redone: read(notesToRedo(log.index, source, key)) };
  return { ...commonRequest(source, sha256), notes, ...redone };
}

/** Returns the data for the plan of a rollback, without rolling back. */
export async function participantRequestAt(
  setup: PersistenceSetup,
  agentId: string,
  checkpointId: string,
  key: string,
): Promise<ParticipantRequest> {
  const { signal } = new AbortController();
  const log = await AgentLog.read(setup.log, agentId);
  const source = { setup, signal, log, ...findRollbackGoal(log, checkpointId) };
  return participantRequest(source, key, await setup.storage.sha256());
}

export async function participantNotesBefore(
  setup: PersistenceSetup,
  agentId: string,
  checkpointId: string,
  key: string,
): Promise<readonly Note[]> {
  const log = await AgentLog.read(setup.log, agentId);
  const target = findRollbackTarget(log, checkpointId);
  return notesBefore(log.index, target, key).map((record) => noteOf(record, log));
}

/** Returns a content that a participant stored in the log. */
export async function participantContent(
  setup: PersistenceSetup,
  agentId: string,
  hash: string,
): ReturnType<ParticipantContext["content"]> {
  const { index } = await AgentLog.read(setup.log, agentId);
  const sha256 = await setup.storage.sha256();
  return contentReader({ blobs: setup.log.blobs, agentId, index, sha256 })(hash);
}
