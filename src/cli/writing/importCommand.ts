import { createReadStream } from "node:fs";
import { resolve } from "node:path";
import { importAgent } from "../../transfer.ts";
import { assertFile, assertNoFile, writeNew } from "../storage/commandFiles.ts";
import { type ArchiveKeyOptions, archiveKeys } from "../session/loadExport.ts";
import type { Session, WritingOptions } from "../session/Session.ts";
import { painted } from "../terminal/painted.ts";
import { bytesText, counted } from "../terminal/shortTexts.ts";
import { counting, withProgress } from "../terminal/Output.ts";

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
  if (output.json) return output.document(report);
  await output.line(
    "Imported ",
    painted("bold", report.agentId),
    ` with the ${counted(report.checkpoints, "checkpoint")} of the file.`,
  );
  if (report.receipt.move !== undefined && receiptFile === undefined)
    await output.note("It was moved: call import again with --receipt <file>, then move finish where it came from.");
}
