import { FilePersistenceStorageProvider, FileRecordLog, type SalvageReport } from "../../file.ts";
import { resolve } from "node:path";
import { agentIdOf } from "../../encryption/keys/KeyLog.ts";
import { CommandFailure, type ExitReason } from "../terminal/CommandFailure.ts";
import { findLog } from "../ids/findLog.ts";
import type { Session, WritingOptions } from "../session/Session.ts";
import { painted } from "../terminal/painted.ts";

/** `salvage <agent> --to <folder>`: copies the intact part of a damaged agent. */
export async function salvage(
  session: Session,
  { to }: WritingOptions & { readonly to?: string | undefined },
  given: string,
): Promise<ExitReason | void> {
  const { output, io } = session;
  if (to === undefined) throw new CommandFailure("usage", "Name the folder to copy into: --to <folder>");
  const { storage, stored = storage } = await session.open();
  const { log } = stored;
  if (!(log instanceof FileRecordLog))
    throw new CommandFailure("usage", "Only agents in files can be salvaged: --storage file:<folder>");
  const agentId = await findLog(storage, given);
  const keyLogId = await keyLogOf(log, agentId);
  if (storage === stored && (keyLogId !== undefined || (await isEncrypted(log, agentId))))
    throw new CommandFailure("usage", `The agent ${agentId} is encrypted. Name its keys: --keys ./keys.js#<export>`);
  const folder = resolve(io.cwd, to);
  await session.confirm([
    "The intact part of ",
    painted("bold", agentId),
    ` will be copied into ${folder}. The damaged agent itself is not changed.`,
  ]);
  const target = new FilePersistenceStorageProvider({ directory: folder });
  const { log: into } = session.keep({ storage: target, name: folder, close: () => target.log.close() }).storage;
  const report = await log.salvage(agentId, into as FileRecordLog);
  if (keyLogId !== undefined && report.appends > 0) {
    const key = await log.salvage(keyLogId, into as FileRecordLog);
    if (key.appends === 0)
      throw new CommandFailure("damaged", `The data key of ${agentId} is damaged, so its copy cannot be read.`);
  }
  if (output.json) await output.document(report);
  else await show(session, report);
  return report.appends === 0 ? "damaged" : undefined;
}

/** Returns the id of the log with the data key of an agent. `undefined` if the storage has no such log. */
async function keyLogOf(log: FileRecordLog, agentId: string): Promise<string | undefined> {
  for await (const { agentId: id, status } of log.list({ status: "data_key" }))
    if (status === "data_key" && (agentIdOf(id) === agentId || (await isKeyOfLongId(log, id, agentId)))) return id;
  return undefined;
}

/** Returns whether the summary of an agent names an encryption. The log itself is damaged. */
async function isEncrypted(log: FileRecordLog, agentId: string): Promise<boolean> {
  for await (const { agentId: id, data } of log.list())
    if (id === agentId) return typeof (data as { readonly encrypted?: unknown }).encrypted === "string";
  return false;
}

/** Reads only logs of keys whose ids have a hash, because the log of another agent's key may be damaged. */
async function isKeyOfLongId(log: FileRecordLog, id: string, agentId: string): Promise<boolean> {
  if (agentIdOf(id) !== id) return false;
  for await (const { records } of log.read(id))
    if (records.some((record) => (record as { readonly agentId?: unknown }).agentId === agentId)) return true;
  return false;
}

async function show({ output }: Session, report: SalvageReport): Promise<void> {
  const { agentId, appends, lastPosition, lastCheckpointId = "none", unreachable, lostBlobs } = report;
  if (appends === 0)
    return output.line("Nothing of ", painted("bold", agentId), " is intact, and nothing was written.");
  await output.line("Copied ", painted("bold", agentId), ` up to position ${lastPosition}: ${appends} appends.`);
  await output.line(`Last checkpoint: ${lastCheckpointId}`);
  if (unreachable.length > 0)
    await output.line(
      painted("yellow", `Not copied, because they are after the damage: ${unreachable.length} appends.`),
    );
  for (const blob of lostBlobs) await output.line(painted("red", `Lost value: ${blob}`));
}
