import { join } from "node:path";
import type { Sha256 } from "../../../internal/sha256/Sha256.ts";

const folderName = /^[a-z0-9][a-z0-9-]{0,23}-[0-9a-f]{40}$/;
const segmentName = /^([1-9][0-9]{0,14})\.jsonl$/;

/**
 * Where one agent's files are. The folder's name is made of the characters a-z, 0-9 and "-" only and ends with a hash of
 * the id: no id can leave the directory, meet another one or name something of the system, on any file system.
 */
export class AgentFolder {
  readonly agentId: string;
  readonly path: string;

  /** @param tasks the folder that holds the folders of all agents. */
  constructor(tasks: string, agentId: string, sha256: Sha256) {
    this.agentId = agentId;
    this.path = join(tasks, agentFolderName(agentId, sha256));
  }

  get checkpoints(): string {
    return join(this.path, "checkpoints");
  }

  get blobs(): string {
    return join(this.path, "blobs");
  }

  get owners(): string {
    return join(this.path, "owners");
  }

  get temporary(): string {
    return join(this.path, "tmp");
  }

  get state(): string {
    return join(this.path, "state.json");
  }

  segment(generation: number): string {
    return join(this.checkpoints, `${generation}.jsonl`);
  }

  alive(generation: number): string {
    return join(this.owners, `${generation}.alive`);
  }

  stop(generation: number): string {
    return join(this.owners, `${generation}.stop`);
  }
}

/** A readable beginning, for people who look into the folder, and 160 bits of SHA-256. */
export function agentFolderName(agentId: string, sha256: Sha256): string {
  const readable = agentId
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 24);
  return `${readable === "" ? "id" : readable}-${sha256.hex(agentId).slice(0, 40)}`;
}

/** Whether {@link agentFolderName} may have made a name. */
export function isAgentFolderName(name: string): boolean {
  return folderName.test(name);
}

/** The generations of the segments among the names in a folder, highest first. */
export function segmentGenerations(names: readonly string[]): number[] {
  return names
    .flatMap((name) => segmentName.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => b - a);
}
