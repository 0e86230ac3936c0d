import type { CustodyRecord } from "../checkpoint/records/runRecords.ts";
import { InvalidInputError } from "../errors/agent/InvalidInputError.ts";
import { systemClock } from "../internal/Clock.ts";
import { assertAgentId } from "../internal/options/assertAgentId.ts";
import { checkSchema } from "../internal/options/checkSchema.ts";
import type { PersistenceStorageProvider } from "../storage/PersistenceStorageProvider.ts";
import { lastOf, openForMove } from "./exportAgent.ts";
import { logOf, type TransferStorage } from "./logOf.ts";
import { type MoveReceipt, moveReceiptSchema, receiptOf } from "./MoveReceipt.ts";
import { type LogSurvey, surveyLog } from "./surveyLog.ts";
import { quoted } from "../errors/quoted.ts";

/**
 * Ends a move at the source: from now on the agent is `moved`, and `run`, `resume` and `answer` say where. It may be called
 * again with the same receipt.
 *
 * @param receipt what `importAgent` returned.
 * @throws InvalidInputError when the agent is not moving, or the receipt is not that of its move; AgentBusyError. Nothing has
 * changed then.
 */
export async function finishMove(
  storage: PersistenceStorageProvider,
  agentId: string,
  receipt: MoveReceipt,
): Promise<void> {
  assertAgentId(agentId);
  checkSchema(moveReceiptSchema, receipt, "receipt of a move");
  const source = logOf(storage, "lines", "finishMove()");
  const survey = await surveyLog(source.log, agentId, { sha256: await source.sha256() });
  const move = await assertReceipt(source, agentId, survey, receipt);
  const before = survey.custody;
  if (before?.state === "moved" && before.move === move && isSamePlace(before.to, receipt.to)) return;
  await using journal = await openForMove(source, agentId);
  const { custody } = journal.statusState;
  if (custody?.state !== "moving" || custody.move !== move)
    throw refused(agentId, "a receipt of the move that is under way");
  const { agentId: there, folder } = receipt.to;
  const to = folder === undefined ? { agentId: there } : { agentId: there, folder };
  await journal.store([{ kind: "custody", state: "moved", at: systemClock.now(), move, to }]);
}

/**
 * Gives a moving agent back: it runs here again. Only call it when the archive did not arrive; otherwise delete the agent
 * there first, or both run. It may be called again.
 *
 * @throws AgentMovedError when the move was finished; InvalidInputError when the agent was never moving; AgentBusyError.
 */
export async function cancelMove(storage: PersistenceStorageProvider, agentId: string): Promise<void> {
  assertAgentId(agentId);
  const source = logOf(storage, "lines", "cancelMove()");
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
  storage: TransferStorage<"lines">,
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
