import type { AgentFolder } from "../format/AgentFolder.ts";
import type { FileBackend } from "../backend/FileBackend.ts";
import { LogLoader } from "./LogLoader.ts";
import { LogReader } from "./LogReader.ts";

/** A reader of one agent's log. */
export function readerOf({ disk, sha256 }: Pick<FileBackend, "disk" | "sha256">, folder: AgentFolder): LogReader {
  return new LogReader(folder.agentId, new LogLoader(folder, disk, sha256), sha256);
}
