import type { AgentFolder } from "../format/AgentFolder.ts";
import type { FileBackend } from "../backend/FileBackend.ts";
import { readerOf } from "../read/readerOf.ts";
import { StateFile } from "./StateFile.ts";

/** Writes `state.json` anew from the log when it is missing, damaged or was left while it changed. */
export async function mendState(backend: FileBackend, folder: AgentFolder, generation: number): Promise<void> {
  const file = new StateFile(folder, backend.disk, backend.sha256);
  const state = await file.read();
  if (state !== undefined && !state.changing) return;
  const summary = await readerOf(backend, folder).lastSummary();
  if (summary !== undefined) await file.settle(summary, generation);
}
