import type { AgentCheckpointData } from "../../checkpoint/data/AgentCheckpointData.ts";
import { fileNoteKey } from "../../checkpoint/data/FileChange.ts";
import type { NoteRecord } from "../../checkpoint/records/AgentRecord.ts";
import { noteOf, notesOfRun, readLastRun } from "../../journal/notesAround.ts";
import type { CheckpointPoint } from "../../checkpoint/records/lineRecords.ts";
import type { LogProjection } from "../../checkpoint/state/LogProjection.ts";
import { AgentPersistenceError } from "../../errors/AgentPersistenceError.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { ChangedFile, Comparison, RollbackParticipant } from "../../journal/RollbackParticipant.ts";
import type { AgentLog } from "../../storage/AgentLog.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";
import type { EnvironmentMismatch } from "../../environment/EnvironmentMismatch.ts";

/** Differences between the files that the agent changed in its last run and their current state. */
export interface ChangedFiles {
  /** False if the run has recorded no file changes. */
  readonly any: boolean;
  readonly mismatches: readonly EnvironmentMismatch[];
  readonly notCompared: readonly string[];
}

const none: ChangedFiles = { any: false, mismatches: [], notCompared: [] };

/** Lets each participant compare the notes of the last run. @param compared Files that are already compared. */
export async function compareChangedFiles(
  setup: PersistenceSetup,
  { agentId, recoveryInfo }: AgentCheckpointData,
  compared: readonly string[],
): Promise<ChangedFiles> {
  if (setup.log.capabilities.keeps === "checkpoints") return none;
  const log = await readLastRun(setup.log, agentId);
  const { latest, rollback } = log.index;
  if (!latest) return none;
  const notes = notesByKey(log.index, latest, setup);
  if (rollback && notes.length > 0)
    return { any: true, mismatches: [], notCompared: ["a rollback is unfinished, which may change files"] };
  const found: Comparison[] = [];
  for (const [key, records] of notes) {
    const participant = setup.participants.find((candidate) => candidate.key === key);
    const { workingDirectory } = recoveryInfo;
    const request = { agentId, compared, ...withoutUndefined({ workingDirectory }) };
    found.push(await askParticipant(participant, log, records, request));
  }
  return {
    any: found.length > 0,
    mismatches: found.flatMap(({ changed }) => changed.map(mismatchOf)),
    notCompared: found.flatMap(({ notCompared: left = [] }) => left),
  };
}

/** Groups notes by participant. Of missing participants, only notes about files are included. */
function notesByKey(index: LogProjection, latest: CheckpointPoint, { participants }: PersistenceSetup) {
  const keys = new Set([fileNoteKey, ...participants.filter((one) => one.compare !== undefined).map(({ key }) => key)]);
  const notes = [...keys].map((key) => [key, notesOfRun(index, latest, key)] as const);
  return notes.filter(([, records]) => records.length > 0);
}

/** Lets a participant compare its notes. Skips unreadable notes and files, which a run does not need. */
async function askParticipant(
  participant: RollbackParticipant | undefined,
  log: AgentLog,
  records: readonly NoteRecord[],
  request: { readonly agentId: string; readonly workingDirectory?: string; readonly compared: readonly string[] },
): Promise<Comparison> {
  if (!participant?.compare)
    return notCompared("the agent changed files, and no participant compares them; pass its workspace in participants");
  try {
    return await participant.compare({ ...request, notes: records.map((record) => noteOf(record, log)) });
  } catch (error) {
    if (!AgentPersistenceError.isInstance(error)) throw error;
    return notCompared(error.message);
  }
}

function notCompared(reason: string): Comparison {
  return { changed: [], notCompared: [reason] };
}

function mismatchOf({ path, expected, found }: ChangedFile): EnvironmentMismatch {
  if (found === undefined) return { kind: "file_deleted", path };
  return { kind: "file_modified_externally", path, ...(expected !== undefined && { expected }), found };
}
