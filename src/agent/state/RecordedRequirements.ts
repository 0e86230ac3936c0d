import type { Requirements } from "../context/AgentContext.ts";

/** What a resume needs, with what was found of it when it was last looked at. */
export interface RecordedRequirements extends Requirements {
  readonly files?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** Where relative paths begin. Absent: nobody has looked. */
  readonly workingDirectory?: string;
  /** SHA-256 in hex of each file, by path; `null`: it was not there. Absent: nobody has looked. */
  readonly hashes?: Readonly<Record<string, string | null>>;
}
