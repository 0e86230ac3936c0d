import { resolve } from "node:path";
import { exportAgent, importAgent, cancelMove, finishMove, type MoveReceipt } from "../../transfer.ts";
import { CommandFailure } from "../terminal/CommandFailure.ts";
import { checkpointGiven } from "../ids/findCheckpointId.ts";
import { findAgent } from "../ids/findLog.ts";
import { type ArchiveKeyOptions, newArchiveKeys, archiveKeys } from "../session/loadExport.ts";
import type { Session, WritingOptions } from "../session/Session.ts";
import { assertNoFile, writeNew, assertFile, readJson } from "../storage/commandFiles.ts";
import { painted } from "../terminal/painted.ts";
import { bytesText, counted } from "../terminal/shortTexts.ts";
import { counting, withProgress } from "../terminal/Output.ts";
import { createReadStream } from "node:fs";

export interface ExportCommandOptions extends WritingOptions, ArchiveKeyOptions {
  readonly out?: string | undefined;
  readonly move?: boolean | undefined;
  readonly gzip?: boolean | undefined;
  readonly checkpoint?: string | undefined;
}

export async function exportCommand(session: Session, options: ExportCommandOptions, given: string): Promise<void> {
  const { output, io } = session;
  const { out, move = false, gzip = false, checkpoint } = options;
  if (out === undefined) throw new CommandFailure("usage", "Name the file to write: --out <file>");
  const keys = await newArchiveKeys(io, options);
  const storage = await session.storage(move ? "write" : "read");
  const agentId = await findAgent(storage, given);
  const file = resolve(io.cwd, out);
  await assertNoFile(file);
  const fromCheckpoint = await checkpointGiven(storage, agentId, checkpoint);
  if (move)
    await session.confirm(
      ["The agent ", painted("bold", agentId), " will be marked as moving, and can no longer run here."],
      [
        "Import the file in the other storage. Then call move finish here with the receipt of the import. To cancel the move, call move cancel.",
      ],
    );
  const signal = io.stopSignal();
  const archive = exportAgent(storage, agentId, { move, gzip, fromCheckpoint, keys, signal });
  let bytes = 0;
  try {
    await withProgress(output, `Exporting ${agentId}`, (tell) =>
      writeNew(
        file,
        counting(archive, (count) => tell(bytesText((bytes = count)))),
        signal,
      ),
    );
  } finally {
    // Waits until a stopped export has cancelled its move.
    await archive.return();
  }
  const document = { agentId, file, bytes, move };
  await output.result(document, "Exported ", painted("bold", agentId), ` to ${file} (${bytesText(bytes)}).`);
}

export interface ImportCommandOptions extends WritingOptions, ArchiveKeyOptions {
  readonly as?: string | undefined;
  readonly receipt?: string | undefined;
  readonly trustApprovals?: boolean | undefined;
  readonly maxPartBytes?: number | undefined;
}

export async function importCommand(session: Session, options: ImportCommandOptions, given: string): Promise<void> {
  const { output, io } = session;
  const { as: agentId, receipt: receiptFile, trustApprovals = false, maxPartBytes } = options;
  const keys = await archiveKeys(io, options);
  const file = resolve(io.cwd, given);
  const receiptPath = receiptFile === undefined ? undefined : resolve(io.cwd, receiptFile);
  await assertFile(file);
  if (receiptPath !== undefined) await assertNoFile(receiptPath);
  await session.confirm([
    `The agent in ${file} will be imported into ${await session.storageName()}`,
    ...(agentId === undefined ? [] : [" as ", painted("bold", agentId)]),
    trustApprovals ? ", with its approvals." : ". It requests its approvals again.",
  ]);
  const storage = await session.storage("make");
  const archive = createReadStream(file) as AsyncIterable<Uint8Array>;
  const report = await withProgress(output, `Importing ${file}`, (tell) => {
    const read = counting(archive, (bytes) => tell(bytesText(bytes)));
    return importAgent(storage, read, { agentId, trustApprovals, maxPartBytes, keys });
  });
  if (receiptPath !== undefined) await writeNew(receiptPath, [JSON.stringify(report.receipt)]);
  const content = `with the ${counted(report.checkpoints, "checkpoint")} of the file`;
  await output.result(report, "Imported ", painted("bold", report.agentId), ` ${content}.`);
  if (report.receipt.move !== undefined && receiptFile === undefined)
    await output.note("It was moved: call import again with --receipt <file>, then move finish where it came from.");
}

export async function moveFinish(
  session: Session,
  _options: WritingOptions,
  given: string,
  file: string,
): Promise<void> {
  const { output, io } = session;
  const storage = await session.storage("write");
  const agentId = await findAgent(storage, given);
  const receipt = (await readJson(resolve(io.cwd, file), "a receipt")) as MoveReceipt;
  await session.confirm([
    "The agent ",
    painted("bold", agentId),
    " will be marked as moved. It can no longer run here.",
  ]);
  await finishMove(storage, agentId, receipt);
  await output.result({ agentId, status: "moved" }, painted("bold", agentId), " is moved.");
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
  await output.result({ agentId, status: "here" }, painted("bold", agentId), " runs here again.");
}
