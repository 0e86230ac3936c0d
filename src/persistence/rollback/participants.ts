import { reasonOf } from "../../internal/reasonOf.ts";
import type { PlannedSteps } from "../../checkpoint/records/rollbackRecords.ts";
import { ParticipantMissingError } from "../../errors/checkpoint/ParticipantMissingError.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import { PackedContents } from "../../journal/PackedContents.ts";
import { read } from "../../journal/loggedCalls.ts";
import type {
  DescribedStep,
  ParticipantContext,
  ParticipantRequest,
  RollbackParticipant,
  StepRequest,
} from "../../journal/RollbackParticipant.ts";
import { noteOf, notesBefore, notesBelow } from "../../journal/notesAround.ts";
import { AgentLog } from "../../storage/AgentLog.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";
import { findRollbackTarget } from "../move/findCheckpoint.ts";
import type { ParticipantReport, Rollback } from "./RollbackReport.ts";

/** A participant and what it does in a rollback. */
export interface PlannedParticipant {
  /** Absent: its stored plan cannot be carried out, for this reason. */
  readonly participant?: RollbackParticipant;
  readonly unusable?: string;
  readonly steps: readonly unknown[];
  /** What the log keeps of the plan. */
  readonly record: PlannedSteps;
}

/**
 * Plans the steps of each participant with notes below the target. A rollback that a crash interrupted continues with the
 * steps that were planned before it.
 *
 * @throws ParticipantMissingError when such a rollback needs a participant that this definition does not have.
 */
export async function planParticipants(rollback: Rollback): Promise<readonly PlannedParticipant[]> {
  const { setup, log, target } = rollback;
  const open = log.index.rollback;
  if (open?.target === target.version && open.participants)
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
  if (request.notes.length === 0) return undefined;
  const { steps, contents } = await participant.plan(request);
  const packs = contents && writer.packs(contents);
  const slot = writer.value(steps, `the plan of participant "${key}"`);
  return { participant, steps, record: { key, steps: slot, ...(packs?.length && { packs }) } };
}

/**
 * Applies the planned steps that are not recorded as applied. If one throws, the rollback stays open, unless the caller
 * leaves what fails.
 */
export async function applyParticipants(
  planned: readonly PlannedParticipant[],
  rollback: Rollback,
): Promise<readonly ParticipantReport[]> {
  const { journal } = rollback;
  // The plans may have added contents of their own.
  const log = planned.length > 0 ? await journal.readAll() : rollback.log;
  const request = stepRequest({ ...rollback, log }, journal.sha256);
  const reports: ParticipantReport[] = [];
  for (const plan of planned) reports.push(await applySteps(plan, rollback, log, request));
  return reports;
}

async function applySteps(
  { participant, unusable = "", steps, record: { key } }: PlannedParticipant,
  { journal, onFailure }: Rollback,
  log: AgentLog,
  request: StepRequest,
): Promise<ParticipantReport> {
  if (!participant) return { key, steps: [{ subject: key, change: `not applied: ${unusable}` }] };
  const applied = log.index.stepsTaken.get(key);
  const described: DescribedStep[] = [];
  for (const [step, value] of steps.entries()) {
    let left = applied?.get(step);
    if (!applied?.has(step)) {
      left = await applyStep(() => participant.apply(value, request), request.abortSignal, onFailure);
      // Not awaited: a step whose end is lost is applied again, which does no harm.
      journal.append([{ kind: "rollback_step", key, step, ...(left !== undefined && { error: { message: left } }) }]);
    }
    described.push(describeStep(participant, value, left));
  }
  return { key, steps: described };
}

/** @returns why the step is left, if the caller leaves what fails; `undefined`: it is applied. */
async function applyStep(
  apply: () => Promise<void>,
  signal: AbortSignal,
  onFailure: Rollback["onFailure"],
): Promise<string | undefined> {
  try {
    await apply();
    return undefined;
  } catch (error) {
    if (onFailure !== "leave" || signal.aborted) throw error;
    return reasonOf(error);
  }
}

function describeStep(participant: RollbackParticipant, step: unknown, left: string | undefined): DescribedStep {
  if (left === undefined) return participant.describe(step);
  const described = read(() => participant.describe(step)).value as DescribedStep | undefined;
  return { subject: described?.subject ?? participant.key, change: `not applied: ${left}` };
}

type RequestSource = Omit<Rollback, "journal">;

function stepRequest({ setup, log, target, signal }: RequestSource, sha256: Sha256): StepRequest {
  const { agentId, index } = log;
  const contents = new PackedContents({ blobs: setup.log.blobs, agentId, index, sha256 });
  return { agentId, checkpointId: target.id, content: (hash) => contents.read(hash), abortSignal: signal };
}

function participantRequest(source: RequestSource, key: string, sha256: Sha256): ParticipantRequest {
  const { log, target } = source;
  const notes = notesBelow(log.index, target, key).map((record) => noteOf(record, log));
  return { ...stepRequest(source, sha256), notes };
}

/** What the participants of a definition may ask about its agents. */
export function participantContext(setup: PersistenceSetup): ParticipantContext {
  const read = async (agentId: string, checkpointId: string) => {
    const log = await AgentLog.read(setup.log, agentId);
    return { log, target: findRollbackTarget(log, checkpointId) };
  };
  return {
    get agentId() {
      return setup.lastAgentId;
    },
    async request(agentId, checkpointId, key) {
      const { signal } = new AbortController();
      const source = { setup, signal, ...(await read(agentId, checkpointId)) };
      return participantRequest(source, key, await setup.storage.sha256());
    },
    async notesBefore(agentId, checkpointId, key) {
      const { log, target } = await read(agentId, checkpointId);
      return notesBefore(log.index, target, key).map((record) => noteOf(record, log));
    },
  };
}
