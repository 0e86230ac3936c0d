import { resolve } from "node:path";
import { exportAgent } from "../../transfer.ts";
import { CommandFailure } from "../terminal/CommandFailure.ts";
import { checkpointGiven } from "../ids/findCheckpointId.ts";
import { findAgent } from "../ids/findLog.ts";
import { type ArchiveKeyOptions, newArchiveKeys } from "../session/loadExport.ts";
import type { Session, WritingOptions } from "../session/Session.ts";
import { assertNoFile, writeNew } from "../storage/commandFiles.ts";
import { painted } from "../terminal/painted.ts";
import { bytesText } from "../terminal/shortTexts.ts";
import { counting, withProgress } from "../terminal/Output.ts";

export interface ExportCommandOptions extends WritingOptions, ArchiveKeyOptions {
  readonly out?: string | undefined;
  readonly move?: boolean | undefined;
  readonly gzip?: boolean | undefined;
  readonly checkpoint?: string | undefined;
}

export async function exportCommand(session: Session, options: ExportCommandOptions, given: string): Promise<void> {
  const { output, io } = session;
  const { out, move = false, gzip = false, checkpoint } = options;
  if (out === undefined || out === "-") throw new CommandFailure("usage", "Name the file to write: --out <file>");
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
  const archive = exportAgent(storage, agentId, { move, gzip, fromCheckpoint, keys });
  let bytes = 0;
  await withProgress(output, `Exporting ${agentId}`, (tell) =>
    writeNew(
      file,
      counting(archive, (count) => tell(bytesText((bytes = count)))),
      io.stopSignal(),
    ),
  );
  if (output.json) await output.document({ agentId, file, bytes, move });
  else await output.line("Exported ", painted("bold", agentId), ` to ${file} (${bytesText(bytes)}).`);
}
