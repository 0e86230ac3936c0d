import { findPoint } from "../../checkpoint/moment/linesAt.ts";
import type { CheckpointPoint } from "../../checkpoint/records/lineRecords.ts";
import { InvalidInputError } from "../../errors/agentErrors.ts";
import { CheckpointNotFoundError } from "../../errors/checkpointErrors.ts";
import { AlreadyExistsError, NotSupportedError } from "../../errors/storageErrors.ts";
import type { Journal } from "../../journal/Journal.ts";
import { AgentLog } from "../../storage/AgentLog.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";
import { idProblem } from "../record/checkNewCheckpoint.ts";
import { findCheckpoint } from "../../journal/findCheckpoint.ts";

/** Names a checkpoint. Writes no record if the checkpoint already has the name. Durable when the promise resolves. */
export async function nameCheckpoint(
  setup: PersistenceSetup,
  agentId: string,
  { checkpointId, name }: { readonly checkpointId: string; readonly name: string },
): Promise<void> {
  const problem = idProblem(name, "name");
  if (problem) throw new InvalidInputError("name of a checkpoint", [problem]);
  await using journal = await openNamed(setup, agentId, "nameCheckpoint()");
  const { version } = await findNear(setup, journal, checkpointId);
  if (journal.named.has(name))
    throw new AlreadyExistsError(
      "checkpoint_exists",
      agentId,
      name,
      "a checkpoint was made with this id. Choose another name",
    );
  if (journal.names.versionOf(name) !== version) await journal.store([{ kind: "name", name, version }]);
}

export async function removeCheckpointName(setup: PersistenceSetup, agentId: string, name: string): Promise<void> {
  await using journal = await openNamed(setup, agentId, "removeCheckpointName()");
  const { names } = journal;
  if (names.versionOf(name) === undefined) {
    const given = [...names.entries()].map(([each]) => each);
    throw new CheckpointNotFoundError(agentId, name, given, "name");
  }
  await journal.store([{ kind: "name", name }]);
}

async function openNamed(setup: PersistenceSetup, agentId: string, operation: string): Promise<Journal> {
  if (setup.log.capabilities.keeps === "checkpoints") throw new NotSupportedError(operation, "a log of records");
  return setup.openJournal(agentId);
}

/**
 * Searches for a checkpoint first in the records that are already read, then from the newest snapshot on, then in the
 * whole log.
 */
async function findNear(
  { log }: PersistenceSetup,
  { agentId, head }: Journal,
  checkpointId: string,
): Promise<CheckpointPoint> {
  const known = head && findPoint(head.log.index, checkpointId);
  if (known) return known;
  const isThere = ({ index }: AgentLog) => findPoint(index, checkpointId) !== undefined;
  return findCheckpoint(await AgentLog.readRecent(log, agentId, isThere, () => false), checkpointId);
}
