import { liveEntries, pruningIn } from "../../checkpoint/pruning/liveEntries.ts";
import type { AgentRecord } from "../../checkpoint/records/AgentRecord.ts";
import type { Entry } from "../../checkpoint/records/Entry.ts";
import { addValueReferences } from "../../checkpoint/records/blobReferences.ts";
import type { BlobTexts } from "../../checkpoint/state/ValueReader.ts";
import type { BlobCell } from "../../checkpoint/values/BlobCell.ts";
import { AgentBusyError, StorageError } from "../../errors/storageErrors.ts";
import { checkSchema, strictOptions } from "../../internal/options/checkSchema.ts";
import { nonEmptyString } from "../../internal/options/optionSchemas.ts";
import type { Journal } from "../../journal/Journal.ts";
import { AgentLog } from "../../storage/AgentLog.ts";
import type { RecordLog } from "../../storage/RecordLog.ts";
import { processOwner } from "../../storage/ReleasableLog.ts";
import { isAboutOneAgent, listSummaries } from "../../storage/summaries.ts";
import { assertOfAgent, assertSoundLog, readPaced } from "../../storage/readEntries.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";
import { fullRetention, type RetentionPolicy, retentionPolicySchema } from "../config/RetentionPolicy.ts";
import { planPruning, type PrunedAgent, type PruningOptions, type PruningPlan, mayBeDue } from "./planPruning.ts";
import { z } from "zod";

export interface PruneOptions {
  /** The agent to prune. Defaults to every agent of the storage. */
  readonly agentId?: string | undefined;
  /** Only reports the possible deletions. Defaults to `false`. */
  readonly dryRun?: boolean | undefined;
  /** The current time in milliseconds since 1970. Defaults to the configured clock, limited by the monotonic clock. */
  readonly now?: number | undefined;
  /** Defaults to the configured policy, or to the default policy if none is configured. */
  readonly policy?: RetentionPolicy | undefined;
}

const optionsSchema = strictOptions(() => ({
  agentId: nonEmptyString.optional(),
  dryRun: z.boolean().optional(),
  now: z.number().optional(),
  policy: retentionPolicySchema.optional(),
}));

export interface PruneReport {
  /** The agents with deleted data. Without checkpoint ids, only remains of an earlier pruning were removed. */
  readonly pruned: readonly PrunedAgent[];
  /** Ids of agents that were skipped because they have an owner. */
  readonly busy: readonly string[];
  /** The agents that could not be pruned, with the errors. */
  readonly failed: readonly { readonly agentId: string; readonly error: unknown }[];
  /** The total deleted size, estimated in bytes of JSON before compression. */
  readonly bytes: number;
}

/** Applies a retention policy to all agents. After the error of one agent, continues with the others. */
export function pruneStorage(setup: PersistenceSetup, options: PruneOptions): Promise<PruneReport> {
  checkSchema(optionsSchema, options, "options of prune()");
  const action = () => pruneAgents(setup, options);
  const telemetry = options.dryRun ? undefined : setup.telemetry;
  return telemetry?.prune(options.agentId, action, ({ pruned }) => pruned) ?? action();
}

async function pruneAgents(setup: PersistenceSetup, options: PruneOptions): Promise<PruneReport> {
  const pruned: PrunedAgent[] = [];
  const busy: string[] = [];
  const failed: { readonly agentId: string; readonly error: unknown }[] = [];
  const pruning = pruningOptions(setup, options);
  for (const agentId of await agentIds(setup, options, pruning)) {
    try {
      const found = await makingRoom(setup.log, () => pruneOne(setup, agentId, pruning, options.dryRun ?? false));
      if (found) pruned.push(found);
    } catch (error) {
      if (error instanceof AgentBusyError) busy.push(agentId);
      else failed.push({ agentId, error });
    }
  }
  return { pruned, busy, failed, bytes: pruned.reduce((sum, { bytes }) => sum + bytes, 0) };
}

export async function pruneOwned(
  setup: PersistenceSetup,
  journal: Journal,
  options: PruningOptions,
): Promise<PrunedAgent | undefined> {
  const work = await findWork(setup, journal.agentId, await journal.readStored(), options);
  return work && (await carryOut(setup, journal, work));
}

export function pruningOptions(setup: PersistenceSetup, { now, policy }: PruneOptions = {}): PruningOptions {
  return {
    policy: policy ? fullRetention(policy) : (setup.retention ?? fullRetention()),
    now: now ?? setup.cappedNow(),
    hasInverse: (tool) =>
      setup.migrations.toolNames(tool).some((name) => setup.registry.has(name) || setup.participantTools.has(name)),
  };
}

async function pruneOne(
  setup: PersistenceSetup,
  agentId: string,
  options: PruningOptions,
  dryRun: boolean,
): Promise<PrunedAgent | undefined> {
  const entries = await readPaced(setup.log, agentId);
  const last = entries.at(-1);
  const foreseen = await findWork(setup, agentId, entries, options);
  if (!last || !foreseen) return undefined;
  if (dryRun) {
    const owner = await setup.log.owner(agentId);
    if (owner?.state === "alive") throw new AgentBusyError(agentId, owner, 0);
    return foreseen.pruned;
  }
  return finished(setup, () => openAndPrune(setup, agentId, { last, foreseen }, options));
}

/** Prunes. If a full device prevents the removal of bytes, frees the reserve of the storage and prunes again. */
async function finished(
  { log }: PersistenceSetup,
  attempt: () => Promise<PrunedAgent | undefined>,
): Promise<PrunedAgent | undefined> {
  const pruned = await attempt();
  if (!pruned || !isFull(pruned.outstanding) || !(await log.makeRoom?.())) return pruned;
  const again = await attempt();
  const { outstanding: _full, ...done } = pruned;
  return again?.outstanding === undefined ? done : { ...done, outstanding: again.outstanding };
}

async function openAndPrune(
  setup: PersistenceSetup,
  agentId: string,
  { last, foreseen }: { readonly last: Entry; readonly foreseen: PruningPlan | UnfinishedPruning },
  options: PruningOptions,
): Promise<PrunedAgent | undefined> {
  await using journal = await setup.openJournal(agentId);
  if (await journal.endsWith(last)) return await carryOut(setup, journal, foreseen);
  return await pruneOwned(setup, journal, options);
}

interface UnfinishedPruning {
  readonly pruned: PrunedAgent;
  readonly unremoved: readonly string[];
}

async function findWork(
  setup: PersistenceSetup,
  agentId: string,
  entries: readonly Entry[],
  options: PruningOptions,
): Promise<PruningPlan | UnfinishedPruning | undefined> {
  await assertSoundLog(entries);
  const noteTexts = await readNoteTexts(setup.log, agentId, entries);
  const plan = await planPruning(agentId, entries, noteTexts, options);
  const before = plan ? undefined : pruningIn(entries);
  const bytes = (before && (await setup.log.unremovedBytes?.(agentId))) ?? 0;
  if (!before || bytes === 0) return plan;
  return { pruned: { agentId, dropped: false, checkpointIds: [], bytes }, unremoved: before.blobs };
}

/** Carries out a pruning and emits its event when it is durable. The next pruning removes remaining bytes. */
async function carryOut(
  setup: PersistenceSetup,
  journal: Journal,
  work: PruningPlan | UnfinishedPruning,
): Promise<PrunedAgent> {
  const { pruned } = work;
  if ("unremoved" in work) return await remove(journal, pruned, work.unremoved);
  const { record } = work;
  if (record) await journal.prune(record);
  else {
    await setup.dropBeside(journal.agentId);
    await journal.drop();
  }
  setup.tell({ type: "checkpoint_pruned", ...pruned });
  return record ? await remove(journal, pruned, record.blobs) : pruned;
}

async function remove(journal: Journal, pruned: PrunedAgent, blobs: readonly string[]): Promise<PrunedAgent> {
  try {
    await journal.removePruned(blobs);
    return pruned;
  } catch (outstanding) {
    return { ...pruned, outstanding };
  }
}

async function agentIds(
  { log }: PersistenceSetup,
  { agentId }: PruneOptions,
  { policy, now }: PruningOptions,
): Promise<readonly string[]> {
  if (agentId !== undefined) return [agentId];
  const found: string[] = [];
  for await (const summary of listSummaries(log, {})) if (mayBeDue(summary, policy, now)) found.push(summary.agentId);
  return found;
}

async function readNoteTexts(log: RecordLog, agentId: string, stored: readonly Entry[]): Promise<BlobTexts> {
  const references = new Map<string, BlobCell>();
  for (const { records } of liveEntries(stored))
    for (const record of records as readonly AgentRecord[])
      if (record.kind === "note") addValueReferences(record, references);
  return (await AgentLog.ofValues(log, agentId, references)).blobs;
}

/** Deletes an agent, and its log last. After a crash, another deletion finishes the work. */
export function deleteAgent(setup: PersistenceSetup, agentId: string): Promise<void> {
  const { log } = setup;
  return makingRoom(log, async () => {
    const owned = await log.open(agentId, { ...processOwner(), mustExist: true, drops: true });
    try {
      await assertAgentOrDamaged(log, agentId);
      await setup.dropBeside(agentId);
      await owned.drop();
    } finally {
      await owned.release();
    }
  });
}

/** Allows deleting a damaged agent. @throws WrongShapeError if the log is not an agent log. */
async function assertAgentOrDamaged(log: RecordLog, agentId: string): Promise<void> {
  try {
    for await (const entry of log.read(agentId, { sinceSnapshot: true })) return assertOfAgent(agentId, entry);
  } catch (error) {
    if (!isAboutOneAgent(error)) throw error;
  }
}

/** Runs an action that frees space. If the device is full, frees the reserve of the storage and tries again. */
async function makingRoom<Result>(log: RecordLog, action: () => Promise<Result>): Promise<Result> {
  try {
    return await action();
  } catch (error) {
    if (!isFull(error) || !(await log.makeRoom?.())) throw error;
    return action();
  }
}

function isFull(error: unknown): boolean {
  return error instanceof StorageError && error.reason === "full";
}
