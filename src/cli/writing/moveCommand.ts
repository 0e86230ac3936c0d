import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { cancelMove, finishMove, type MoveReceipt } from "../../transfer.ts";
import { CommandFailure } from "../terminal/CommandFailure.ts";
import { findAgent } from "../ids/findLog.ts";
import { assertFile } from "../storage/commandFiles.ts";
import type { Session, WritingOptions } from "../session/Session.ts";
import { painted } from "../terminal/painted.ts";

export async function moveFinish(
  session: Session,
  _options: WritingOptions,
  given: string,
  file: string,
): Promise<void> {
  const { output, io } = session;
  const storage = await session.storage("write");
  const agentId = await findAgent(storage, given);
  const receipt = await receiptIn(resolve(io.cwd, file));
  await session.confirm([
    "The agent ",
    painted("bold", agentId),
    " will be marked as moved. It can no longer run here.",
  ]);
  await finishMove(storage, agentId, receipt);
  if (output.json) await output.document({ agentId, status: "moved" });
  else await output.line(painted("bold", agentId), " is moved.");
}

export async function moveCancel(session: Session, _options: WritingOptions, given: string): Promise<void> {
  const { output } = session;
  const storage = await session.storage("write");
  const agentId = await findAgent(storage, given);
  await session.confirm(
    ["The agent ", painted("bold", agentId), " will run here again."],
    ["Make sure that it was not imported elsewhere, because otherwise both agents will run."],
  );
  await cancelMove(storage, agentId);
  if (output.json) await output.document({ agentId, status: "here" });
  else await output.line(painted("bold", agentId), " runs here again.");
}

async function receiptIn(path: string): Promise<MoveReceipt> {
  await assertFile(path);
  try {
    return JSON.parse(await readFile(path, "utf8")) as MoveReceipt;
  } catch (error) {
    throw new CommandFailure("usage", `${path} is not a receipt: ${(error as Error).message}`, { cause: error });
  }
}
