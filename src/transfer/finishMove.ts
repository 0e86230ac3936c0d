import type { CustodyRecord } from "../checkpoint/records/runRecords.ts";
import { InvalidInputError } from "../errors/agentErrors.ts";
import { systemClock } from "../internal/Clock.ts";
import { assertAgentId } from "../internal/options/assertAgentId.ts";
import { checkSchema, strictOptions } from "../internal/options/checkSchema.ts";
import type { PersistenceStorageProvider } from "../storage/PersistenceStorageProvider.ts";
import { lastOf, openForMove } from "./exportAgent.ts";
import { logOf, type TransferStorage } from "./logOf.ts";
import { type LogSurvey, surveyLog } from "./keptAppends.ts";
import { quoted } from "../errors/AgentPersistenceError.ts";
import { z } from "zod";
import type { Sha256 } from "../internal/sha256/Sha256.ts";
import type { ArchiveHeader } from "./format/archiveFormat.ts";

const moveReceiptSchema = strictOptions(() => ({
  from: z.string(),
  to: strictOptions(() => ({ agentId: z.string(), folder: z.string().optional() })),
  move: z.string().optional(),
  digest: z.string(),
}));

/**
 * Finishes a move at the source. Afterwards the agent is `moved`, and `run`, `resume` and `answer` report its new
 * location. Repeated calls with the same receipt are allowed. If the call rejects, it makes no change.
 *
 * @param receipt The receipt from `importAgent`.
 * @throws InvalidInputError if the agent is not moving, or the receipt belongs to another move.
 * @throws AgentBusyError
 */
export async function finishMove(
  storage: PersistenceStorageProvider,
  agentId: string,
  receipt: MoveReceipt,
): Promise<void> {
  assertAgentId(agentId);
  checkSchema(moveReceiptSchema, receipt, "receipt of a move");
  const source = logOf(storage, "encodedAppends", "finishMove()");
  const survey = await surveyLog(source.log, agentId, { sha256: await source.sha256() });
  const move = await assertReceipt(source, agentId, survey, receipt);
  const before = survey.custody;
  if (before?.state === "moved" && before.move === move && isSamePlace(before.to, receipt.to)) return;
  await using journal = await openForMove(source, agentId);
  const { custody } = journal.statusState;
  if (custody?.state !== "moving" || custody.move !== move) throw refused(agentId, "a receipt of the current move");
  const { agentId: there, folder } = receipt.to;
  const to = folder === undefined ? { agentId: there } : { agentId: there, folder };
  await journal.store([{ kind: "custody", state: "moved", at: systemClock.now(), move, to }]);
}

/**
 * Cancels a move, so that the agent can run here again. Call this only if the archive was not imported. If it was
 * imported, first delete the imported agent, because otherwise both would run. Repeated calls are allowed.
 *
 * @throws AgentMovedError if the move is finished.
 * @throws InvalidInputError if the agent was never moving.
 * @throws AgentBusyError
 */
export async function cancelMove(storage: PersistenceStorageProvider, agentId: string): Promise<void> {
  assertAgentId(agentId);
  const source = logOf(storage, "encodedAppends", "cancelMove()");
  await using journal = await openForMove(source, agentId);
  const { custody } = journal.statusState;
  if (custody?.state === "here" && custody.move !== undefined) return;
  if (custody?.state !== "moving") throw refused(agentId, "an agent that was exported with move: true");
  const { move } = custody;
  await journal.store([{ kind: "custody", state: "here", at: systemClock.now(), ...(move !== undefined && { move }) }]);
}

function isSamePlace(one: CustodyRecord["to"], other: MoveReceipt["to"]): boolean {
  return one?.agentId === other.agentId && one.folder === other.folder;
}

async function assertReceipt(
  storage: TransferStorage<"encodedAppends">,
  agentId: string,
  survey: LogSurvey,
  { from, to, move, digest }: MoveReceipt,
): Promise<string> {
  const { position, generation } = lastOf(agentId, survey);
  const expected = receiptOf(
    { agentId, ...(move !== undefined && { move }), position, generation },
    to,
    await storage.sha256(),
  );
  if (move === undefined || from !== agentId || expected.digest !== digest)
    throw refused(agentId, "the receipt of an import of this agent, exported with move: true");
  return move;
}

function refused(agentId: string, expected: string): InvalidInputError {
  return new InvalidInputError(`move of agent ${quoted(agentId)}`, [{ path: "", expected: `expected ${expected}` }]);
}

/** The receipt of an import. A receipt is plain JSON, so you can pass it to `finishMove` in another process. */
export interface MoveReceipt {
  readonly from: string;
  /** The new location: the agent id, and the directory of the storage if it has one. */
  readonly to: { readonly agentId: string; readonly folder?: string | undefined };
  /** The id of the move. `undefined` if the archive is a copy, which needs no `finishMove`. */
  readonly move?: string | undefined;
  /** A digest of the other fields and of the end of the log. */
  readonly digest: string;
}

export function receiptOf(
  { agentId: from, move, position, generation }: Pick<ArchiveHeader, "agentId" | "move" | "position" | "generation">,
  { agentId, folder }: MoveReceipt["to"],
  sha256: Sha256,
): MoveReceipt {
  const to = folder === undefined ? { agentId } : { agentId, folder };
  const digest = sha256.base64url(JSON.stringify([from, agentId, folder ?? null, move ?? null, position, generation]));
  return move === undefined ? { from, to, digest } : { from, to, move, digest };
}
